"""One candidate in one forked child with a GPU of its own context: the same questions, answered by the device."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch

from evaluator import wire
from evaluator.worker.clock import Cuda
from evaluator.worker.gpu_launches import GpuLauncher
from evaluator.worker.guard import TorchRecord, watched
from evaluator.worker.session import Session
from evaluator.worker.stopwatch import Stopwatch, Timed

# as it is before a candidate is loaded, which may put another in its place
SYNCHRONIZE = torch.cuda.synchronize


class GpuSession(Session):
    """The conversation with the judge about one candidate that runs on a GPU; it can also be timed."""

    def answers(self) -> dict[str, Callable[[dict[str, Any], list[bytearray]], None]]:
        assert isinstance(self.launcher, GpuLauncher)
        bare = self.launcher.bare
        self.stopwatch = Stopwatch(Cuda())  # made before a candidate is loaded
        timed = Timed(self.stopwatch, self.called, self.result)

        def time(header: dict[str, Any], frames: list[bytearray]) -> None:
            try:
                with bare():
                    said, out = timed.handle(header, frames)
            except Exception as error:  # the border of the worker: the candidate's own, as in any call
                said, out = {"error": self.described(error)}, []
            self._reply(said, out)

        return {**super().answers(), **dict.fromkeys(Timed.OPERATIONS, time)}

    def called(self, args: Any, kwargs: Any) -> Any:
        """The candidate on these arguments, unwatched: what is timed."""
        with torch.set_grad_enabled(self.grad):
            return self.entry(*args, **kwargs)

    def result(self, returned: Any, args: Any, kwargs: Any) -> tuple[dict[str, Any], list[memoryview]]:
        """What a timed call left; arguments too where it is meant to change some."""
        pool = self.stopwatch.pool
        if pool and pool.mutates:
            return self.left(returned, args, kwargs)
        out: list[memoryview] = []
        return {"returned": self._packed(returned, out, TorchRecord(), {}, 0)}, out

    def watched(self, at_import: TorchRecord | None = None) -> AbstractContextManager[TorchRecord]:
        return watched(at_import, redirects=False)

    def here(self, value: Any) -> Any:
        """An argument as the judge sent it, with its tensors on the GPU; strides and storage stay what they are."""
        if isinstance(value, torch.Tensor):
            room = wire.storage_bytes(value).cuda().untyped_storage()
            empty = torch.empty(0, dtype=value.dtype, device="cuda")
            return empty.set_(room, value.storage_offset(), value.shape, value.stride())
        if isinstance(value, torch.Generator):
            return torch.Generator("cuda").manual_seed(value.initial_seed())
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.here, value))
        if isinstance(value, dict):
            return {key: self.here(item) for key, item in value.items()}
        return torch.device("cuda") if isinstance(value, torch.device) else value

    def settle(self) -> None:
        SYNCHRONIZE()

    def on_host(self, value: torch.Tensor) -> bool:
        return value.device.type == "cpu"

    def running(self) -> int:
        """Threads that the candidate left are told by the audit hook; CUDA has threads of its own."""
        return 0
