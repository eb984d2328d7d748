"""Patterns of reductions: padded lanes that count, tiles left out, extremes from 0, exp without its maximum."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from evaluator.patterns_leaf import Pattern, PatternName
from evaluator.patterns_recomputed import Bench, cut_to, floating

MOST_PADDED = 20_000  # elements of a padded input
TILES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
PADDED = (
    "padded lanes take part in a reduction: load them with the neutral value (0 for a sum, -inf for a maximum or "
    "before exp), or tl.where them out after any computation"
)
FROM_ZERO = "a 0 takes part in a maximum or minimum: start from -inf or inf, and pad with it"
LEFT_OUT = "the last, partial tile of a reduced dimension is left out: the loop must run to cdiv(n, BLOCK)"
OVERWRITTEN = "only the last tile of a reduced dimension counts: the running sum is overwritten (= where += is meant)"
STARTS_LATE = "the first element of a reduced dimension is left out: indices must start at 0"
NO_MAXIMUM = "exp overflows, or everything underflows: subtract the maximum of the slice before exp"


def reductions(bench: Bench) -> Iterator[Pattern]:
    """All that the reference on inputs with more or fewer elements, or with a plain exp, reproduces."""
    if _without_maximum(bench):
        yield Pattern(PatternName.OVERFLOW, NO_MAXIMUM)
    if _counts_zeros(bench):
        yield Pattern(PatternName.PADDED_LANES, FROM_ZERO)
    if _pads(bench):
        yield Pattern(PatternName.PADDED_LANES, PADDED)
    if _starts_late(bench):
        yield Pattern(PatternName.SHIFTED, STARTS_LATE)
    if _leaves_out(bench):
        yield Pattern(PatternName.TILE_LEFT_OUT, LEFT_OUT)
    if _keeps_the_last(bench):
        yield Pattern(PatternName.TILE_LEFT_OUT, OVERWRITTEN)


def _without_maximum(bench: Bench) -> bool:
    values = bench.again({}, under=PlainExp, exact=False)
    return values is not None and bench.matches(values, likely=True)


def _counts_zeros(bench: Bench) -> bool:
    for name, value in floating(bench.tensors()):
        if value.is_complex():
            continue
        for clamped in (value.clamp(min=0), value.clamp(max=0)):
            values = bench.again({name: clamped}, exact=False)
            if values is not None and bench.leaf.equal_to(values):
                return True
    return False


def _pads(bench: Bench) -> bool:
    """Lanes of 0, of poison, or of what lies behind in memory, after each line of one dimension."""
    for name, value in floating(bench.tensors()):
        for dim in range(value.dim()):
            length = value.shape[dim]
            for padded in _padded_lengths(length, value.numel()):
                for filling in (0.0, math.nan, None):
                    values = bench.again({name: _lengthened(value, dim, padded, filling)})
                    if values is None:
                        continue
                    values = cut_to(values, bench.leaf.exact.shape)
                    # a sum over all lanes that is divided by the right number, or the reverse
                    if any(bench.matches(values * by) for by in (1.0, padded / length, length / padded)):
                        return True
        if value.dim() > 1 and _pads_flat(bench, name, value):
            return True
    return False


def _pads_flat(bench: Bench, name: str, value: torch.Tensor) -> bool:
    length = value.numel()
    for padded in _padded_lengths(length, length):
        values = bench.again({name: _lengthened(value.flatten(), 0, padded, 0.0)})
        if values is not None and any(bench.matches(values * by) for by in (1.0, padded / length)):
            return True
    return False


def _leaves_out(bench: Bench) -> bool:
    """A part of one dimension neutral: 0 for a sum, -inf for a maximum or an exponential."""
    for name, value in floating(bench.tensors()):
        neutrals = (0.0,) if value.is_complex() else (0.0, -math.inf)
        for view, dim in _merged(value):
            length = view.shape[dim]
            for kept in sorted({length // tile * tile for tile in TILES} - {length}):
                for neutral in neutrals:
                    short = view.clone()
                    short.narrow(dim, kept, length - kept).fill_(neutral)
                    if bench.explains({name: short.reshape(value.shape)}):
                        return True
    return False


def _keeps_the_last(bench: Bench) -> bool:
    """All of one dimension 0 but its last tile."""
    for name, value in floating(bench.tensors()):
        for view, dim in _merged(value):
            length = view.shape[dim]
            for first in sorted({(length - 1) // tile * tile for tile in TILES} - {0}):
                short = view.clone()
                short.narrow(dim, 0, first).fill_(0.0)
                if bench.explains({name: short.reshape(value.shape)}):
                    return True
    return False


def _starts_late(bench: Bench) -> bool:
    """The first element of one dimension neutral."""
    for name, value in floating(bench.tensors()):
        for view, dim in _merged(value):
            for neutral in (0.0,) if value.is_complex() else (0.0, -math.inf):
                short = view.clone()
                short.narrow(dim, 0, min(1, view.shape[dim])).fill_(neutral)
                if bench.explains({name: short.reshape(value.shape)}):
                    return True
    return False


def _merged(value: torch.Tensor) -> Iterator[tuple[torch.Tensor, int]]:
    """Views of `value` with the dimension that a kernel may loop over: each one, and all from one on taken together."""
    yield from ((value, dim) for dim in range(value.dim()))
    yield from ((value.flatten(dim), dim) for dim in range(value.dim() - 1))


def _padded_lengths(length: int, numel: int) -> list[int]:
    """What a length of a tensor of `numel` elements may be padded to: the next power of two, and whole tiles."""
    power = 1 << max(0, length - 1).bit_length()
    whole = {-(-length // tile) * tile for tile in TILES if tile <= 16 * length}
    most = length * MOST_PADDED // max(1, numel)
    return [padded for padded in sorted((whole | {power}) - {length}) if padded <= most]


def _lengthened(value: torch.Tensor, dim: int, length: int, filling: float | None) -> torch.Tensor:
    """`value` with `length` elements along `dim`: after its own comes `filling`, or what lies behind them in memory."""
    shape = list(value.shape)
    own, shape[dim] = shape[dim], length
    longer = value.new_full(shape, filling or 0.0)
    longer.narrow(dim, 0, own).copy_(value)
    if filling is None and value.is_contiguous():
        memory = value.flatten()
        places = torch.zeros(shape, dtype=torch.int64)
        for i, n in enumerate(shape):
            places += (torch.arange(n) * value.stride(i)).reshape([-1 if i == k else 1 for k in range(len(shape))])
        inside = places < memory.numel()
        longer = torch.where(inside, memory[places.clamp_max(memory.numel() - 1)], torch.nan)
    return longer


class PlainExp(TorchFunctionMode):
    """Softmax and its relatives from exp(x) itself, without the maximum."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name not in ("softmax", "log_softmax", "logsumexp", "cross_entropy"):
            return func(*args, **options)
        values, *rest = args or (options.pop("input"),)
        if name == "cross_entropy":
            options.pop("label_smoothing", None)
            return torch.nn.functional.nll_loss(values - values.exp().sum(1, keepdim=True).log(), *rest, **options)
        dim = rest[0] if rest else options["dim"]
        if name == "logsumexp":
            return values.exp().sum(*rest, **options).log()
        values = values.to(options.get("dtype") or values.dtype)
        total = values.exp().sum(dim, keepdim=True)
        return values.exp() / total if name == "softmax" else values - total.log()
