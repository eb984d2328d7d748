"""A Triton driver for GPUs that are not here: it answers what the compiler and a launch ask, and runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

# the streaming multiprocessors of an H200; tiling heuristics ask for a number
MULTIPROCESSORS = 132


class _Utils:
    def __init__(self, shared_bytes_max: int, warp_size: int) -> None:
        self._properties = {
            "max_shared_mem": shared_bytes_max,
            "multiprocessor_count": MULTIPROCESSORS,
            "max_num_regs": 65536,
            "warpSize": warp_size,
            "sm_clock_rate": 1_980_000,
            "mem_clock_rate": 3_201_000,
            "mem_bus_width": 6144,
        }

    def get_device_properties(self, device: int) -> dict[str, int]:
        return dict(self._properties)


class AbsentDriver(DriverBase):  # type: ignore[misc]
    """Device number i is compile target i; the first is current except inside `pointed_at`."""

    def __init__(self, targets: Sequence[tuple[str, int | str, int, int]]) -> None:
        """`targets` are (backend, arch, warp size, bytes of shared memory at most)."""
        super().__init__()
        self.targets = [GPUTarget(backend, arch, warp) for backend, arch, warp, _ in targets]
        self.shared_bytes_max = [shared for *_, shared in targets]
        self.current = 0
        self.utils = _Utils(self.shared_bytes_max[0], self.targets[0].warp_size)
        self.benchmarking = False

    @contextmanager
    def pointed_at(self, index: int) -> Iterator[None]:
        self.current = index
        try:
            yield
        finally:
            self.current = 0

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        raise NotImplementedError("nothing is launched here")

    def get_current_target(self) -> GPUTarget:
        return self.targets[self.current]

    def get_current_device(self) -> int:
        return self.current

    def set_current_device(self, device: int) -> None: ...

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        arch = self.targets[0].arch
        return divmod(arch, 10) if isinstance(arch, int) else (9, 4)

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.empty(0)

    def clear_cache(self, cache: Any) -> None: ...

    def get_benchmarker(self) -> Callable[..., Any]:
        return self.benchmark

    def benchmark(self, call: Callable[[], Any], *args: Any, quantiles: Any = None, **kwargs: Any) -> Any:
        """In place of a timing: calls once with launches compiled only. Every configuration that compiles ties."""
        outer, self.benchmarking = self.benchmarking, True
        try:
            call()
        finally:
            self.benchmarking = outer
        return [1.0] * len(quantiles) if quantiles else 1.0
