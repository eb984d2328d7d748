"""What to do about the mistakes that language models make most in Triton.

Found by structure: the syntax at the error's place, the kind of exception, the types that the kernel was launched with;
only then by what the message says, which every version of Triton puts in other words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from evaluator import hints_host as host
from evaluator import hints_kernel as kernel
from evaluator import hints_launch as launch
from evaluator import hints_names as names
from evaluator import hints_python as python
from evaluator.hints_scene import Scene, scene_of

ARGUMENTS_MAX = 40
INSIDE_MAX = 200
LINE_MAX = 600
RULES: tuple[Callable[[Scene], str | None], ...] = (
    launch.shared_memory,
    names.missing_function,
    names.missing_module,
    launch.on_the_host,
    launch.grid,
    launch.arguments,
    launch.complex_argument,
    launch.odd_argument,
    names.undefined_name,
    host.parameters,
    host.starred,
    host.unpacked,
    host.lost_name,
    host.endless,
    host.block_pointer,
    python.none_argument,
    kernel.program_axis,
    kernel.cast,
    names.missing_attribute,
    names.host_function,
    python.keyword,
    kernel.block_size,
    kernel.missing_constexpr,
    python.subscript,
    kernel.mask,
    kernel.pointer,
    kernel.wrong_operand,
    kernel.dot,
    kernel.reduction,
    python.foreign_dtype,
    python.operator,
    python.construct,
)
ON_CPU = "a tensor of the launch is on the CPU: make it with device=x.device"
WORDS: tuple[tuple[str, str], ...] = (
    (r"arange.*constexpr|of type .?.?constexpr", "a value that sets a shape must be a parameter `NAME: tl.constexpr`"),
    (r"incompatible dimensions|[Cc]annot broadcast", "make the shapes agree with [:, None] and [None, :]"),
    (
        r"argument to have shape",
        "the value or the mask is larger than the block of pointers: reduce it along the axis that these lack, or "
        "give them both axes with [:, None] and [None, :]",
    ),
    (r"has no len\(\)", "the grid is a tuple of integers: write kernel[(n,)](...)"),
    (r"cpu tensor", ON_CPU),
    (
        r"PassManager::run failed",
        "a later pass of this compiler fails on the kernel: try other block sizes, or carry less through its loops",
    ),
    (r"shared memory", "use smaller blocks, fewer num_stages, or split the reduced dimension into a loop"),
)
"""For errors whose place is not known."""


def hint_for(error: Mapping[str, Any] | str, source: str = "", entry: str = "") -> str | None:
    """One line of advice for an error as a worker reports it, or None for what is not known. `entry` is the function
    that the task calls."""
    scene = scene_of({"message": error} if isinstance(error, str) else error, source, entry)
    try:
        for rule in RULES:
            if hint := rule(scene):
                return hint
    except RecursionError:  # an expression nested too deep to look at
        return None
    return next((advice for pattern, advice in WORDS if re.search(pattern, scene.message)), None)


def launch_line(error: Mapping[str, Any]) -> str | None:
    """`kernel softmax_kernel(x_ptr: *fp32, n: i32, BLOCK: 1024)`, for an error that came out of a launch."""
    scene = scene_of(error, "")
    facts = error.get("launch")
    if not isinstance(facts, Mapping) or not facts.get("kernel"):
        return None
    types = list(scene.signature.items())[:ARGUMENTS_MAX]
    shown = [(name, str(scene.constexprs.get(name, t) if t == "constexpr" else t)) for name, t in types]
    inside = ", ".join(f"{name}: {told}" for name, told in shown)
    if len(inside) > INSIDE_MAX:
        runs = [(told, [name for name, _ in run]) for told, run in groupby(shown, key=lambda pair: pair[1])]
        inside = ", ".join(f"{', '.join(names_)}: {told}" for told, names_ in runs)
    options = [f"{name}={facts[name]}" for name in ("num_warps", "num_stages") if type(facts.get(name)) is int]
    line = ", ".join([f"kernel {facts['kernel']}({inside})", *options]).replace("\n", " ")
    return line if len(line) <= LINE_MAX else f"{line[: LINE_MAX - 3]}..."


def without_values(error: Mapping[str, Any]) -> Mapping[str, Any]:
    """The error without the numbers among its constexprs, which may tell the shapes of a hidden case."""
    facts = error.get("launch")
    if not isinstance(facts, Mapping) or not isinstance(facts.get("constexprs"), Mapping):
        return error
    kept = {name: value for name, value in facts["constexprs"].items() if value is None or type(value) is bool}
    return {**error, "launch": {**facts, "constexprs": kept}}
