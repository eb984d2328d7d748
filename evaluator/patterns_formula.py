"""The task's formula with one step changed: which mistake in which operation of the reference gives what was got."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import torch

from evaluator.patterns_calls import PRODUCTS, TILES, Call, Change, shorter
from evaluator.patterns_leaf import Pattern
from evaluator.patterns_leaf import PatternName as P
from evaluator.patterns_recomputed import Bench
from evaluator.patterns_running import Mistake, Site, Steps
from evaluator.patterns_spelled import MOST_STEPS, TILED, TWO_FORMS, Form, below, risen
from evaluator.patterns_steps import changes, coarser

MOST_SITES = 60
MOST_FOUND = 2
MOST_WORK = 3e7  # of all runs, see Steps.work: some tenths of a second
FEW_TIMES = 3  # a place that is passed so few times is changed at each pass alone too
ARITHMETIC = ("add", "sub", "mul", "div", "neg", "rsub", "rdiv", "sum", "where")
FORMULA = "the values are those of the task's formula with "
NO_MAXIMUM = "exp overflows, or everything underflows: subtract the maximum of the slice before exp"
NOT_RESCALED = "a running sum that is not rescaled when the running maximum rises: multiply it by exp(old - new)"
VAGUE = {P.TERM_LEFT_OUT: 1, P.TILE_LEFT_OUT: 2}
MAXIMUM = (id(below.__code__), id(risen.__code__))


def formula(bench: Bench) -> Iterator[Pattern]:
    """The changed steps that reproduce what was got, as far as MOST_WORK reaches."""
    found: list[Pattern] = []
    work = 0.0
    for form, mistake, near in _mistakes(bench):
        values, steps_work = _run(bench, Steps(form, mistake))
        if values is not None and bench.tells(values) and bench.matches(values):
            change = mistake.change
            words = change.words if change.words == NO_MAXIMUM else f"{FORMULA}{change.words}{near}"
            if change.label not in {pattern.name for pattern in found}:
                found.append(Pattern(change.label, words))
                yield found[-1]
        work += steps_work
        if len(found) == MOST_FOUND or work > MOST_WORK:
            return


def _mistakes(bench: Bench) -> Iterator[tuple[Form, Mistake, str]]:
    plain = _traced(bench, Form())
    forms = [(Form(), plain)]
    if any(name in plain.spelled for name in TWO_FORMS):
        forms.append((Form(variant=1), _traced(bench, Form(variant=1))))
    for form, steps in forms:
        for mistake in (*_overflowing(steps), *_single(steps)):
            yield form, mistake, _near(steps, mistake)
    for mistake in (*_swapped(plain), *_other_base(plain), *_all_shorter(plain)):
        yield Form(), mistake, ""
    for form, steps in forms:
        for site, call in list(steps.first.items())[:MOST_SITES]:
            for mistake in (Mistake(frozenset({site}), change) for change in coarser(call)):
                yield form, mistake, _near(steps, mistake)
    longest = max((plain.spelled.get(name, 0) for name in TILED), default=0)
    for tile in (tile for tile in TILES if tile < longest <= MOST_STEPS * tile):
        form = Form(tile=tile)
        steps = _traced(bench, form)
        for mistake in (*_rescaling(steps), *_swapped(steps)):
            yield form, mistake, ""


def _traced(bench: Bench, form: Form) -> Steps:
    mode = Steps(form)
    _run(bench, mode)
    return mode


def _run(bench: Bench, mode: Steps) -> tuple[torch.Tensor | None, float]:
    """What the reference gives under `mode`, and what that took."""
    return bench.again({}, under=lambda: mode), mode.work


def _single(steps: Steps) -> Iterator[Mistake]:
    """One change at one site each; what may stand for a mistake that has a better name comes last."""
    found = []
    for site, call in list(steps.first.items())[:MOST_SITES]:
        if site.code not in MAXIMUM:
            found += [Mistake(frozenset({site}), change) for _, change in shorter(call)]
            for change in changes(call):
                found.append(Mistake(frozenset({site}), change))
                if 1 < steps.passes[site] <= FEW_TIMES:
                    found += [Mistake(frozenset({site}), change, nth) for nth in range(1, steps.passes[site] + 1)]
    yield from sorted(found, key=lambda mistake: VAGUE.get(mistake.change.label, 0))


def _overflowing(steps: Steps) -> Iterator[Mistake]:
    """A maximum is not subtracted ahead of exp, or added."""
    sites = frozenset(site for site in steps.first if site.code in MAXIMUM)
    for change in changes(steps.first[next(iter(sites))]) if sites else ():
        if change.label is P.TERM_LEFT_OUT:
            yield Mistake(sites, replace(change, label=P.OVERFLOW, words=NO_MAXIMUM))


def _rescaling(steps: Steps) -> Iterator[Mistake]:
    """What only loops over tiles show: a running sum that is scaled by the wrong power when the maximum rises."""
    for site, call in steps.first.items():
        if site.code == id(risen.__code__):
            for change in changes(call):
                if change.label is P.TERM_LEFT_OUT:
                    change = Change(P.NOT_RESCALED, NOT_RESCALED, lambda c: torch.zeros_like(c.args[0]))
                yield Mistake(frozenset({site}), change)
            words = "only the last tile of a running sum counted: it is overwritten"
            only = Change(P.TILE_LEFT_OUT, words, lambda c: torch.full_like(c.args[0], -torch.inf))
            yield Mistake(frozenset({site}), only)


def _all_shorter(steps: Steps) -> Iterator[Mistake]:
    """Every reduction leaves out its last, partial tile."""
    sites = [site for site, call in steps.first.items() if any(True for _ in shorter(call))]
    if len(sites) > 1:
        for _, change in shorter(steps.first[sites[0]]):
            yield Mistake(frozenset(sites), change)


def _swapped(steps: Steps) -> Iterator[Mistake]:
    """Two steps in the other order, where the second works on the first one's result."""
    calls = list(steps.first.items())[:MOST_SITES]
    for (one, first), (two, second) in combinations(calls, 2):
        if steps.operands[two] is not steps.results.get(one) or first.name == second.name:
            continue
        if not {first.name, second.name} & set(PRODUCTS):
            words = f"`{first.name}` after `{second.name}`, where it comes before"
            for kept in (0, 1) if first.name == "mul" and isinstance(first.args[-1], torch.Tensor) else (0,):
                change = Change(P.SWAPPED_STAGES, words, _other_order(second.name, kept))
                yield Mistake(frozenset({one, two}), change)


def _other_order(second: str, kept: int) -> Callable[[Call], Any]:
    """Leaves the first step out, but for its operand `kept`, and does it after the one named `second`."""
    held: list[Call] = []

    def result(call: Call) -> Any:
        if call.name != second:
            held[:] = [call]
            return call.args[kept]
        early = held[0]
        rest = (early.args[1 - kept],) if kept else early.args[1:]
        return early.function(call.right(), *rest, **early.options)

    return result


def _other_base(steps: Steps) -> Iterator[Mistake]:
    """All exponentials, or all logarithms, to another base."""
    for name in ("exp", "log"):
        sites = frozenset(site for site in steps.first if site.name == name)
        for change in changes(steps.first[next(iter(sites))]) if len(sites) > 1 else ():
            if change.label is P.WRONG_BASE:
                yield Mistake(sites, change)


def _near(steps: Steps, mistake: Mistake) -> str:
    """Where a step is: the first operation with a telling name that its result goes into, or the last one that it
    works on; nothing where its values meet none."""
    sites = list(steps.first)
    start = min((sites.index(site) for site in mistake.sites if site in sites), default=0)
    fed, sources = {sites[start]}, {sites[start]} if sites else set()
    for site in sites[start + 1 :]:
        if any(_feeds(steps, one, site) for one in fed):
            fed.add(site)
            if site.name not in ARITHMETIC:
                return f", ahead of `{site.name}`"
    for site in reversed(sites[:start]):
        if any(_feeds(steps, site, one) for one in sources):
            sources.add(site)
            if site.name not in ARITHMETIC:
                return f", after `{site.name}`"
    return ""


def _feeds(steps: Steps, one: Site, other: Site) -> bool:
    """Whether the tensor that `one` gave is an argument of `other`, or what a view or a cast made of it is."""
    call = steps.first[other]
    given = steps.results.get(one)
    used = (steps.operands[other], *call.args, *call.options.values())
    return isinstance(given, torch.Tensor) and any(steps.origin(value) is given for value in used)
