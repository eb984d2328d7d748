"""Every kernel launch of a candidate on a GPU: run as Triton runs it, and counted; or turned into nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import torch
import triton
from triton.compiler import CompiledKernel
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction, TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from evaluator.worker.audit import audit
from evaluator.worker.errors import COMPILE_FAILURES, DROPPED_BY_TUNERS, LAUNCH, launch_facts
from evaluator.worker.guard import unwatched
from evaluator.worker.launches import AUTOTUNE_CONFIGS_MAX, Launches
from evaluator.worker.resources import Resources


class GpuLauncher:
    """Takes the place of `JITFunction.run` in a worker with a GPU; what it notes is what `Launcher` notes.

    Which of its arguments a kernel writes can't be seen here: all of them count as written.
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self.filename = ""
        self.calls = Launches()
        self.builds: dict[int, dict[str, Any]] = {}
        self.targets_seen = {target: "ok"}
        self.own_threads: set[int] = set()
        self.on_compile: Callable[[str | None], None] = lambda kernel: None
        self.on_written: Callable[[set[int]], None] = lambda storages: None
        self.interprets_only = False
        self.knocked_out: set[str] | None = None
        self._functions: dict[int, Any] = {}
        self._tuning = False
        self._timing = False
        self._tuned: tuple[Any, int] = None, 0
        """The arguments of a tuner's present search, and how many configurations have run in it."""

    def begin(self) -> None:
        """Starts CUDA, in a child."""
        torch.cuda.synchronize()
        _ = triton.runtime.driver.active.utils  # made at first use, by other programs

    def install(self) -> None:
        """Routes every launch of this process through here."""
        run, do_compile = JITFunction.run, JITFunction._do_compile
        bench, benchmarker = Autotuner._bench, Autotuner.do_bench
        get_runner, load = CompiledKernel.__getitem__, CompiledKernel._init_handles
        launcher = self

        def launched(function: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            idle = launcher.knocked_out is not None and (
                not launcher.knocked_out or function.__name__ in launcher.knocked_out
            )
            try:
                kernel = run(function, *args, grid=grid, warmup=warmup or idle, **kwargs)
            except Exception as error:
                if isinstance(error, COMPILE_FAILURES) and not (
                    launcher._tuning and isinstance(error, DROPPED_BY_TUNERS)
                ):
                    launcher.calls.failures.append(error)
                with unwatched():
                    error.__dict__[LAUNCH] = launch_facts(function, args, kwargs)
                raise
            launcher._functions[id(kernel)] = function
            if not warmup:
                launcher._note(function, kernel, (*args, *kwargs.values()), idle)
            return kernel

        def compiled(function: Any, *args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            launcher.on_compile(function.__name__)
            try:
                with audit.quiet():
                    return do_compile(function, *args, **kwargs)
            finally:
                launcher.on_compile(None)
                launcher.calls.compile_s += time.perf_counter() - start

        def tuned(autotuner: Any, *args: Any, **kwargs: Any) -> Any:
            """Triton's own search while a candidate is timed. Before, configurations that run tie, so that the first
            of them wins, and after a few no more are tried: each costs a compilation and tenths of a second."""
            if not launcher._timing and launcher._ran(autotuner.nargs) >= AUTOTUNE_CONFIGS_MAX:
                return [math.inf] * 3
            outer, launcher._tuning = launcher._tuning, True
            try:
                with unwatched():
                    return bench(autotuner, *args, **kwargs)
            finally:
                launcher._tuning = outer

        def benchmarker_of(autotuner: Any) -> Any:
            if launcher._timing:
                return benchmarker.__get__(autotuner, Autotuner)

            def once(call: Callable[[], Any], quantiles: Sequence[float]) -> list[float]:
                call()
                launcher._tuned = autotuner.nargs, launcher._ran(autotuner.nargs) + 1
                return [1.0] * len(quantiles)

            return once

        def runner_of(kernel: Any, grid: Any) -> Callable[..., Any]:
            runner = get_runner(kernel, grid)

            def noted(*args: Any, **kwargs: Any) -> Any:
                result = runner(*args, **kwargs)
                if function := launcher._functions.get(id(kernel)):
                    launcher._note(function, kernel, args, False)
                return result

            return noted

        def loaded(kernel: Any) -> None:
            with audit.quiet():  # the first time, a C compiler is run
                load(kernel)

        JITFunction.run, JITFunction._do_compile, Autotuner._bench = launched, compiled, tuned
        Autotuner.do_bench = property(benchmarker_of)
        CompiledKernel._init_handles = loaded
        CompiledKernel.__getitem__ = runner_of
        self._plain, self._watching = (run, get_runner), (launched, runner_of)

    @contextmanager
    def bare(self) -> Iterator[None]:
        """Launches made inside are Triton's own, and so is a tuner's search: what is timed."""
        JITFunction.run, CompiledKernel.__getitem__ = self._plain
        self._timing, self._tuned = True, (None, 0)
        try:
            yield
        finally:
            self._timing = False
            JITFunction.run, CompiledKernel.__getitem__ = self._watching

    @contextmanager
    def recording(self) -> Iterator[Launches]:
        """Collects the launches made inside."""
        self.calls = Launches()
        yield self.calls
        self._tuned = None, 0

    def _ran(self, arguments: Any) -> int:
        """How many configurations have run in the search for a call with these arguments."""
        return self._tuned[1] if self._tuned[0] is arguments else 0

    def _note(self, function: Any, kernel: Any, arguments: tuple[Any, ...], idle: bool) -> None:
        if self._tuning:
            return
        if id(kernel) not in self.builds:
            self.builds[id(kernel)] = self._described(function, kernel)
        if function.fn.__code__.co_filename != self.filename:
            return
        self.calls.kernels.append(function.__name__)
        pointers = set(_pointers(arguments))
        self.calls.storages |= pointers
        if not idle:
            self.on_written(pointers)

    def _described(self, function: Any, kernel: Any) -> dict[str, Any]:
        taken: Future[Resources] = Future()
        taken.set_result(Resources(getattr(kernel, "n_regs", None), getattr(kernel, "n_spills", None), 0.0))
        return {
            "kernel": function.__name__,
            "target": self.target,
            "shared_bytes": int(kernel.metadata.shared),
            "num_warps": int(kernel.metadata.num_warps),
            "num_stages": int(getattr(kernel.metadata, "num_stages", 0)),
            "compile_s": 0.0,
            "assembled": taken,
        }


def _pointers(values: tuple[Any, ...]) -> Iterator[int]:
    for value in values:
        for item in value if isinstance(value, tuple) else (value,):
            base = item.base if isinstance(item, (TensorWrapper, TensorDescriptor)) else item
            if isinstance(base, torch.Tensor):
                yield base.untyped_storage().data_ptr()
