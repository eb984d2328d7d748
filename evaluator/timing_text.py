"""A candidate's times as lines of text: one a size, the means, and the device that they were taken on."""

from __future__ import annotations

from collections.abc import Iterator

from evaluator.paired import Ratio
from evaluator.timing_records import SizeTiming, TaskTiming

OVER = {"eager": "speedup", "oracle": "over_oracle", "torch.compile": "over_compiled"}


def timing_lines(timing: TaskTiming) -> Iterator[str]:
    """Milliseconds a call, the share of the physical bound, and how many times faster than each baseline that was
    timed, with 95 % intervals."""
    beside = [name for name, ratio in OVER.items() if any(getattr(size, ratio) for size in timing.sizes)]
    width = max([14, *(len(size.label) for size in timing.sizes)])
    yield f"  {'timed':{width}}{'ms':>10}{'of bound':>10}" + "".join(f"{'over ' + name:>24}" for name in beside)
    for size in timing.sizes:
        if size.invalid or size.ms is None:
            yield f"  {size.label:{width}}  no time ({size.invalid}): {size.message}"
            continue
        ratios = "".join(f"{_ratio(getattr(size, OVER[name])):>24}" for name in beside)
        share = "-" if size.share is None else f"{size.share:.2f}"
        yield f"  {size.label:{width}}{size.ms:10.4f}{share:>10}{ratios}{_told(size)}"
    if timing.valid:
        means = {"eager": timing.speedup, "oracle": timing.over_oracle, "torch.compile": timing.over_compiled}
        shown = "".join(f"{'-' if means[name] is None else f'{means[name]:.2f}':>24}" for name in beside)
        share = "-" if timing.share is None else f"{timing.share:.2f}"
        yield f"  {'geometric mean':{width}}{'':10}{share:>10}{shown}"
    else:
        yield f"  no speedup: {len(timing.sizes)} of {timing.expected} sizes, and each must count"
    if timing.device:
        yield f"  on {timing.device.get('name')}, torch {timing.device.get('torch')}; {_state(timing)}"


def _ratio(ratio: Ratio | None) -> str:
    return "-" if ratio is None else f"{ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"


def _told(size: SizeTiming) -> str:
    host = f"; the host needs {size.host_ms:.4f} ms to launch it" if size.launch_bound and size.host_ms else ""
    return host + "".join(f"; {note}" for note in size.notes)


def _state(timing: TaskTiming) -> str:
    if timing.before.get("sm_mhz") is None:
        return f"clocks unknown: {timing.before.get('source', 'they were not asked for')}"
    clocks = [f"{state.get('sm_mhz')} MHz at {state.get('temperature_c')} C" for state in (timing.before, timing.after)]
    throttled = [*timing.before.get("throttled", ()), *timing.after.get("throttled", ())]
    return f"{clocks[0]} before, {clocks[1]} after; throttled: {', '.join(dict.fromkeys(throttled)) or 'no'}"
