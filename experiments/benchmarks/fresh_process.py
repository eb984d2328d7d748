"""One oracle in a fresh Python process: import torch and Triton, compile for sm90, interpret each case once.

What `verdicts` compares the evaluator with, done the plain way. It uses Triton's own interpreter as it comes, judges
nothing, and is told the seed of the cases, so that both sides run the same ones:

    python -m experiments.benchmarks.fresh_process Math/softmax 1234
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

BEGAN_S = time.perf_counter()


class Clock:
    """Seconds spent on compiling, counted apart from all else."""

    compile_s = 0.0


def route_launches(clock: Clock) -> None:
    """Every launch compiles on its real arguments and is then interpreted; device functions are interpreted too."""
    import triton
    from triton.runtime.interpreter import InterpretedFunction, _patch_lang
    from triton.runtime.jit import JITFunction

    from evaluator.targets import TARGETS
    from evaluator.worker.driver import AbsentDriver

    sm90 = TARGETS["sm90"]
    driver = AbsentDriver([(sm90.backend, sm90.arch, sm90.warp_size, sm90.shared_bytes_max)])
    triton.runtime.driver.set_active(driver)
    compiled = JITFunction.run

    def run(function: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        start = time.perf_counter()
        kernel = compiled(function, *args, grid=grid, warmup=True, **kwargs)
        clock.compile_s += time.perf_counter() - start
        if not (warmup or driver.benchmarking):
            InterpretedFunction(function.fn)[grid](*args, **kwargs)
        return kernel

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        scope = _patch_lang(function.fn)
        try:
            return InterpretedFunction(function.fn).rewrite()(*args, **kwargs)
        finally:
            scope.restore()  # or the next compilation of this process would fail

    JITFunction.run = run
    JITFunction.__call__ = call


def measure(task_name: str, seed: int) -> dict[str, float]:
    """Seconds: importing, compiling, and everything else in the calls, which is interpreting and the wrapper."""
    import torch  # noqa: F401
    import triton  # noqa: F401

    imported_s = time.perf_counter() - BEGAN_S
    from evaluator.cases import cases_of
    from tasks.catalog import load, oracle_path

    clock = Clock()
    route_launches(clock)
    task = load(task_name)
    path = oracle_path(task_name)
    module: dict[str, Any] = {"__name__": "oracle", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module)
    cases = cases_of(task, seed)
    start = time.perf_counter()
    for drawn in cases:
        module[task.entry](*drawn.case.args, **drawn.case.kwargs)
    calls_s = time.perf_counter() - start
    return {"import_s": imported_s, "compile_s": clock.compile_s, "interpret_s": calls_s - clock.compile_s}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
