"""How many programs of a compiled kernel fit on one multiprocessor at once, and what keeps others out.

Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and "Shared Memory" of each
capability (1 KiB of every program's is reserved); registers are dealt out by the warp, from one of four parts of the
file (CUDA Occupancy Calculator). gfx942: CDNA3 ISA reference, "Wavefront resources", and the HIP guide to occupancy.
"""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.records import KernelBuild

PARTS = 4  # of a multiprocessor: each holds a quarter of the warps and of the registers


@dataclass(frozen=True)
class Multiprocessor:
    """What a multiprocessor has for the programs on it. `registers` of one part, dealt out in `unit`s to a warp of
    `lanes`; shared memory in bytes, of which each program's launch takes `reserved` more than it asks for."""

    warps: int
    programs: int
    shared_bytes: int
    reserved: int = 1024
    registers: int = 16_384
    unit: int = 256
    lanes: int = 32


MULTIPROCESSORS = {
    "sm80": Multiprocessor(64, 32, 164 * 1024),
    "sm86": Multiprocessor(48, 16, 100 * 1024),
    "sm89": Multiprocessor(48, 24, 100 * 1024),
    "sm90": Multiprocessor(64, 32, 228 * 1024),
    "sm100": Multiprocessor(64, 32, 228 * 1024),
    "sm120": Multiprocessor(48, 24, 100 * 1024),
    "gfx942": Multiprocessor(32, 32, 64 * 1024, reserved=0, registers=32_768, unit=512, lanes=64),
}


@dataclass(frozen=True)
class Residence:
    """Programs of one kernel on a multiprocessor, the warps that these are, of how many, and what is used up first."""

    programs: int
    warps: int
    warps_max: int
    limit: str

    @property
    def share(self) -> float:
        """The occupancy: 1.0 is every warp that the multiprocessor can hold."""
        return self.warps / self.warps_max


def residence(build: KernelBuild) -> Residence | None:
    """What fits; None for a target that isn't in the table, or a build whose resources aren't known."""
    has = MULTIPROCESSORS.get(build.target)
    if has is None or build.num_warps < 1 or build.shared_bytes is None or build.registers is None:
        return None
    shared = build.shared_bytes + has.reserved
    fit = {
        "threads": min(has.programs, has.warps // build.num_warps),
        "shared memory": has.shared_bytes // shared if shared else has.programs,
        "registers": _warps_by_registers(has, build.registers) // build.num_warps,
    }
    limit = min(fit, key=lambda name: fit[name])
    return Residence(fit[limit], fit[limit] * build.num_warps, has.warps, limit)


def _warps_by_registers(has: Multiprocessor, registers: int) -> int:
    each = -(-max(1, registers) * has.lanes // has.unit) * has.unit
    return min(has.warps, PARTS * (has.registers // each))
