"""Every kernel launch of a candidate: compiled for the targets as a GPU would need it, then run on the CPU."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import triton
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction, TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from evaluator.worker.assembler import Assembler
from evaluator.worker.audit import audit
from evaluator.worker.cache import PrivateCache
from evaluator.worker.devices import devices
from evaluator.worker.driver import AbsentDriver
from evaluator.worker.errors import COMPILE_FAILURES, DROPPED_BY_TUNERS, LAUNCH, launch_facts
from evaluator.worker.guard import unwatched
from evaluator.worker.handles import Handles
from evaluator.worker.memory import Memory
from evaluator.worker.pretence import pretend
from evaluator.worker.resources import Resources, code_facts, resources_of
from evaluator.worker.simulator import Simulator
from evaluator.worker.streams import streams

AUTOTUNE_CONFIGS_MAX, AUTOTUNE_TRIES_MAX = 2, 24  # that compile, and in all; configurations tie, and the first wins
COMPILER = str(triton.compiler.compiler.__file__)
GRID_MAX = (2**31 - 1, 65535, 65535)


@dataclass
class Launches:
    """What the launches of one call did."""

    kernels: list[str] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    storages: set[int] = field(default_factory=set)
    """Where the tensors are that the candidate's own kernels were given."""
    compile_s: float = 0.0
    failures: list[BaseException] = field(default_factory=list)


class Launcher:
    """Takes the place of `JITFunction.run` and `JITFunction.__call__` in the worker."""

    def __init__(self, driver: AbsentDriver, target_names: list[str]) -> None:
        self.driver = driver
        self.target_names = target_names
        self.simulator = Simulator()
        self.assembler = Assembler()
        self.filename = ""
        self.calls = Launches()
        self.builds: dict[int, dict[str, Any]] = {}
        self.targets_seen = dict.fromkeys(target_names, "ok")
        self.on_compile: Callable[[str | None], None] = lambda kernel: None
        self.on_written: Callable[[set[int]], None] = lambda storages: None
        self.interprets_only = False
        """Launches are not compiled: for a second look at a source that was."""
        self.knocked_out: set[str] | None = None
        """Names of kernels that do nothing when they are launched; None knocks out none, an empty set all."""
        self.handles = Handles(lambda function, given, grid: self.launch(function, (), given, grid, False), self._used)
        self._tuned: dict[Any, list[bool]] = {}
        """Of each function in the present call, for each configuration that was tried: whether it compiles."""
        self._elsewhere: set[int] = set()
        """Kernels that were compiled for the other targets too: those that are launched, not those a tuner tries."""
        self._run = JITFunction.run

    @property
    def own_threads(self) -> set[int]:
        return self.assembler.own

    def begin(self) -> None:
        """In a child: from here on this process seems to have a GPU."""
        pretend(self.driver)
        self.assembler.start()

    def install(self) -> None:
        """Routes every launch and every device-function call of this process through here."""
        launcher = self

        def run(function: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            try:
                return launcher.launch(function, args, kwargs, grid, warmup)
            except Exception as error:
                with unwatched():
                    error.__dict__[LAUNCH] = launch_facts(function, args, kwargs)
                raise

        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            if not launcher.simulator.running:
                raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")
            return launcher.simulator.rewritten(function.fn)(*args, **kwargs)

        JITFunction.run = run
        JITFunction.__call__ = call
        self.assembler.install()
        self.handles.install()
        triton.runtime.driver.set_active(self.driver)
        triton.knobs.cache.manager_class = PrivateCache
        triton.testing.do_bench = self.driver.benchmark
        triton.testing.do_bench_cudagraph = self.driver.benchmark

    @contextmanager
    def recording(self) -> Iterator[Launches]:
        """Collects the launches made inside."""
        self.calls, self._tuned = Launches(), {}
        yield self.calls

    def launch(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], grid: Any, warmup: bool) -> Any:
        for place, argument in enumerate((*args, *kwargs.values())):
            if devices.on_host(argument):  # Triton's own words on a GPU
                raise ValueError(f"Pointer argument (at {place}) cannot be accessed from Triton (cpu tensor?)")
        kernel = None if self.interprets_only else self._compiled(function, args, kwargs)
        if warmup or self.driver.benchmarking:
            return kernel
        arguments = _bound(function, args, kwargs)
        sizes = _grid(grid, dict(arguments))
        _check_constants(function)
        # what runs in between, the grid and what a kernel calls, may be the candidate's: it stays watched
        with unwatched():
            memory = Memory.of(function.__name__, self.filename, _tensors(arguments))
        own = function.fn.__code__.co_filename == self.filename
        if own:
            self.calls.kernels.append(function.__name__)
            self.calls.storages.update(memory.starts.tolist())
        streams.launched()
        self.calls.memories.append(memory)
        if self.knocked_out is not None and (not self.knocked_out or function.__name__ in self.knocked_out):
            return kernel
        if all(n > 0 for n in sizes):
            constexprs = {p.name for p in function.params if p.is_constexpr}
            try:
                self.simulator.run(function.fn, arguments, constexprs, sizes, memory)
            finally:
                if own:
                    self.on_written(memory.written)
        return kernel

    def _compiled(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        start, tuning = time.perf_counter(), self.driver.benchmarking
        self.on_compile(function.__name__)
        try:
            # an autotuner drops a configuration that doesn't compile, so it has to hear of it at once
            self.assembler.waits = tuning
            _check_references(function)
            tried = self._tuned.setdefault(function, []) if tuning else []
            if tuning:
                _limit_tuning(tried)
                tried.append(False)
            with _passes_refused():
                kernel = self._run(function, *args, grid=None, warmup=True, **kwargs)
            self._check(kernel, 0)
            tried[-1:] = [True]
            self.handles.keep(kernel, function, _bound(function, args, kwargs))
            if id(kernel) not in self.builds:
                self.builds[id(kernel)] = self._described(function, kernel, 0, time.perf_counter() - start)
            if not tuning and id(kernel) not in self._elsewhere:
                self._elsewhere.add(id(kernel))
                self._compile_others(function, args, kwargs)
        except COMPILE_FAILURES as error:
            if not (tuning and isinstance(error, DROPPED_BY_TUNERS)):
                self.calls.failures.append(error)
                self._say(0, function, error)
            raise
        finally:
            self.on_compile(None)
            self.calls.compile_s += time.perf_counter() - start
        return kernel

    def _used(self, kernel: Any) -> tuple[int, int]:
        """Registers of a thread and spilled bytes, as the assembler reports them; 0 where it reports none."""
        future = self.builds.get(id(kernel), {}).get("assembled")
        taken = future.result() if future else None
        return (taken.registers or 0, taken.spill_bytes or 0) if taken else (0, 0)

    def _compile_others(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.assembler.waits = True
        for index in range(1, len(self.target_names)):
            start = time.perf_counter()
            with self.driver.pointed_at(index):
                try:
                    kernel = self._run(function, *args, grid=None, warmup=True, **kwargs)
                    self._check(kernel, index)
                    self.builds[id(kernel)] = self._described(function, kernel, index, time.perf_counter() - start)
                except (*COMPILE_FAILURES, RuntimeError, KeyError, ValueError) as error:
                    self._say(index, function, error)

    def _say(self, index: int, function: Any, error: BaseException) -> None:
        text = f"{type(error).__name__}: {error}".strip()
        self.targets_seen[self.target_names[index]] = f"{function.__name__}: {text.splitlines()[-1]}"[:300]

    def _check(self, kernel: Any, index: int) -> None:
        limit = self.driver.shared_bytes_max[index]
        if kernel.metadata.shared > limit:
            raise OutOfResources(kernel.metadata.shared, limit, "shared memory")

    def _described(self, function: Any, kernel: Any, index: int, compile_s: float) -> dict[str, Any]:
        return {
            "kernel": function.__name__,
            "target": self.target_names[index],
            "shared_bytes": int(kernel.metadata.shared),
            "num_warps": int(kernel.metadata.num_warps),
            "num_stages": int(getattr(kernel.metadata, "num_stages", 0)),
            "compile_s": compile_s,
            "assembled": self.assembler.taken() or _assembled(kernel),
            "code": code_facts(kernel, self.filename),
        }


def _assembled(kernel: Any) -> Future[Resources] | None:
    """What a kernel takes whose compiler waited for ptxas; None where there is no cubin."""
    cubin = kernel.asm.get("cubin")
    if not cubin:
        return None
    done: Future[Resources] = Future()
    with audit.quiet():
        done.set_result(resources_of(cubin, 0.0))
    return done


def _limit_tuning(tried: list[bool]) -> None:
    """The first few that compile decide; the rest would only cost time."""
    if sum(tried) >= AUTOTUNE_CONFIGS_MAX or len(tried) >= AUTOTUNE_TRIES_MAX:
        raise OutOfResources(sum(tried) + 1, AUTOTUNE_CONFIGS_MAX, "autotune configurations on the CPU tier")


def _bound(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = {param.name for param in function.params}
    bound = function.signature.bind(*args, **{k: v for k, v in kwargs.items() if k in names})
    bound.apply_defaults()
    return dict(bound.arguments)


@contextmanager
def _passes_refused() -> Iterator[None]:
    """A kernel that parses and that a later pass refuses: the compiler says so by a bare RuntimeError."""
    try:
        yield
    except RuntimeError as error:
        if any(frame.f_code.co_filename == COMPILER for frame, _ in traceback.walk_tb(error.__traceback__)):
            raise CompilationError(None, None, str(error)) from None
        raise


def _check_references(function: Any) -> None:
    """Refuses a kernel that calls a plain Python function, at each launch and as the compiler refuses.

    Triton does so by a bare RuntimeError, at the first launch only: what it leaves behind lets the next one through.
    """
    try:
        _ = function.cache_key
    except RuntimeError as error:
        frames = [frame.f_locals for frame, _ in traceback.walk_tb(error.__traceback__)]
        looked_at = [local["self"] for local in frames if isinstance(local.get("self"), JITFunction)]
        nodes = [local["node"] for local in frames if hasattr(local.get("node"), "lineno")]
        for each in looked_at:
            each.hash = None
        if not looked_at or not nodes:
            raise
        raise CompilationError(looked_at[-1].src, nodes[-1], str(error)) from None


def _check_constants(function: Any) -> None:
    """What is run must be what was compiled: Triton looks for changed globals at the next launch only."""
    for (name, _), (compiled, names) in function.used_global_vals.items():
        if name in names and names[name] is not compiled and names[name] != compiled:
            raise RuntimeError(f"Global variable {name} has changed since {function.__name__} was compiled")


def _grid(grid: Any, arguments: dict[str, Any]) -> tuple[int, int, int]:
    sizes = grid(arguments) if callable(grid) else grid
    padded = [*(sizes[i] for i in range(len(sizes))), 1, 1][:3]
    x, y, z = (int(n) for n in padded)
    for axis, n, limit in zip("xyz", (x, y, z), GRID_MAX, strict=True):
        if n > limit:
            raise RuntimeError(f"Triton Error [CUDA]: invalid argument: grid {axis} is {n}, the limit is {limit}")
    return x, y, z


def _tensors(arguments: dict[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    for name, value in arguments.items():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, TensorWrapper):
                item = item.base
            if isinstance(item, TensorDescriptor):
                item = item.base
            if isinstance(item, torch.Tensor):
                yield name, item
