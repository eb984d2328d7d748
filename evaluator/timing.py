"""Timing a candidate beside its baselines: windows in turn, paired, until the ratio is known well enough.

Nothing that a worker reports is taken as it comes: the judge's own clock must have room for the times
(`evaluator.timing_clock`), and no time may be below what the device can do.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evaluator.bounds import Bound, Machine, bound_of
from evaluator.paired import Ratio, enough, median, ratio_of
from evaluator.timing_clock import SHORTEST_MS, fell, hidden_ms, impossible, longer_look
from evaluator.timing_records import Invalid, SizeTiming, TaskTiming
from evaluator.windows import CANDIDATE, EAGER, LONG_MS, Lost, Plan, Player, Series, TimedCase, asked, cover_of

CAP_S = 1.0
SHORT_MS, STRETCH_MS = 0.02, 0.06  # below the first, so many calls are timed as one that they last the second
WINDOW_MS = 4.0
CALLS_MIN, CALLS_MAX = 4, 30
BELOW = 0.9  # measured peaks wander, and another kernel may do a little better than the one that measured them


def time_task(
    candidate: Player,
    baselines: Mapping[str, Player],
    sizes: Sequence[TimedCase],
    machine: Machine,
    cap_s: float = CAP_S,
    seed: int = 0,
    device: Mapping[str, Any] | None = None,
    state: Callable[[], Mapping[str, Any]] = dict,
    take_kept: Callable[[TimedCase], None] = lambda timed: None,
) -> tuple[TaskTiming, Lost | None]:
    """Times all sizes, and says how the candidate failed at one of them, if it did; `baselines` must have "eager".

    Hold the device (`evaluator.gpu.exclusive`) meanwhile. `state` samples it before and after; `take_kept` is called
    once or more a size, while the candidate still has the outcome of a call that it kept, and may raise Lost. The first
    size that doesn't count ends it. Raises Lost when a baseline was lost.
    """
    start, before = time.perf_counter(), state()
    done: list[SizeTiming] = []
    failed: Lost | None = None
    for number, timed in enumerate(sizes):
        try:
            done.append(time_case(candidate, baselines, timed, machine, cap_s, seed + number, take_kept))
        except Lost as lost:
            if lost.who not in (CANDIDATE, ""):
                raise
            failed = lost
            message = f"{lost.kind}: {lost.message}"
            done[number:] = [SizeTiming(timed.label, invalid=Invalid.FAILED, message=message)]
        if done[-1].invalid:
            break
    took_s = time.perf_counter() - start
    timing = TaskTiming(tuple(done), len(sizes), dict(device or {}), dict(before), dict(state()), took_s)
    return timing, failed


def time_case(
    candidate: Player,
    baselines: Mapping[str, Player],
    timed: TimedCase,
    machine: Machine,
    cap_s: float = CAP_S,
    seed: int = 0,
    take_kept: Callable[[TimedCase], None] = lambda timed: None,
) -> SizeTiming:
    """Times one size in windows of every player, in an order drawn anew each time, for some `cap_s` seconds at most.

    The candidate keeps the outcome of one call, and of another where the clock looks twice. A baseline other than eager
    that can't take the case is left out, and noted. Raises Lost, with the player's name in `who`.
    """
    rng = random.Random(seed)
    players, notes = _prepared({CANDIDATE: candidate, **baselines}, timed)
    plan = _plan(players, timed, machine, rng)
    series = {name: Series() for name in players}
    spent_s, keep_in, pairs, looked_ms = 0.0, rng.randrange(2), 0, 0.0
    while True:
        shared, warm = rng.getrandbits(31), rng.randint(1, 3) if plan.calls > 1 else 0
        for name in rng.sample(sorted(players), len(players)):
            keeps = name == CANDIDATE and pairs == keep_in
            keep = rng.randrange(warm, warm + plan.calls) if keeps else None
            window = asked(name, players[name], warm + plan.calls, plan, keep, random.Random(shared))
            spent_s += window.wall_s
            series[name].add(window, warm, plan.batch, keeps)
        pairs += 1
        fault = impossible(series[CANDIDATE])
        if pairs > 2 and not fault and not looked_ms and hidden_ms(series, plan):
            take_kept(timed)
            fault, looked_ms = longer_look(players, timed, series, plan, machine, rng), median(series[CANDIDATE].ms)
        fault = fault or fell(series[CANDIDATE], looked_ms)
        if fault and pairs > 2:
            return SizeTiming(timed.label, invalid=Invalid.CLOCK, message=fault, calls=pairs * plan.calls)
        ratio = ratio_of(series[EAGER].ms, series[CANDIDATE].ms) if not fault else None
        if ratio and enough(ratio, median(series[CANDIDATE].ms), spent_s, cap_s):
            break
    done = _bounded(_timing(timed, series, ratio, plan, notes), timed, machine)
    if not done.invalid:
        take_kept(timed)
    return done


def _prepared(players: Mapping[str, Player], timed: TimedCase) -> tuple[dict[str, Player], tuple[str, ...]]:
    """Those that can take the case, and why others can't."""
    able: dict[str, Player] = {}
    notes: list[str] = []
    for name, player in players.items():
        try:
            player.prepare(timed)
            able[name] = player
        except Lost as lost:
            lost.who = name
            if name in (CANDIDATE, EAGER) or lost.kind != "error":
                raise
            notes.append(f"{name}: {lost.message.splitlines()[0][:200]}")
    return able, tuple(notes)


def _plan(players: Mapping[str, Player], timed: TimedCase, machine: Machine, rng: random.Random) -> Plan:
    """From two calls, of which the first may still compile, and a few that the host's time for a call is hidden in.
    Only a baseline is believed to be slow at once: a candidate may be slow at first to be called less often."""
    first = {name: asked(name, player, 2, Plan(2, 1, 1), None, rng) for name, player in players.items()}
    cover = cover_of(max(window.host_ms for window in first.values()), machine)
    again = {
        name: first[name]
        if name != CANDIDATE and min(first[name].ms) > LONG_MS
        else asked(name, player, 4, Plan(4, 1, cover), None, rng)
        for name, player in players.items()
    }
    known = {name: max(min(window.ms), SHORTEST_MS) for name, window in again.items()}
    shortest, longest = min(known[CANDIDATE], known[EAGER]), max(known.values())
    batch = min(timed.slots, math.ceil(STRETCH_MS / shortest)) if shortest < SHORT_MS else 1
    cover = cover_of(batch * max(window.host_ms for window in again.values()), machine)
    if longest > LONG_MS:
        return Plan(1, 1, cover)
    return Plan(max(CALLS_MIN, min(CALLS_MAX, math.ceil(WINDOW_MS / (longest * batch)))), batch, cover)


def _timing(
    timed: TimedCase, series: Mapping[str, Series], speedup: Ratio | None, plan: Plan, notes: tuple[str, ...]
) -> SizeTiming:
    times = {name: median(one.ms) for name, one in series.items()}
    host_ms = median(series[CANDIDATE].host_ms)
    over = {name: ratio_of(series[name].ms, series[CANDIDATE].ms) for name in ("compiled", "oracle") if name in series}
    return SizeTiming(
        timed.label,
        ms=times[CANDIDATE],
        eager_ms=times[EAGER],
        compiled_ms=times.get("compiled"),
        oracle_ms=times.get("oracle"),
        speedup=speedup,
        over_compiled=over.get("compiled"),
        over_oracle=over.get("oracle"),
        host_ms=host_ms,
        eager_host_ms=median(series[EAGER].host_ms),
        launch_bound=host_ms > times[CANDIDATE],
        calls=plan.calls * len(series[CANDIDATE].ms),
        batch=plan.batch,
        notes=notes,
    )


def _bounded(done: SizeTiming, timed: TimedCase, machine: Machine) -> SizeTiming:
    """With its share of the physical bound; invalid below it."""
    assert done.ms is not None
    case = timed.variants[0]
    cost = timed.task.cost(*case.args, **case.kwargs)
    bound: Bound = bound_of(timed.task, case, cost, machine)
    seen = replace(
        done,
        bound_ms=bound.ms,
        share=bound.ms / done.ms,
        gbs=cost.bytes_min / done.ms / 1e6,
        tflops=cost.flops / done.ms / 1e9,
        in_l2=bound.in_l2,
    )
    if done.ms >= BELOW * bound.floor_ms:
        return seen
    message = f"{done.ms:.4f} ms is below the {bound.floor_ms:.4f} ms that this device needs for the task's own work"
    return replace(seen, invalid=Invalid.BELOW_BOUND, message=message)
