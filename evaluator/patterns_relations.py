"""Patterns in how the values that were got relate to the right ones, element by element or moved to other places."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

import torch

from evaluator.patterns_leaf import NEARLY_ALL, Leaf, Pattern, PatternName

CONSTANT = 1e-3  # relative spread of a factor or an offset that still counts as one number
EXACTLY = 1e-5
FEW = 4  # so many elements and their agreement is no coincidence
ROOT, LN2 = math.sqrt(2), math.log(2)
# what to mend in a store: no advice where no kernel was launched
SWAP, CHECK = "; swap them in the store's offsets", ": check the output's offsets"
PLAIN = {2.0: "2", 0.5: "1/2", 4.0: "4", 0.25: "1/4", 3.0: "3", 1 / 3: "1/3", 127.0: "127", 128.0: "128", 255.0: "255"}
PLAIN |= {ROOT: "sqrt(2)", 1 / ROOT: "1/sqrt(2)", LN2: "ln 2", 1 / LN2: "1/ln 2"}


def moved(leaf: Leaf) -> Iterator[Pattern]:
    """The right values at other places: transposed, shifted, repeated, reversed, or mixed up."""
    yield from _transposed(leaf)
    yield from _shifted(leaf)
    yield from _repeated(leaf)
    exact = leaf.exact
    for dim in range(exact.dim()):
        if exact.shape[dim] > 2 and leaf.explained_by(exact.flip(dim)):
            yield Pattern(PatternName.MISPLACED, f"the right values in reverse order along {along(exact, dim)}")
    if leaf.wrong.double().mean() > 0.5 and _same_multiset(leaf):
        yield Pattern(PatternName.MISPLACED, f"the right values, stored at wrong places{CHECK}")


def related(leaf: Leaf, counts: Collection[int] = ()) -> Iterator[Pattern]:
    """Sign, constant factor, constant offset, and one factor for each slice. `counts` are numbers of elements that a
    mean of this case may divide by."""
    if leaf.explained_by(-leaf.exact):
        yield Pattern(PatternName.SIGN, "every wrong element has the right size and the opposite sign")
        return
    if leaf.exact.is_complex() and leaf.explained_by(leaf.exact.conj()):
        yield Pattern(PatternName.SIGN, "the imaginary parts have the opposite sign: conjugated where it should not be")
        return
    if not leaf.is_floating:
        return
    usable = leaf.wrong & torch.isfinite(leaf.wide) & torch.isfinite(leaf.exact)
    if usable.sum() < NEARLY_ALL * leaf.wrong.sum() or usable.sum() < 1:
        return
    got, exact = leaf.wide[usable], leaf.exact[usable]
    ratio = _ratio(leaf, got, exact, counts)
    if ratio is not None and any(abs(ratio / n - 1) < EXACTLY or abs(ratio * n - 1) < EXACTLY for n in counts):
        words = "what was got is off by a factor that is a number of elements: a division by it is missing or wrong"
        yield Pattern(PatternName.CONSTANT_FACTOR, words)
    elif ratio is not None:
        plain = next((text for value, text in PLAIN.items() if abs(ratio / value - 1) < CONSTANT), None)
        of = f"{plain} times" if plain else "one constant factor times"
        yield Pattern(PatternName.CONSTANT_FACTOR, f"what was got is {of} the right value, in every wrong element")
    elif _constant_offset(leaf, got, exact):
        yield Pattern(PatternName.CONSTANT_OFFSET, "every wrong element is off by the same amount: a term is missing")
    else:
        yield from _slice_factor(leaf, usable)


def along(value: torch.Tensor, dim: int) -> str:
    """A dimension in words."""
    return f"dimension {dim}" if value.dim() != 2 else ("dimension 0 (rows)", "dimension 1 (columns)")[dim]


def _transposed(leaf: Leaf) -> Iterator[Pattern]:
    shape = leaf.exact.shape
    pairs = [(i, j) for j in range(len(shape)) for i in range(j) if shape[i] > 1 and shape[j] > 1]
    for i, j in reversed(pairs):
        if leaf.explained_by(leaf.exact.transpose(i, j).reshape(shape)):
            words = f"transposed: dimensions {i} and {j} of the output changed places{SWAP}"
            yield Pattern(PatternName.TRANSPOSED, words)


def _shifted(leaf: Leaf) -> Iterator[Pattern]:
    views = [(leaf.exact.flatten(), 0, "in memory order")]
    views += [(leaf.exact, dim, f"along {along(leaf.exact, dim)}") for dim in range(leaf.exact.dim())]
    for values, dim, where in views:
        length = values.shape[dim] if values.dim() else 0
        for by in (1, -1, 2, -2):
            if length < 2 * abs(by) + 2:
                continue
            known = torch.ones(values.shape, dtype=torch.bool)
            known.narrow(dim, 0 if by > 0 else length + by, abs(by)).fill_(False)
            if leaf.explained_by(values.roll(by, dim).reshape(leaf.exact.shape), known.reshape(leaf.exact.shape)):
                words = f"shifted by {abs(by)} towards the {'end' if by > 0 else 'start'} {where}: an index is off"
                yield Pattern(PatternName.SHIFTED, words)
                return


def _repeated(leaf: Leaf) -> Iterator[Pattern]:
    exact = leaf.exact
    for dim in range(exact.dim()):
        if exact.shape[dim] > 2 and exact.numel() > exact.shape[dim]:
            for place in (0, exact.shape[dim] - 1):
                if leaf.explained_by(exact.narrow(dim, place, 1).expand_as(exact)):
                    which = "last" if place else "first"
                    words = f"the {which} slice repeated along {along(exact, dim)}: a program's index is not used"
                    yield Pattern(PatternName.REPEATED, words)
                    return


def _same_multiset(leaf: Leaf) -> bool:
    if leaf.exact.is_complex() or leaf.exact.numel() < 2 * FEW:
        return False
    got, _ = leaf.wide.flatten().sort()
    exact, right_order = leaf.exact.flatten().sort()
    room = 2 * leaf.budget.flatten()[right_order] + 16 * leaf.eps * exact.abs()
    distinct = bool((exact.diff() > 0).double().mean() > 0.5)
    return distinct and bool((((got - exact).abs() <= room).double().mean()) >= NEARLY_ALL)


def _ratio(leaf: Leaf, got: torch.Tensor, exact: torch.Tensor, counts: Collection[int]) -> float | None:
    """The factor between `got` and `exact`, where there is one; the elements that are right must be near 0."""
    if got.is_complex() or bool((exact == 0).any()):
        return None
    ratios = got / exact
    ratio = float(ratios.median())
    if (
        ratio == 0
        or abs(ratio - 1) < 2 * CONSTANT
        or float(((ratios / ratio - 1).abs() < CONSTANT).double().mean()) < NEARLY_ALL
    ):
        return None
    if got.numel() < FEW or float(exact.std()) <= 0.01 * float(exact.abs().mean()):
        plain = [*PLAIN, *counts, *(1 / n for n in counts)]
        return ratio if any(abs(ratio / value - 1) < EXACTLY for value in plain) else None
    others = ~leaf.wrong & torch.isfinite(leaf.exact)
    small = (ratio * leaf.exact - leaf.wide).abs() <= 2 * leaf.budget * max(1.0, abs(ratio))
    return ratio if not others.any() or bool(small[others].all()) else None


def _constant_offset(leaf: Leaf, got: torch.Tensor, exact: torch.Tensor) -> bool:
    """Only where all elements are wrong, and differ among themselves."""
    if got.is_complex() or got.numel() < FEW or not leaf.wrong.all():
        return False
    offset = got - exact
    middle = float(offset.median())
    spread = (offset - middle).abs() <= CONSTANT * abs(middle)
    return bool(float(exact.std()) > CONSTANT * abs(middle) and spread.double().mean() >= NEARLY_ALL)


def _slice_factor(leaf: Leaf, usable: torch.Tensor) -> Iterator[Pattern]:
    """A factor for each slice, perhaps with an offset: what a wrong sum, mean or variance of the slice leads to."""
    if leaf.exact.is_complex() or leaf.exact.dim() < 2 or leaf.wrong.double().mean() < 0.5 or not usable.any():
        return
    for dim in reversed(range(leaf.exact.dim())):
        for merged in (False, True):
            lines = [_lines(value, dim, merged) for value in (leaf.wide, leaf.exact, usable)]
            if lines[0].shape[1] >= FEW + 2 and _affine(lines[0], lines[1], lines[2].bool()):
                which = "for each index" if merged else "that runs"
                words = f"each slice {which} along {along(leaf.exact, dim)} has a factor of its own: its sum, mean or "
                words += "variance is wrong"
                yield Pattern(PatternName.SLICE_FACTOR, words)
                return


def _lines(value: torch.Tensor, dim: int, merged: bool) -> torch.Tensor:
    """Two dimensions: lines along `dim`, or (`merged`) one line for each index along it."""
    if merged:
        return value.movedim(dim, 0).reshape(value.shape[dim], -1)
    return value.movedim(dim, -1).reshape(-1, value.shape[dim])


def _affine(got: torch.Tensor, exact: torch.Tensor, usable: torch.Tensor) -> bool:
    """Whether got = factor * exact + offset in nearly every line, with factors that are neither 1 nor 0."""
    kept = usable.double()
    count = kept.sum(1, keepdim=True).clamp_min(1)
    got, exact = (torch.where(usable, value.double(), 0.0) for value in (got, exact))
    mean_got, mean_exact = (value.sum(1, keepdim=True) / count for value in (got, exact))
    far = (exact - mean_exact) * kept
    factor = (far * got).sum(1, keepdim=True) / far.square().sum(1, keepdim=True)
    residual = ((got - mean_got) * kept - factor * far).square().sum(1)
    error = ((got - exact) * kept).square().sum(1)
    tells = ((factor - 1).abs() > CONSTANT) & (factor.abs() > CONSTANT) & (count >= FEW + 2)
    fits = (residual <= CONSTANT**2 * error) & tells.flatten()
    return bool(fits.double().mean() >= 0.9)
