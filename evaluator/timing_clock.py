"""Whether the judge's own clock has room for the times that a worker reports.

A call that takes longer than it is said to leaves more of the judge's time unexplained than eager's calls do. So does a
process that is slower between its stretches, by 0.05 to 0.4 ms on a busy machine. The two are told apart by stretches
of many calls: what calls hide grows with their number, and what lies between stretches does not. What the candidate
claims is what it reported in the ordinary stretches; nothing that it says of the host's time excuses anything.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from evaluator.bounds import Machine
from evaluator.paired import median
from evaluator.windows import CANDIDATE, COVER_MAX, COVER_TIMES, EAGER, LONG_MS, Plan, Player, Series, TimedCase, asked

SHORTEST_MS = 0.0005
UNEXPLAINED = 0.25
UNEXPLAINED_MS, UNEXPLAINED_LONG_MS = 0.05, 0.1  # a stretch of the timing itself, and a long one
EXCUSED_MS = 0.8  # no machine was seen to add as much to a stretch
LONG_STRETCH_MS, LONG_STRETCH_CALLS = 4.0, 512
LOOKS, LOOK_CALLS = 4, 4


def impossible(ours: Series) -> str:
    """What can't be true of the candidate's times whatever the machine does, in words; empty when nothing."""
    ms = median(ours.ms)
    if not ms > SHORTEST_MS:
        return f"{ms:g} ms a call is shorter than any launch"
    if ours.overfull:
        return "the calls are said to have taken longer than the judge waited for them"
    return ""


def hidden_ms(series: Mapping[str, Series], plan: Plan) -> float:
    """How many milliseconds a stretch of the candidate left the judge's clock to account for beyond one of eager's; 0
    where that is little."""
    ours, theirs = series[CANDIDATE], series[EAGER]
    hidden = _beyond(ours, theirs)
    return hidden if hidden > max(UNEXPLAINED * median(ours.ms) * plan.batch, UNEXPLAINED_MS) else 0.0


def longer_look(
    players: Mapping[str, Player],
    timed: TimedCase,
    series: Mapping[str, Series],
    plan: Plan,
    machine: Machine,
    rng: random.Random,
) -> str:
    """What speaks against the candidate's times in stretches of some LONG_STRETCH_MS, in words; empty when nothing.
    Here too it keeps the outcome of a call, since it might skip some where it believes itself unseen. Raises Lost."""
    claimed, hidden = median(series[CANDIDATE].ms), hidden_ms(series, plan)
    batches = _batches(timed, series, machine)
    batch = batches[CANDIDATE]
    if hidden > max(EXCUSED_MS, UNEXPLAINED * claimed * plan.batch) or batch < 2 * plan.batch:
        return _told(plan.batch, hidden, claimed)
    calls = 1 if max(median(series[name].ms) for name in batches) > LONG_MS else LOOK_CALLS
    keep_in = rng.randrange(LOOKS)
    looks = {name: Series() for name in batches}
    for look in range(LOOKS):
        seed, more = rng.getrandbits(31), rng.uniform(1, 1.2)
        for name in rng.sample(sorted(batches), len(batches)):
            longer = Plan(calls, max(1, int(batches[name] * (more if batches[name] > timed.slots else 1))), COVER_MAX)
            keeps = name == CANDIDATE and look == keep_in
            keep = rng.randrange(calls) if keeps else None
            window = asked(name, players[name], calls, longer, keep, random.Random(seed))
            looks[name].add(window, 0, longer.batch, keeps)
    ours = looks[CANDIDATE]
    if fault := impossible(ours):
        return fault
    hidden = max(0.0, _beyond(ours, looks[EAGER])) + max(0.0, median(ours.ms) - claimed) * batch
    return _told(batch, hidden, claimed) if hidden > max(UNEXPLAINED * claimed * batch, UNEXPLAINED_LONG_MS) else ""


def fell(ours: Series, looked_ms: float) -> str:
    """Whether its times fell once the clock had looked twice, when it was at `looked_ms`; in words, else empty."""
    ms = median(ours.ms)
    if ms > (1 - UNEXPLAINED) * looked_ms:
        return ""
    return f"the calls are said to take {ms:.4f} ms, and {looked_ms:.4f} ms until the clock had looked twice"


def _batches(timed: TimedCase, series: Mapping[str, Series], machine: Machine) -> dict[str, int]:
    """Calls in a long stretch: no more than the host can issue while flushes run. Where calls change arguments, which
    are copied ahead of a stretch, both players have as many, and each its own."""
    covered_ms = COVER_MAX * machine.flush_ms / COVER_TIMES
    batches = {}
    for name in (CANDIDATE, EAGER):
        ms, host_ms = median(series[name].ms), max(median(series[name].host_ms), 1e-6)
        batches[name] = int(max(1, min(LONG_STRETCH_CALLS, math.ceil(LONG_STRETCH_MS / ms), covered_ms / host_ms)))
    if timed.mutates:
        batches = dict.fromkeys(batches, min(timed.slots, max(batches.values())))
    return batches


def _beyond(ours: Series, theirs: Series) -> float:
    if not ours.beyond_ms or not theirs.beyond_ms:
        return 0.0
    return median(ours.beyond_ms) - median(theirs.beyond_ms)


def _told(batch: int, hidden: float, claimed: float) -> str:
    calls = f"{batch} calls in a row" if batch > 1 else "a call"
    return (
        f"{calls} took {hidden:.3f} ms of the judge's time that the reported {claimed:.4f} ms a call do not account for"
    )
