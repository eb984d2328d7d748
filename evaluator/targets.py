"""The GPUs that a candidate is compiled for, with the limits that decide whether a launch would fit.

Shared-memory limits are the largest opt-in size a block may ask for: NVIDIA CUDA C++ Programming Guide,
"Technical Specifications per Compute Capability"; AMD CDNA3 ISA reference for gfx942's LDS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.errors import UserError, unknown


@dataclass(frozen=True)
class Target:
    """One compile target: Triton's backend, its architecture, threads a warp, bytes of shared memory a block."""

    name: str
    backend: str
    arch: int | str
    warp_size: int
    shared_bytes_max: int


TARGETS = {
    target.name: target
    for target in (
        Target("sm80", "cuda", 80, 32, 166_912),
        Target("sm86", "cuda", 86, 32, 101_376),
        Target("sm89", "cuda", 89, 32, 101_376),
        Target("sm90", "cuda", 90, 32, 232_448),
        Target("sm100", "cuda", 100, 32, 232_448),
        Target("sm120", "cuda", 120, 32, 101_376),
        Target("gfx942", "hip", "gfx942", 64, 65_536),
    )
}


def targets_named(names: Sequence[str]) -> tuple[Target, ...]:
    """The targets with these names, in order. Raises UserError for an unknown name or an empty list."""
    if not names:
        raise UserError(f"no compile target named; known: {', '.join(TARGETS)}")
    for name in names:
        if name not in TARGETS:
            raise unknown("target", name, TARGETS)
    return tuple(TARGETS[name] for name in names)
