"""What kind of mistake wrong values look like, by name and in words: for a failing case only, never for a right one.

A label is given when it explains nearly all wrong elements: they lie in one kind of place, stand in one relation to
the right values, or are what the reference gives when one thing is changed. Noise gets none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch

from evaluator.patterns_arguments import arguments, options
from evaluator.patterns_formula import formula
from evaluator.patterns_leaf import COARSE, NEARLY_ALL, Leaf, Pattern, PatternName, Seen, first_unwritten, first_wrong
from evaluator.patterns_places import places
from evaluator.patterns_precision import grows, pooled, precision, quantisation, rounding
from evaluator.patterns_recomputed import Bench
from evaluator.patterns_reductions import reductions
from evaluator.patterns_relations import moved, related
from evaluator.patterns_stores import held_by, misstored, starts_late, wrong_size, zeros
from evaluator.patterns_windows import windows
from tasks.outcomes import Reason
from tasks.task import Task

__all__ = ["Pattern", "PatternName", "Seen", "patterns_of"]

MOST_ELEMENTS = 20_000  # of a case's tensors, for the reference to be computed again
MOST_OTHERS = 4
UNTOUCHED = (PatternName.NEVER_WRITTEN, PatternName.OUT_OF_BOUNDS_READ, PatternName.OUT_OF_BOUNDS_WRITE)
GROWING = "; the error grows with the length of the reduction, so accumulate in float32"
ELSEWHERE = "in another case that fails: "


def patterns_of(task: Task, seen: Seen, others: Sequence[Seen] = ()) -> list[Pattern]:
    """The patterns in one failing case, the most convincing first; none where nothing is recognised.

    `others` are judged cases of the same candidate, right or wrong. They are looked at where this one doesn't
    explain itself, and tell whether an error grows with the reduction.
    """
    leaf = first_wrong(task, seen) or first_wrong(task, seen, COARSE[1])
    by_distribution = getattr(task.judge, "reason", None) is Reason.DISTRIBUTION
    facts = _facts(task, seen, first_unwritten(seen) if by_distribution else leaf, others)
    proofs = []
    explained = any(fact.name is PatternName.OUT_OF_BOUNDS_READ for fact in facts)
    if by_distribution and not facts:
        proofs = [*held_by(task, seen), *wrong_size(seen)]
    if leaf is not None and not any(fact.name in UNTOUCHED for fact in facts):
        with _one_thread():
            proofs = list(_explained(task, seen, leaf))
            explained |= bool(proofs)
            proofs = proofs or _elsewhere(task, others) or list(pooled(task, (seen, *others)))
    rest = list(_plain(seen, leaf, special=not facts)) if leaf is not None else []
    if explained:  # a last tile that is wrong by chance would mislead
        rest = [pattern for pattern in rest if pattern.name is not PatternName.LAST_TILE]
    found = list({pattern.words: pattern for pattern in [*facts, *proofs, *rest]}.values())
    if not found and any(not stray.get("store") for stray in seen.strays):
        words = "a load reaches outside its tensor: a mask is missing, or a stride or an offset is wrong"
        found = [Pattern(PatternName.OUT_OF_BOUNDS_READ, words)]
    if any(p.name is PatternName.LOW_PRECISION for p in found) and grows(task, (seen, *others)):
        found = [replace(p, words=p.words + GROWING) if p.name is PatternName.LOW_PRECISION else p for p in found]
    return found


@contextmanager
def _one_thread() -> Iterator[None]:
    """For hundreds of small tensors more threads cost ten times what they give on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _plain(seen: Seen, leaf: Leaf, *, special: bool) -> Iterator[Pattern]:
    """What is seen at once, and says less about its cause."""
    yield from zeros(leaf, _elements(seen))
    yield from places(leaf)
    if special:
        yield from _special(leaf)


def _facts(task: Task, seen: Seen, leaf: Leaf | None, others: Sequence[Seen]) -> list[Pattern]:
    """What was done outside the tensors, and what was not done inside."""
    facts = []
    if any(stray.get("store") for stray in seen.strays):
        words = "a store writes outside its tensor: its mask lets lanes through that have no element"
        facts.append(Pattern(PatternName.OUT_OF_BOUNDS_WRITE, words))
    if leaf is None:
        return facts
    untouched = list(_untouched(leaf, seen))
    # a first element that nobody wrote says where the mistake is, a last one is what a short grid leaves
    first = [place for place in places(leaf) if untouched and place.name is PatternName.SHIFTED]
    late = [] if facts or first or not leaf.wrong.any() else list(starts_late(task, (seen, *others)))
    return [*facts, *first, *late, *untouched]


def _untouched(leaf: Leaf, seen: Seen) -> Iterator[Pattern]:
    """Elements that hold what was there before the call: the filling of fresh memory, or the old values."""
    wrong = leaf.wrong
    enough = NEARLY_ALL * int(wrong.sum())
    spoilt = leaf.is_floating and int((wrong & leaf.wide.isnan() & ~leaf.exact.isnan()).sum()) >= enough
    poisoned = int(leaf.poisoned.sum()) >= enough
    if (spoilt or poisoned) and any(not stray.get("store") for stray in seen.strays):
        words = (
            "wrong elements come from loads outside the tensor: a mask is missing, or a stride or an offset is wrong"
        )
        yield Pattern(PatternName.OUT_OF_BOUNDS_READ, words)
    elif poisoned:
        words = "wrong elements were never written, or computed from memory that was never written"
        yield Pattern(PatternName.NEVER_WRITTEN, words)
    elif leaf.before is not None and _holds(leaf, leaf.before):
        yield Pattern(PatternName.NEVER_WRITTEN, "wrong elements still hold what they held before the call")


def _explained(task: Task, seen: Seen, leaf: Leaf) -> Iterator[Pattern]:
    """What relates nearly all wrong values to the right ones, or reproduces them."""
    small = _elements(seen) <= MOST_ELEMENTS
    bench = Bench(task, seen.case, leaf)
    if small:
        yield from options(bench)
        yield from windows(bench)
    yield from moved(leaf)
    yield from rounding(leaf)
    if small:
        yield from quantisation(bench)
        yield from arguments(bench)
        yield from misstored(bench)
        yield from reductions(bench)
        yield from formula(bench)
    yield from related(leaf, _counts(seen, leaf))
    if small:
        yield from precision(bench)


def _elsewhere(task: Task, others: Sequence[Seen]) -> list[Pattern]:
    """What explains other failing cases, most of them first; large cases show more kinds of mistakes."""
    count: Counter[Pattern] = Counter()
    sizes = [(_elements(seen), seen) for seen in others]
    small = sorted((entry for entry in sizes if entry[0] <= MOST_ELEMENTS), key=lambda entry: -entry[0])
    wrong = [(seen, leaf) for _, seen in small if (leaf := first_wrong(task, seen)) is not None]
    for seen, leaf in wrong[:MOST_OTHERS]:
        count.update(list(dict.fromkeys(_explained(task, seen, leaf))))
        if count and max(count.values()) >= 2:
            break
    return [replace(pattern, words=ELSEWHERE + pattern.words) for pattern, _ in count.most_common()]


def _counts(seen: Seen, leaf: Leaf) -> set[int]:
    """Numbers of elements that a mean may divide by: lengths of dimensions, all elements, those behind a result."""
    tensors = [v for v in (*seen.case.args, *seen.case.kwargs.values()) if isinstance(v, torch.Tensor)]
    counts = {length for tensor in tensors for length in (*tensor.shape, tensor.numel())}
    counts |= {tensor.numel() // max(1, leaf.exact.numel()) for tensor in tensors}
    return {count for count in counts if count > 1}


def _elements(seen: Seen) -> int:
    """Of the tensors that the case passes."""
    tensors = [v for v in (*seen.case.args, *seen.case.kwargs.values()) if isinstance(v, torch.Tensor)]
    return sum(tensor.numel() for tensor in tensors)


def _special(leaf: Leaf) -> Iterator[Pattern]:
    """NaN or infinity on one side only, in nearly all wrong elements."""
    if not leaf.is_floating:
        return
    got, right = torch.isfinite(leaf.wide), torch.isfinite(leaf.exact)
    enough = NEARLY_ALL * int(leaf.wrong.sum())
    if int((leaf.wrong & ~got & right).sum()) >= enough:
        kind = "NaN" if leaf.wide[leaf.wrong].isnan().all() else "NaN or infinity"
        words = f"{kind} where a finite value is expected: "
        if bool((leaf.wide == -torch.inf)[leaf.wrong].all()):
            words += "the logarithm of a sum that adds nothing up, or padding of -inf that reaches a sum without an exp"
        else:
            words += "lanes without an element, 0/0, inf-inf, or exp that overflows"
        yield Pattern(PatternName.NAN_EXPECTED_FINITE, words)
    if int((leaf.wrong & got & ~right).sum()) >= enough:
        words = "finite values where NaN or infinity is expected: it is dropped on the way (a maximum drops NaN)"
        yield Pattern(PatternName.FINITE_EXPECTED_NAN, words)


def _holds(leaf: Leaf, values: torch.Tensor) -> bool:
    """Whether nearly all wrong elements are those of `values`."""
    return values.shape == leaf.got.shape and float((leaf.got == values)[leaf.wrong].double().mean()) >= NEARLY_ALL
