"""Handles of compiled kernels, as `kernel.warmup(...)` and a launch return them: asked for resources, and launched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from triton.compiler import CompiledKernel

Launch = Callable[[Any, dict[str, Any], Any], Any]
THREADS_MAX = 1024


@dataclass(frozen=True)
class Origin:
    """What a compiled kernel was made of: the function, and the values of its constexpr parameters."""

    function: Any
    constexprs: dict[str, Any]

    def arguments(self, given: tuple[Any, ...]) -> dict[str, Any]:
        """Positional arguments by name: of all parameters, or of those alone that are no constexpr."""
        names = [param.name for param in self.function.params]
        if len(given) < len(names):
            names = [name for name in names if name not in self.constexprs]
        return {**self.constexprs, **dict(zip(names, given, strict=False))}


class Handles:
    """Knows where each compiled kernel came from. `launch` and `resources` are what the launcher does with one."""

    def __init__(self, launch: Launch, resources: Callable[[Any], tuple[int, int]]) -> None:
        self._origins: dict[int, Origin] = {}
        self._launch = launch
        self._resources = resources

    def install(self) -> None:
        """Routes every handle of this process through here."""
        handles = self

        def runner_of(kernel: Any, grid: Any) -> Callable[..., Any]:
            def runner(*args: Any, stream: Any = None) -> Any:
                origin = handles._origins[id(kernel)]
                return handles._launch(origin.function, origin.arguments(args), grid)

            return runner

        def load(kernel: Any) -> None:
            kernel.module = kernel.function = kernel._run = True
            kernel.n_regs, kernel.n_spills = handles._resources(kernel)
            kernel.n_max_threads = THREADS_MAX

        CompiledKernel.__getitem__ = runner_of
        CompiledKernel._init_handles = load

    def keep(self, kernel: Any, function: Any, arguments: dict[str, Any]) -> None:
        """Remember what `kernel` was compiled from."""
        constexprs = {param.name for param in function.params if param.is_constexpr}
        self._origins[id(kernel)] = Origin(function, {k: v for k, v in arguments.items() if k in constexprs})
