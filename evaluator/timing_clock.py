"""Whether the judge's own clock has room for the times that a worker reports.

A call that takes longer than it is said to leaves more of the judge's time unexplained than eager's calls do. So does a
process that is slower between its stretches, by 0.05 to 0.4 ms on a busy machine. The two are told apart by stretches
of many calls: what calls hide grows with their number, and what lies between stretches does not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from evaluator.bounds import Machine
from evaluator.paired import median
from evaluator.windows import CANDIDATE, EAGER, LONG_MS, Plan, Player, Series, asked, cover_of

SHORTEST_MS = 0.0005
UNEXPLAINED = 0.25
UNEXPLAINED_MS, UNEXPLAINED_LONG_MS = 0.05, 0.1  # a stretch of the timing itself, and a long one
LONG_STRETCH_MS, LONG_STRETCH_CALLS = 4.0, 512
LOOKS, LOOK_CALLS = 3, 4
# a call that is issued while others run may wait for the host, or find its lines of the cache taken
SLOWER, SLOWER_MS = 1.5, 0.02


def impossible(ours: Series) -> str:
    """What can't be true of the candidate's times whatever the machine does, in words; empty when nothing."""
    ms = median(ours.ms)
    if not ms > SHORTEST_MS:
        return f"{ms:g} ms a call is shorter than any launch"
    if ours.overfull:
        return "the calls are said to have taken longer than the judge waited for them"
    return ""


def suspicious(series: Mapping[str, Series], plan: Plan) -> bool:
    """Whether the candidate's stretches left the judge's clock more to account for than eager's."""
    ours, theirs = series[CANDIDATE], series[EAGER]
    limit = max(UNEXPLAINED * median(ours.ms) * plan.batch, UNEXPLAINED_MS)
    return bool(ours.beyond_ms) and _hidden(ours, theirs) > limit


def longer_look(
    players: Mapping[str, Player], series: Mapping[str, Series], plan: Plan, machine: Machine, rng: random.Random
) -> str:
    """What speaks against the candidate's times in stretches of some LONG_STRETCH_MS, in words; empty when nothing.
    Raises Lost."""
    known = {name: median(series[name].ms) for name in (CANDIDATE, EAGER)}
    batches = {name: max(1, min(LONG_STRETCH_CALLS, math.ceil(LONG_STRETCH_MS / ms))) for name, ms in known.items()}
    cover = max(cover_of(batches[name] * median(series[name].host_ms), machine) for name in known)
    calls = 1 if max(known.values()) > LONG_MS else LOOK_CALLS
    looks = {name: Series() for name in known}
    for _ in range(LOOKS):
        for name in rng.sample(sorted(known), len(known)):
            longer = Plan(calls, batches[name], cover)
            window = asked(name, players[name], calls, longer, None, rng)
            looks[name].add(window, 0, longer.batch, keeps=False)
    ours, batch, claimed = looks[CANDIDATE], batches[CANDIDATE], known[CANDIDATE]
    if fault := impossible(ours):
        return fault
    ms, hidden = median(ours.ms), _hidden(ours, looks[EAGER])
    if hidden > max(UNEXPLAINED * ms * batch, UNEXPLAINED_LONG_MS):
        return (
            f"{batch} calls in a row took {hidden:.3f} ms of the judge's time "
            f"that the reported {ms:.4f} ms a call do not account for"
        )
    if ms > max(SLOWER * claimed, median(ours.host_ms)) + SLOWER_MS:
        return f"{batch} calls in a row are said to take {ms:.4f} ms each, and {plan.batch} of them {claimed:.4f} ms"
    return ""


def _hidden(ours: Series, theirs: Series) -> float:
    """Milliseconds a stretch that the judge waited longer than it can account for; the least of all windows counts."""
    return min(ours.beyond_ms) - min(theirs.beyond_ms)
