"""Lets a candidate that was written for a GPU run without one: what it asks of `torch.cuda` gets a GPU's answer.

Only in a worker's child. `x.is_cuda` is true, `x.device` is cuda:0, synchronising does nothing. Sending data there is
the function mode's part (see `guard`).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from evaluator.worker.devices import devices
from evaluator.worker.driver import MULTIPROCESSORS, AbsentDriver
from evaluator.worker.streams import DEFAULT, Event, Stream, on_stream, set_stream, streams


class _Device:
    """Stands for `torch.cuda.device`, a context manager and a type."""

    def __init__(self, device: Any) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *args: Any) -> None: ...


# a GPU of each target; what it is called changes nothing but what a candidate can sense
NAMES = {
    (8, 0): "NVIDIA A100-SXM4-80GB", (8, 6): "NVIDIA RTX A6000", (8, 9): "NVIDIA L40S", (9, 0): "NVIDIA H200",
    (10, 0): "NVIDIA B200", (12, 0): "NVIDIA GeForce RTX 5090",
}  # fmt: skip


def pretend(driver: AbsentDriver) -> None:
    """Patches this process; there is no way back."""
    major, minor = driver.get_device_capability()
    properties = SimpleNamespace(
        name=NAMES.get((major, minor), "NVIDIA H200"),
        major=major,
        minor=minor,
        multi_processor_count=MULTIPROCESSORS,
        warp_size=driver.targets[0].warp_size,
        total_memory=141 * 10**9,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=driver.shared_bytes_max[0],
        shared_memory_per_multiprocessor=driver.shared_bytes_max[0] + 1024,
        L2_cache_size=50 * 2**20,
        gcnArchName="gfx942",
    )
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "synchronize": streams.synchronize,
        "empty_cache": lambda: None,
        "get_device_properties": lambda device=None: properties,
        "get_device_capability": lambda device=None: (major, minor),
        "get_device_name": lambda device=None: properties.name,
        "current_stream": lambda device=None: streams.current,
        "default_stream": lambda device=None: DEFAULT,
        "is_bf16_supported": lambda *args, **kwargs: True,
        "Stream": Stream,
        "Event": Event,
        "stream": on_stream,
        "set_stream": set_stream,
        "device": _Device,
        "device_of": _Device,
        "_device": _Device,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    cuda = torch.device("cuda", 0)
    cpu = torch.device("cpu")
    on_host = devices.on_host
    torch.Tensor.is_cuda = property(lambda tensor: not on_host(tensor))  # type: ignore[assignment]
    torch.Tensor.device = property(lambda tensor: cpu if on_host(tensor) else cuda)  # type: ignore[assignment]
    torch.Tensor.get_device = lambda tensor: -1 if on_host(tensor) else 0  # type: ignore[method-assign, assignment]
    torch.set_default_device = devices.set_default
    torch.get_default_device = lambda: torch.device(devices.default)
