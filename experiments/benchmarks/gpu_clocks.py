"""The stopwatch beside two clocks of others: `triton.testing.do_bench`, and the device time of torch's profiler."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

CALLS = 30


def kernels() -> list[tuple[str, Callable[[], Any]]]:
    """Calls of at least 200 microseconds on a large GPU: five that leave the processors' clock alone, and one that
    draws so much power that it falls. Takes the current CUDA device."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    long, longer = torch.randn(2**27, device="cuda"), torch.randn(2**28, device="cuda")
    table = torch.randn(32768, 4096, device="cuda")
    half = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    square = torch.randn(4096, 4096, device="cuda")
    return [
        ("exp of 2^27 floats", lambda: torch.exp(long)),
        ("sum of 2^28 floats", lambda: torch.sum(longer)),
        ("two of 2^27 floats added", lambda: longer[: 2**27] + long),
        ("softmax 32768 x 4096", lambda: torch.softmax(table, -1)),
        ("float32 product 4096", lambda: square @ square),
        ("bfloat16 product 8192", lambda: half @ half),
    ]


def compared(run: Callable[[], Any]) -> tuple[float, float, float, str]:
    """Median milliseconds a call by the stopwatch and by do_bench, the profiler's mean over as many, and the clock
    of the processors right after each of the first two: calls back to back may draw so much power that it falls."""
    import triton.testing

    from evaluator.worker.clock import Cuda
    from evaluator.worker.stopwatch import Stopwatch

    device = Cuda()
    device.calibrate()
    stopwatch = Stopwatch(device)
    stopwatch.prepare([((), {})], slots=1)
    stopwatch.window(lambda args, kwargs: run(), 5)
    ours = statistics.median(stopwatch.window(lambda args, kwargs: run(), CALLS, cover=4).ms)
    first = _mhz()
    bench = float(triton.testing.do_bench(run, warmup=25, rep=200, return_mode="median"))
    return ours, bench, _profiled(run), f"{first} and {_mhz()}"


def _mhz() -> int | None:
    import torch

    from evaluator.gpu import state_of

    uuid = str(torch.cuda.get_device_properties(torch.cuda.current_device()).uuid)
    return state_of(uuid if uuid.startswith("GPU-") else f"GPU-{uuid}").sm_mhz


def _profiled(run: Callable[[], Any]) -> float:
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(CALLS):
            run()
        torch.cuda.synchronize()
    return sum(float(event.self_device_time_total) for event in profile.key_averages()) / CALLS / 1e3
