"""What names a mistake: the patterns, hints and reason codes that say of each kind of fault what it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from evaluator.patterns import PatternName as P
from evaluator.records import Evaluation
from tasks.faults.fault import VALUES, Fault
from tasks.outcomes import Reason, Status

OUTSIDE = frozenset({P.OUT_OF_BOUNDS_WRITE, P.OUT_OF_BOUNDS_READ})
MISSING = frozenset({P.LAST_TILE, P.NEVER_WRITTEN, P.TILE_LEFT_OUT})
FACTOR = frozenset({P.CONSTANT_FACTOR, P.SLICE_FACTOR, P.FACTOR_LEFT_OUT})
DIVISOR = frozenset({P.CONSTANT_FACTOR, P.SLICE_FACTOR, P.DIVISOR_LEFT_OUT})
IGNORED = frozenset({P.IGNORED_ARGUMENT})

LABELS: Mapping[str, frozenset[str]] = {
    "unmasked_store": frozenset({P.OUT_OF_BOUNDS_WRITE}),
    "unmasked_load": frozenset({P.PADDED_LANES, P.OUT_OF_BOUNDS_READ}),
    "swapped_strides": frozenset({P.STRIDES, P.TRANSPOSED}) | OUTSIDE,
    # where the dropped stride is an argument of the task, the argument is named
    "dropped_stride": frozenset({P.STRIDES, P.REPEATED, P.IGNORED_ARGUMENT}) | OUTSIDE,
    "shifted_index": frozenset({P.SHIFTED}) | OUTSIDE,
    "loose_bound": OUTSIDE,
    "floored_grid": MISSING,
    "short_grid": MISSING,
    "cut_loop": frozenset({P.LAST_TILE, P.TILE_LEFT_OUT}),
    "integer_grid": frozenset({"grid"}),
    "zero_padding": frozenset({P.PADDED_LANES}),
    "zero_start": frozenset({P.PADDED_LANES}),
    "no_max_subtraction": frozenset({P.OVERFLOW}),
    "wrong_axis": frozenset({P.WRONG_AXIS, "axis", "lacking_axis"}),
    "last_dimension": frozenset({P.WRONG_AXIS, P.STRIDES, str(Reason.SHAPE)}),
    "low_precision": frozenset({P.LOW_PRECISION}),
    # exp(x + max) / sum is the same softmax until it overflows
    "wrong_sign": frozenset({P.SIGN, P.OVERFLOW}),
    "dropped_factor": FACTOR,
    "dropped_divisor": DIVISOR,
    "wrong_count": DIVISOR,
    "biased_variance": DIVISOR,
    "mean_not_subtracted": frozenset({P.CONSTANT_OFFSET, P.TERM_LEFT_OUT}) | IGNORED,
    "no_rescaling": frozenset({P.NOT_RESCALED}),
    "overwritten_accumulator": frozenset({P.TILE_LEFT_OUT}),
    "narrow_accumulator": frozenset({P.LOW_PRECISION}),
    "wrong_base": frozenset({P.WRONG_BASE}),
    "dropped_clamp": OUTSIDE | {P.PADDED_LANES, P.CLAMP},
    "truncated_rounding": frozenset({P.ROUNDING}),
    "half_away_rounding": frozenset({P.ROUNDING}),
    "shared_scale": frozenset({P.SCALE_PER_TENSOR}),
    "dropped_scale": FACTOR,
    "wrapped_range": frozenset({P.CLAMP}),
    "not_quantised": frozenset({P.NOT_QUANTISED}),
    "skipped_launch": frozenset({P.NEVER_WRITTEN}),
    "swapped_launches": frozenset({P.NEVER_WRITTEN}),
    # (sum + s) * exp(old - new) begins with exp(-inf) = 0: only the last tile counts
    "swapped_stages": frozenset({P.SWAPPED_STAGES, P.TILE_LEFT_OUT}),
    "ignored_argument": IGNORED | {str(Reason.SHAPE)},
    "ignored_option": IGNORED,
    "dropped_addend": IGNORED | {P.TERM_LEFT_OUT},
    "dropped_epsilon": IGNORED | {P.TERM_LEFT_OUT},
    "dropped_function": frozenset({P.STAGE_LEFT_OUT}),
    "missing_function": frozenset({"missing_function"}),
    "block_not_power_of_two": frozenset({"power_of_two"}),
    "oversized_block": frozenset({"block_size"}),
    "missing_constexpr": frozenset({"constexpr"}),
    "small_dot_tile": frozenset({"dot_tile"}),
    "shared_memory_over_limit": frozenset({"shared_memory"}),
    "undefined_name": frozenset({"undefined_name"}),
}
"""What the diagnosis must name first for a fault to count as named: a pattern of wrong values, or a hint for an error.
An empty set: no pattern says it. The reason codes that a fault declares name it, too, but for those that are UNSAID
and for a wrong shape, which many mistakes lead to."""

HINTS: Mapping[str, str] = {
    "missing_function": r"triton\.language has no ",
    "undefined_name": r"defines no |has no value here|reads only globals",
    "constexpr": r"must be known to the compiler|is known at run time only",
    "power_of_two": r"power of two",
    "block_size": r"a block holds at most",
    "dot_tile": r"the inner dimension of tl\.dot must be",
    "shared_memory": r"bytes of shared memory",
    "grid": r"the grid is a tuple of integers",
    "axis": r"the axis of tl\.",
    "pointer": r"is no pointer|not a pointer|the pointer is one address",
    "lacking_axis": r"along the axis that these lack",
    "loop_type": r"changes its type in the loop",
    "shapes": r"make the shapes agree",
}
"""The hints that say what an error is, by words of theirs that no other hint has."""

UNSAID = VALUES | {Reason.EXCEPTION, Reason.COMPILATION, Reason.DIED}
"""Reason codes that say where a kernel failed, and not at what."""


def label_of(verdict: Evaluation) -> str | None:
    """What the diagnosis names first: why a kernel was rejected, else a pattern, else a known hint, else the reason
    code where that says something."""
    if verdict.reason is None or verdict.status is Status.REJECTED:
        return verdict.reason and str(verdict.reason)
    if verdict.patterns:
        return verdict.patterns[0]
    hint = next((line for line in verdict.diagnosis.splitlines() if line.startswith("hint: ")), "")
    named = next((name for name, words in HINTS.items() if re.search(words, hint)), None)
    return named or (None if verdict.reason in UNSAID else str(verdict.reason))


def names_of(fault: Fault) -> frozenset[str]:
    """The labels that are right for `fault`."""
    return LABELS.get(fault.name, frozenset()) | {str(reason) for reason in fault.reasons - UNSAID - {Reason.SHAPE}}
