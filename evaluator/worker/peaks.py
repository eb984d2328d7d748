"""What a GPU can do at most, as measured on it: bytes a second and operations a second by kind of arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from evaluator.worker.clock import Device

BYTES = 2**30
TRIES = 12
SIDES = {"float64": 4096, "float32": 8192, "tf32": 8192, "float16": 8192, "bfloat16": 8192, "int8": 8192}


def measured_peaks(device: Device) -> dict[str, Any]:
    """`gbs`: GB/s by the way the bytes go; `tflops`: TFLOP/s of a large matrix product by its operands; the best of
    several. Needs some 3 GiB. A kind that this GPU or this torch doesn't have is left out, with its error."""
    gbs = _bandwidths(device)
    tflops: dict[str, float] = {}
    missing: dict[str, str] = {}
    for kind, side in SIDES.items():
        try:
            tflops[kind] = 2 * side**3 / 1e9 / _best_ms(device, _product(kind, side))
        except (RuntimeError, NotImplementedError) as error:
            missing[kind] = str(error).splitlines()[0][:200]
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False
    torch.cuda.empty_cache()
    return {"gbs": gbs, "tflops": tflops, "missing": missing}


def _bandwidths(device: Device) -> dict[str, float]:
    source = torch.ones(BYTES // 4, device="cuda")
    target = torch.empty_like(source)
    return {
        "copy": 2 * BYTES / 1e6 / _best_ms(device, lambda: target.copy_(source)),
        "read": BYTES / 1e6 / _best_ms(device, lambda: source.sum()),
        "write": BYTES / 1e6 / _best_ms(device, lambda: target.fill_(1.0)),
    }


def _product(kind: str, side: int) -> Callable[[], Any]:
    if kind == "int8":
        a, b = (torch.randint(-9, 9, (side, side), device="cuda", dtype=torch.int8) for _ in range(2))
        return lambda: torch._int_mm(a, b.t())
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    dtype = torch.float32 if kind == "tf32" else getattr(torch, kind)
    x, y = (torch.randn(side, side, device="cuda", dtype=dtype) for _ in range(2))
    return lambda: x @ y


def _best_ms(device: Device, run: Callable[[], Any]) -> float:
    run()
    device.settle()
    times = []
    for _ in range(TRIES):
        device.flush(1)
        times.append(device.measure(run).ms)
    return min(times)
