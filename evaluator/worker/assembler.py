"""ptxas beside the work: the last stage of a compilation runs while the kernel is already being interpreted.

It is a third of a small kernel's compilation, waits for another program, and almost never fails once the stages before
it have passed. So the compiler goes on without it, and the worker asks for all of it before its last answer.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from triton.backends.nvidia.compiler import CUDABackend

from evaluator.worker.audit import audit
from evaluator.worker.resources import Resources, resources_of

THREADS = 2
Stage = Callable[[Any, dict[str, Any]], bytes]


@dataclass
class Assembler:
    """Takes the place of the compiler's `cubin` stage. `waits`: the compiler waits for ptxas after all.

    It also waits until `start`: the warm process has no second thread, and a fork would lose one.
    """

    waits: bool = False
    last: Future[Resources] | None = None
    _threads: ThreadPoolExecutor | None = None
    _begun: list[Future[Resources]] = field(default_factory=list)
    own: set[int] = field(default_factory=set)
    """Ids of the system's threads that are this assembler's."""

    def install(self) -> None:
        """Routes the `cubin` stage of every later compilation in this process through here."""
        add_stages = CUDABackend.add_stages
        assembler = self

        def added(backend: Any, stages: dict[str, Stage], *args: Any) -> None:
            add_stages(backend, stages, *args)
            assemble = stages["cubin"]
            stages["cubin"] = lambda ptx, metadata: assembler.begin(assemble, ptx, metadata)

        CUDABackend.add_stages = added

    def start(self) -> None:
        """From here on ptxas runs beside the work; called in a child."""
        self._threads = ThreadPoolExecutor(THREADS, initializer=self._register)
        # a candidate's fork takes with it the pipe by which a program that is being started reports, and holds it open
        os.register_at_fork(before=lambda: wait(self._begun))

    def _register(self) -> None:
        self.own.add(threading.get_native_id())

    def begin(self, assemble: Stage, ptx: Any, metadata: dict[str, Any]) -> bytes:
        """Assembles now, or leaves a future in `last` and gives the compiler an empty cubin in the meantime."""
        with audit.quiet():
            if self.waits or self._threads is None:
                return assemble(ptx, metadata)
            self.last = self._threads.submit(_assembled, assemble, ptx, dict(metadata))
            self._begun.append(self.last)
        return b""

    def taken(self) -> Future[Resources] | None:
        """The future of the last compilation, once."""
        last, self.last = self.last, None
        return last


def _assembled(assemble: Stage, ptx: Any, metadata: dict[str, Any]) -> Resources:
    start = time.perf_counter()
    cubin = assemble(ptx, metadata)
    return resources_of(cubin, time.perf_counter() - start)
