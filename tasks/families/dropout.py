"""Dropout, judged by its distribution: the mask is read off the result, then the result must be the one that this mask
gives, and the mask must look like independent throws of a coin that keeps with probability 1 - p.

Every limit below follows from a bound that holds for any number of throws (Chernoff's, or a union bound over places),
so that true random masks break one of them less than once in 10^9 calls; nothing is a fit or an approximation.
"""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from tasks.calls import Observed, bound
from tasks.judges import Elementwise, Mismatch, Truth
from tasks.outcomes import Reason
from tasks.task import Case, Task

EPS = torch.finfo(torch.float32).eps

FALSE_ALARM = 1e-12
"""How often a true mask fails one of the tests; a few hundred are made of one call."""

SAMPLE = 2**20
"""Of longer masks the two ends, half as long each, are tested for independence; all of it for its rate."""

DEMANDS = """\
The mask: every element is kept with probability 1 - {p} and dropped otherwise, independently of all others: no two
rows, columns, tiles or batches share a mask. The keep rate (overall and of each row and column), runs, and agreement
of places 1, 2, 4, 8, ... apart along each dimension are tested, with limits that true random masks break less than
once in 10^9 calls, and so that it has nothing to do with the values. It need not be torch's mask: a counter-based
generator such as `tl.rand(seed, offset)` serves well. A fresh seed for each call, say `random.getrandbits(31)` (the
module `random` may be imported), is good practice; one call's mask is not compared with another's. Calls that drop
nothing or everything are like all others: a kernel writes their result."""


def demands(p: str = "p") -> str:
    """What a task's text says of the mask; `p` is the name of the parameter that is the chance of dropping."""
    return textwrap.fill(DEMANDS.format(p=p), 120, break_long_words=False, break_on_hyphens=False)


@dataclass(frozen=True)
class Mask:
    """Which elements were kept, in the shape that dropout works on, and where the result tells."""

    keep: torch.Tensor
    known: torch.Tensor


@dataclass(frozen=True)
class Values:
    """Float64 results under a given mask, and how far off float32 arithmetic may be at each element."""

    exact: torch.Tensor
    error: torch.Tensor


@dataclass(frozen=True)
class Dropout:
    """Judges calls in which elements are dropped at random.

    `chance(arguments)` is the probability of dropping, 0 where the call doesn't drop. `values(keep, arguments)` gives
    the results where `keep` (a boolean tensor in the shape of what is dropped, or one boolean for all) says what is
    kept. `mask(result, arguments)` reads the mask off a result whose elements mix several of what is dropped; without
    it each element of the result has the value that it has when all are kept, or the one when none is. An element may
    be off by `ulps` units in the last place plus the `error` of its value. `inplace` names the tensor that receives
    the result where the argument `inplace` is true, and must be left alone where it isn't. All arguments come by name.
    """

    chance: Callable[..., float]
    values: Callable[..., Values]
    mask: Callable[..., Mask] | None = None
    ulps: float = 4.0
    inplace: str | None = None
    reason: Reason = Reason.DISTRIBUTION

    def compare(self, task: Task, case: Case, got: Observed, truth: Truth) -> Mismatch | None:
        given = bound(task, case)
        returned: torch.Tensor = got.returned
        if misplaced := self._misplaced(given, got):
            return misplaced
        p = self.chance(**given)
        mask = None if p in (0.0, 1.0) else self._mask(returned, given)
        found = self._compare(task, case, returned, self.values(mask.keep if mask else torch.tensor(p < 1), **given))
        if found and mask:
            return dataclasses.replace(found, message=f"{found.message}, be they kept (and scaled) or dropped")
        if found or mask is None:
            return found
        unlikely = unlike_coins(mask, 1 - p)
        if unlikely is None and self.mask is None:
            unlikely = _by_value(mask, self.values(torch.tensor(True), **given).exact.expand(returned.shape), 1 - p)
        return Mismatch(Reason.DISTRIBUTION, "result", unlikely) if unlikely else None

    def _misplaced(self, given: dict[str, Any], got: Observed) -> Mismatch | None:
        if self.inplace is None:
            return None
        after = got.mutated[self.inplace]
        want = got.returned if given["inplace"] else given[self.inplace]
        if bool(((after == want) | (after.isnan() & want.isnan())).all()):
            return None
        what = "must hold the result" if given["inplace"] else "must be left alone"
        return Mismatch(Reason.MISMATCH, f"{self.inplace} after the call", f"{self.inplace} {what}")

    def _compare(self, task: Task, case: Case, returned: torch.Tensor, values: Values) -> Mismatch | None:
        exact = values.exact.expand(returned.shape)
        budget = Elementwise(self.ulps, lambda **_: 1 / EPS, lambda **_: values.error)
        truth = Truth(Observed(exact.to(returned.dtype), {}), Observed(exact, {}))
        return budget.compare(task, case, Observed(returned, {}), truth)

    def _mask(self, returned: torch.Tensor, given: dict[str, Any]) -> Mask:
        if self.mask:
            return self.mask(returned, **given)
        kept, dropped = (self.values(torch.tensor(keep), **given) for keep in (True, False))
        budget = self.ulps * torch.finfo(returned.dtype).eps * kept.exact.abs() + kept.error
        off = (returned - kept.exact).abs()
        known = (kept.exact - dropped.exact).abs() > 2 * budget
        # where rounding can hide which it was, either will do
        keep = (off <= (returned - dropped.exact).abs()) | (~known & (off <= budget))
        return Mask(keep, known.expand(keep.shape))


def scaled(x: torch.Tensor, keep: torch.Tensor, p: float) -> torch.Tensor:
    """`x` / (1 - p) where kept, else 0."""
    return torch.where(keep, x / (1 - p), 0.0) if p < 1 else torch.zeros_like(x)


def unlike_coins(mask: Mask, rate: float) -> str | None:
    """What true masks of this keep rate never look like; None if there is nothing such."""
    keep, known = mask.keep, mask.known
    tests = (_rate, _slices, _runs, _lags)
    return next((found for test in tests if (found := test(keep, known, rate))), None)


def _rate(keep: torch.Tensor, known: torch.Tensor, rate: float) -> str | None:
    count, kept = int(known.sum()), int((keep & known).sum())
    if count * _divergence(kept / max(count, 1), rate) <= _log_odds():
        return None
    return f"{kept} of {count} elements are kept ({kept / count:.4f}), where {rate:g} of them should be"


def _slices(keep: torch.Tensor, known: torch.Tensor, rate: float) -> str | None:
    """Each index of each dimension has the rate of the whole."""
    for dim in range(keep.dim() if keep.dim() > 1 else 0):
        others = [d for d in range(keep.dim()) if d != dim]
        count, kept = known.sum(others).double(), (keep & known).sum(others).double()
        share = kept / count.clamp_min(1)
        excess = count * (
            torch.special.xlogy(share, share / rate) + torch.special.xlogy(1 - share, (1 - share) / (1 - rate))
        )
        worst = int(excess.argmax())
        if excess[worst] > _log_odds() + math.log(len(count)):
            found = f"{int(kept[worst])} of {int(count[worst])} elements are kept at index {worst} of dimension {dim}"
            return f"{found}, where {rate:g} of them should be"
    return None


def _runs(keep: torch.Tensor, known: torch.Tensor, rate: float) -> str | None:
    """A run of r like throws starts at a given place with probability rate^r."""
    for throws, seen in _ends(keep, known):
        for like, chance, name in ((throws[seen], rate, "kept"), (~throws[seen], 1 - rate, "dropped")):
            breaks = torch.cat((torch.tensor([-1]), (~like).nonzero().flatten(), torch.tensor([len(like)])))
            longest = int(breaks.diff().max()) - 1
            if longest * math.log(chance) + math.log(len(like) + 1) < math.log(FALSE_ALARM):
                return f"{longest} elements in a row are {name}"
    return None


def _lags(keep: torch.Tensor, known: torch.Tensor, rate: float) -> str | None:
    """Throws `lag` places apart agree with probability rate^2 + (1 - rate)^2. Pairs that start in even blocks of `lag`
    places have no place in common, nor have those of odd blocks, so that the agreements of either are independent."""
    like = rate**2 + (1 - rate) ** 2
    for throws, seen in _ends(keep, known):
        for lag in sorted(set(_distances(keep.shape, len(throws)))):
            agree = throws[lag:] == throws[:-lag]
            both = seen[lag:] & seen[:-lag]
            odd = torch.arange(len(agree)) // lag % 2 == 1
            for block in (both & odd, both & ~odd):
                count, agreed = int(block.sum()), int((agree & block).sum())
                if count * _divergence(agreed / max(count, 1), like) > _log_odds():
                    found = f"elements {lag} places apart have the same fate in {agreed} of {count} pairs"
                    return f"{found}, where {like:.3g} of them should"
    return None


def _by_value(mask: Mask, values: torch.Tensor, rate: float) -> str | None:
    """Whether an element is kept has nothing to do with its value: halves by size and by value have its rate."""
    for what, by in (("magnitude", values.abs()), ("value", values)):
        kept = mask.keep[mask.known][by[mask.known].argsort()]
        middle = len(kept) // 2
        for side, half in (("smaller", kept[:middle]), ("larger", kept[middle:])):
            count, number = len(half), int(half.sum())
            if count * _divergence(number / max(count, 1), rate) > _log_odds():
                return f"{number} of the {count} elements of {side} {what} are kept, where {rate:g} of them should be"
    return None


def _ends(keep: torch.Tensor, known: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """All throws, or the first and the last of very many."""
    parts = [slice(None)] if keep.numel() <= SAMPLE else [slice(SAMPLE // 2), slice(-SAMPLE // 2, None)]
    for part in parts:
        yield keep.flatten()[part], known.flatten()[part]


def _distances(shape: torch.Size, length: int) -> Iterator[int]:
    """1, 2, 4, 8, ... steps along each dimension, in places of the flat tensor."""
    for dim in range(len(shape)):
        lag = max(1, math.prod(shape[dim + 1 :]))
        while lag < length:
            yield lag
            lag *= 2


def _divergence(share: float, rate: float) -> float:
    """Kullback and Leibler's, of two coins: n independent throws show a share on one side of `rate` as far off as this
    with probability at most exp(-n times it) (Chernoff; Hoeffding, JASA 58, 1963, theorem 1)."""
    terms = ((share, rate), (1 - share, 1 - rate))
    return sum(a * math.log(a / b) for a, b in terms if a > 0)


def _log_odds() -> float:
    return math.log(2 / FALSE_ALARM)
