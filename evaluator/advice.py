"""What would make a correct kernel faster: cause, effect and advice in a line each, the most useful first.

A line is given only where what was seen carries it over to real sizes: the stand-ins are small, so a ratio that a
larger problem wouldn't show, or bytes too few to matter, say nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaluator.advice_facts import Line, Usage
from evaluator.advice_occupancy import residence
from evaluator.records import KernelBuild
from tasks.draw import Draw
from tasks.task import Task

LINES_MAX = 5
BYTES_LEAST = 2048  # below it a stand-in's argument tells nothing
SECTOR_USE_LEAST = 0.35  # every second element is what strides of 2 need
NARROW_BYTES = 4  # a warp's loads of four bytes a thread fill whole cache lines
INTENSITY = 8.0  # operations a byte: a product of matrices has more, nearly everything else less
SPILL_LEAST = 64  # sin and cos keep up to 40 bytes of their own
CROWD = {True: 0.125, False: 0.25}  # the share of warps below which latency shows, with a dot and without
NAMES_MAX = 4


@dataclass(frozen=True)
class Advice:
    """`gain` is by how much the cause slows the kernel down at a guess, for the order only: 2.0 is twice the time."""

    gain: float
    words: str


def efficiency_lines(task: Task, traffic: float | None, usage: Usage, builds: Sequence[KernelBuild]) -> list[str]:
    """The measured figure and the advice for a correct kernel, at most LINES_MAX lines."""
    found = [*_reads(usage, builds), *_sectors(usage), *_narrow(usage, builds), *_spills(builds), *_crowded(builds)]
    found += [*_plain_dots(builds), *_no_dots(task, builds), *_launches(traffic, usage)]
    lines = [advice.words for advice in sorted(found, key=lambda advice: -advice.gain)]
    if traffic is not None:
        lines.insert(0, f"traffic: kernels move {traffic:.2f} times the bytes that the task needs at least")
    return lines[:LINES_MAX]


def _reads(usage: Usage, builds: Sequence[KernelBuild]) -> Iterator[Advice]:
    """Arguments that are loaded more than once, by the same program or by one after another."""
    multiplying = {build.kernel for build in builds if build.dots}
    for name, seen in usage.arguments.items():
        extra = seen.read_bytes - seen.size_bytes
        if not seen.size_bytes or extra < BYTES_LEAST:
            continue
        times, gain = seen.read_bytes / seen.size_bytes, usage.moved_bytes / max(1, usage.moved_bytes - extra)
        if seen.again_bytes >= extra / 2 and gain > 1.05:
            yield Advice(gain, f"{name} is read {times:.1f} times over; load it once and keep it in the kernel")
        elif times >= 4 and gain > 1.25:
            multiplies = name.split(".")[0] in multiplying
            advice = "larger blocks read it less often" if multiplies else "let one program do all that needs it"
            yield Advice(gain, f"{name} is read {times:.1f} times over, by program after program: {advice}")


def _sectors(usage: Usage) -> Iterator[Advice]:
    """Lines whose lanes lie apart in memory, or that load element by element."""
    total = sum(line.sector_bytes for line in usage.lines)
    for line in usage.lines:
        use = line.used_bytes / max(1, line.sector_bytes)
        if use > SECTOR_USE_LEAST or line.sector_bytes < max(BYTES_LEAST, 0.3 * total):
            continue
        place, gain = f"line {line.line}", total / (total - line.sector_bytes + line.used_bytes)
        each = line.count // max(1, line.programs)
        if line.lanes == 1 and each >= 4:
            words = f"loads {line.argument} one element at a time, {each} times a program: load a block with tl.arange"
            yield Advice(gain, f"{place} {words}")
        elif line.lanes > 1 and line.used_bytes >= 32 * line.count:
            words = f"uses {use:.0%} of the 32-byte sectors that it loads of {line.argument}, as its lanes lie apart in"
            yield Advice(gain, f"{place} {words} memory: let tl.arange run along the dimension whose stride is 1")


def _narrow(usage: Usage, builds: Sequence[KernelBuild]) -> Iterator[Advice]:
    """Lines that lie side by side in memory, and that the compiler doesn't know to."""
    total = sum(line.used_bytes for line in usage.lines)
    for line in usage.lines:
        made = [build for build in builds if build.kernel == line.kernel and str(line.line) in build.load_bytes]
        widest = max((build.load_bytes[str(line.line)] for build in made), default=NARROW_BYTES)
        threads = max((32 * build.num_warps for build in made), default=0)
        if widest < NARROW_BYTES <= line.lanes * line.itemsize / max(1, threads) and _side_by_side(line, total):
            words = f"loads {line.argument} {widest} bytes a thread at a time, where {NARROW_BYTES} to 16 would fit"
            advice = "say that offsets are contiguous with tl.max_contiguous(tl.multiple_of(offs, 16), 16)"
            yield Advice(1.3, f"line {line.line} {words}: {advice}")


def _side_by_side(line: Line, total: int) -> bool:
    return line.aligned >= 0.9 * line.count and line.used_bytes >= max(BYTES_LEAST, 0.3 * total)


def _spills(builds: Sequence[KernelBuild]) -> Iterator[Advice]:
    worst = max(builds, key=lambda build: build.spill_bytes or 0, default=None)
    if worst is not None and (worst.spill_bytes or 0) > SPILL_LEAST:
        words = f"{worst.kernel} spills {worst.spill_bytes} bytes of registers a thread to memory"
        yield Advice(1.5, f"{words}: use smaller blocks, or more num_warps")


def _crowded(builds: Sequence[KernelBuild]) -> Iterator[Advice]:
    """The build of which the fewest warps fit on a multiprocessor."""
    known = [(fits.share, fits, build) for build in builds if (fits := residence(build)) is not None and fits.programs]
    share, fits, build = min(known, key=lambda entry: entry[0], default=(1.0, None, None))
    if fits is None or build is None or share >= CROWD[bool(build.dots)]:
        return
    amounts = {
        "shared memory": f"{build.shared_bytes} bytes of shared memory a program",
        "registers": f"{build.registers} registers a thread",
        "threads": f"{build.num_warps} warps a program",
    }
    advice = {
        "shared memory": "use smaller blocks or fewer num_stages",
        "registers": "use smaller blocks, or more num_warps for the same block",
        "threads": "take more num_warps",
    }
    room = f"{fits.programs} program{'s' * (fits.programs > 1)}, {fits.warps} of {fits.warps_max} warps, fit"
    words = f"{build.kernel} takes {amounts[fits.limit]}, so that {room} on a multiprocessor of {build.target}"
    yield Advice(1.2, f"{words} and waits for memory show: {advice[fits.limit]}")


def _plain_dots(builds: Sequence[KernelBuild]) -> Iterator[Advice]:
    """Products that the compiler made no tensor-core instruction for (NVIDIA)."""
    for build in builds:
        kinds = set(build.dots or ()) - {"f64"}
        if not kinds or build.tensor_cores is not False or not build.target.startswith("sm"):
            continue
        if "f32" in kinds:
            advice = 'float32 in "ieee" has none; where its error fits the budget, input_precision="tf32x3" uses them'
        else:
            advice = "take blocks of at least 16 on every side, 32 along the reduced one for 8-bit types"
        yield Advice(2.0 if "f32" in kinds else 4.0, f"tl.dot in {build.kernel} runs without tensor cores: {advice}")
        return


def _no_dots(task: Task, builds: Sequence[KernelBuild]) -> Iterator[Advice]:
    """A product of matrices without tl.dot."""
    if not builds or any(build.dots is None or build.dots for build in builds):
        return
    costs = [task.cost(*case.args, **case.kwargs) for case in task.stand_ins(Draw(0))]
    if costs and min(cost.flops / max(1, cost.bytes_min) for cost in costs) >= INTENSITY:
        words = "the product is done by multiply and sum, without tensor cores and with each value loaded anew"
        yield Advice(8.0, f"{words}: use tl.dot on 2-D tiles")


def _launches(traffic: float | None, usage: Usage) -> Iterator[Advice]:
    count = len(usage.kernels)
    if count > 1:
        names = [f"{name} x{n}" if n > 1 else name for name, n in Counter(usage.kernels).items()]
        listed = ", ".join(names[:NAMES_MAX]) + (", ..." if len(names) > NAMES_MAX else "")
        gain = 1 + 0.1 * math.log2(count) + max(0.0, min(count, traffic or 1) - 1)
        words = f"{count} launches a call ({listed}), where the next reads from memory what one before wrote"
        yield Advice(gain, f"{words}: do in one kernel what one program can do")
