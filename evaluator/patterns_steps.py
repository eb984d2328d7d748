"""What a mistake makes of one step of a formula: for each operation of torch the results that a wrong one gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from evaluator.patterns_calls import PRODUCTS, REDUCTIONS, Call, Change, lines_of, reduced_length
from evaluator.patterns_leaf import PatternName as P

GRIDS = (7, 15, 127, 255)  # the largest values of integer types
HALVES = {torch.float16: "float16", torch.bfloat16: "bfloat16"}
POINTWISE = ("exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "reciprocal", "pow", "square", "abs")
ROUGH = ("sign", "floor", "ceil", "trunc", "dropout", "tanh", "erf", "sin", "cos")
ACTIVATIONS = ("relu", "sigmoid", "gelu", "silu", "softplus", "leaky_relu", "elu", "mish", "logsigmoid", "hardtanh")
WHOLE = ("softmax", "log_softmax", "normalize", "cumsum", "batch_norm", "layer_norm", "group_norm", "rms_norm")
UNARY = frozenset({*POINTWISE, *ROUGH, *ACTIVATIONS, "hardsigmoid", "hardswish", *WHOLE, "instance_norm"})


def changes(call: Call) -> Iterator[Change]:
    """The mistakes that this step may have, as far as values can tell; none for what has no arithmetic."""
    find = BY_NAME.get(call.name)
    if find is not None:
        yield from find(call)
    if call.name in UNARY:
        yield Change(P.STAGE_LEFT_OUT, f"`{call.name}` left out", lambda c: c.args[0])


def coarser(call: Call) -> Iterator[Change]:
    """The step's result in half precision."""
    for dtype, named in HALVES.items():

        def rounded(c: Call, dtype: torch.dtype = dtype) -> Any:
            value = c.right()
            real = isinstance(value, torch.Tensor) and value.is_floating_point()
            return value.to(dtype).to(value.dtype) if real else value

        yield Change(P.LOW_PRECISION, f"a step's result rounded to {named}", rounded)


def _like(call: Call, value: Any) -> Any:
    """`value` with the shape and the dtype of the right result."""
    right = call.right()
    return torch.as_tensor(value).to(right.dtype).expand(right.shape).clone()


def _scaled(call: Call) -> tuple[Any, Any, Any]:
    """The operands of a sum or difference, and what the second one is scaled by."""
    return (*call.operands, call.options.get("alpha", 1))


def _difference(call: Call) -> Iterator[Change]:
    def mistaken(a: Any, b: Any, by: Any) -> Any:
        return a + by * b

    yield Change(P.SIGN, "a + where a - is meant", lambda c: mistaken(*_scaled(c)))
    yield Change(P.SIGN, "the two sides of a - swapped", lambda c: -c.right())
    yield Change(P.TERM_LEFT_OUT, "a subtraction left out", lambda c: _like(c, c.operands[0]))


def _sum(call: Call) -> Iterator[Change]:
    yield Change(P.SIGN, "a - where a + is meant", lambda c: 2 * c.operands[0] - c.right())
    yield Change(P.SIGN, "the opposite sign in one term of a sum", lambda c: c.right() - 2 * _like(c, c.operands[0]))
    yield Change(P.TERM_LEFT_OUT, "a term of a sum left out", lambda c: _like(c, c.operands[0]))
    yield Change(P.TERM_LEFT_OUT, "a term of a sum left out", lambda c: c.right() - _like(c, c.operands[0]))
    if call.options.get("alpha", 1) != 1:
        yield Change(P.FACTOR_LEFT_OUT, "a factor of one term left out", lambda c: c.operands[0] + c.operands[1])


def _product(call: Call) -> Iterator[Change]:
    for kept in (0, 1):
        other = call.args[1 - kept]
        what = "a factor left out" if isinstance(other, torch.Tensor) else "a constant factor left out"
        if isinstance(call.args[kept], torch.Tensor):
            yield Change(P.FACTOR_LEFT_OUT, what, lambda c, kept=kept: _like(c, c.args[kept]))  # type: ignore[misc]


def _quotient(call: Call) -> Iterator[Change]:
    yield Change(P.DIVISOR_LEFT_OUT, "a division left out", lambda c: _like(c, c.operands[0]))
    if not isinstance(call.operands[1], torch.Tensor) and call.operands[1] in GRIDS:
        words = "a grid that is one step too wide: its largest value doesn't fit the integer type and wraps around"
        yield Change(P.CLAMP, words, lambda c: c.operands[0] / (c.operands[1] + 1))
    words = "a product where a division is meant"
    yield Change(P.DIVISOR_LEFT_OUT, words, lambda c: c.operands[0] * c.operands[1])


def _fused(call: Call) -> Iterator[Change]:
    """addcmul and addcdiv: a + value * b * c and a + value * b / c."""

    def part(c: Call, value: Any = None, second: bool = True) -> Any:
        a, b, d = c.args[:3]
        by = c.options.get("value", 1) if value is None else value
        return a + by * (b if not second else b * d if c.name == "addcmul" else b / d)

    yield Change(P.SIGN, "the opposite sign in one term", lambda c: part(c, -c.options.get("value", 1)))
    yield Change(P.FACTOR_LEFT_OUT, "the factor of one term left out", lambda c: part(c, 1))
    label = P.FACTOR_LEFT_OUT if call.name == "addcmul" else P.DIVISOR_LEFT_OUT
    words = "a factor left out" if call.name == "addcmul" else "a division left out"
    yield Change(label, words, lambda c: part(c, second=False))
    yield Change(P.TERM_LEFT_OUT, "a term of a sum left out", lambda c: c.args[0].clone())


def _negation(call: Call) -> Iterator[Change]:
    yield Change(P.SIGN, "a minus sign left out", lambda c: c.args[0])


def _base(call: Call) -> Iterator[Change]:
    words = f"base 2 in `{call.name}`, where base e is meant"
    yield Change(P.WRONG_BASE, words, lambda c: (torch.exp2 if c.name == "exp" else torch.log2)(c.args[0]))


def _integers(call: Call) -> Iterator[Change]:
    """A product of whole numbers whose sums don't fit."""

    def wrapped(c: Call) -> Any:
        value = c.right()
        return torch.remainder(value + 2**15, 2**16) - 2**15

    if all(bool((value == value.round()).all()) for value in call.args[:2]):
        yield Change(P.LOW_PRECISION, "an integer sum that wraps around in 16 bits: accumulate in int32", wrapped)


def _mean(call: Call) -> Iterator[Change]:
    words = "the division of a mean left out: a sum in its place"
    yield Change(P.DIVISOR_LEFT_OUT, words, lambda c: c.right() * reduced_length(c))

    words = "a mean divided by n - 1"
    yield Change(P.DIVISOR_LEFT_OUT, words, lambda c: c.right() * (reduced_length(c) / max(1, reduced_length(c) - 1)))

    def padded(c: Call) -> Any:
        length = reduced_length(c)
        return c.right() * (length / (1 << max(0, length - 1).bit_length()))

    yield Change(P.PADDED_LANES, "a mean divided by the padded length, not by the number of elements", padded)


def _variance(call: Call) -> Iterator[Change]:
    def about(c: Call, times: float, extra: float = 0.0) -> Any:
        """The mean square of x - times * mean, with `extra` padded lanes of 0 for each element."""
        lines = lines_of(c)
        mean = lines.mean(-1, keepdim=True)
        value = (lines - times * mean).square().mean(-1) + extra * mean.squeeze(-1).square()
        return value.reshape(c.right().shape)

    def lanes(c: Call) -> float:
        length = max(1, reduced_length(c))
        return (1 << (length - 1).bit_length()) / length - 1

    def other_count(c: Call) -> Any:
        length, given = reduced_length(c), c.options.get("correction", 1)
        return c.right() * (max(1, length - given) / max(1, length - (1 - given)))

    yield Change(P.SIGN, "a + where a - is meant in a variance", lambda c: about(c, -1.0))
    yield Change(P.TERM_LEFT_OUT, "a variance about 0: the mean is not subtracted", lambda c: about(c, 0.0))
    words = "padded lanes counted in a variance: 0 - mean is not 0, so tl.where them out after the subtraction"
    yield Change(P.PADDED_LANES, words, lambda c: about(c, 1.0, lanes(c)))
    yield Change(P.DIVISOR_LEFT_OUT, "the division of a variance left out", lambda c: c.right() * reduced_length(c))
    yield Change(P.DIVISOR_LEFT_OUT, "a variance divided by n - 1 in place of n, or the reverse", other_count)


def _extreme(call: Call) -> Iterator[Change]:
    def over_all(c: Call) -> Any:
        return torch.full_like(c.right(), getattr(c.args[0], c.name)().item())

    words = "one scale for a whole tensor, where the task wants one for each row or column"
    yield Change(P.SCALE_PER_TENSOR, words, over_all)


def _rounded(call: Call) -> Iterator[Change]:
    for named, round_ in ROUNDINGS.items():
        yield Change(P.ROUNDING, f"rounding {named}: the task says how to round", lambda c, r=round_: r(c.args[0]))  # type: ignore[misc]
    words = "no rounding: round to the grid, as the task says"
    yield Change(P.NOT_QUANTISED, words, lambda c: c.args[0])


def _clamped(call: Call) -> Iterator[Change]:
    words = "the clamp left out: values beyond the range must be cut off ahead of the cast"
    yield Change(P.CLAMP, words, lambda c: c.args[0])


ROUNDINGS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "toward zero": lambda x: x.trunc(),
    "half away from zero": lambda x: torch.copysign((x.abs() + 0.5).floor(), x),
    "half up": lambda x: (x + 0.5).floor(),
    "down": lambda x: x.floor(),
    "up": lambda x: x.ceil(),
}
BY_NAME: dict[str, Callable[[Call], Iterator[Change]]] = {
    **dict.fromkeys(("sub", "subtract", "rsub"), _difference),
    **dict.fromkeys(("add",), _sum),
    **dict.fromkeys(("mul", "multiply"), _product),
    **dict.fromkeys(("div", "divide", "truediv", "rdiv", "rtruediv"), _quotient),
    **dict.fromkeys(("addcmul", "addcdiv"), _fused),
    **dict.fromkeys(("neg", "negative"), _negation),
    **dict.fromkeys(("round", "rint"), _rounded),
    **dict.fromkeys(("clamp", "clip"), _clamped),
    **dict.fromkeys(("amax", "amin"), _extreme),
    **dict.fromkeys(("exp", "log"), _base),
    **dict.fromkeys(PRODUCTS, _integers),
    "mean": _mean,
    "var": _variance,
}
STEPS = frozenset({*BY_NAME, *UNARY, *REDUCTIONS, *PRODUCTS})
