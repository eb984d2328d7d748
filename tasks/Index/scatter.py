"""Index/scatter: values written to places along a dimension that an index tensor names."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Property
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
A copy of `input` into which values of `src` are written along dimension `dim`. For each multi-index i of `index`,

    y[i with i_dim replaced by index[i]] = src[i]

`input` and `src` are float32, `index` is int64; all have the same number of dimensions, one to four, and any strides.
`dim` may be negative (it counts from the end). index.size(d) <= src.size(d) in every dimension, and
index.size(d) <= input.size(d) in every one but `dim`: what of `src` and `input` lies beyond `index` is not looked at,
and not written. Values of `index` lie in 0 .. input.size(dim) - 1; `index` is not empty.
The result is a new float32 tensor of the shape of `input`; `input` itself isn't changed.

Several values may be written to the same place: then any one of them may be the result there (not their sum, and not a
mixture). Values are copied as they are, NaN and infinity included.
"""


def reference(input: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
    return torch.scatter(input, dim, index, src)


def check(arguments: dict[str, Any], returned: torch.Tensor, native: torch.Tensor) -> str | None:
    """Places that no index names hold the input; each of the others holds one of the values that were written there."""
    x, dim, index, src = (arguments[name] for name in ("input", "dim", "index", "src"))
    values = src[tuple(slice(0, size) for size in index.shape)]
    arrived = same(returned.gather(dim, index), values)
    hits = torch.zeros(x.shape, dtype=torch.int64).scatter_add(dim, index, arrived.long())
    written = torch.zeros(x.shape, dtype=torch.bool).scatter(dim, index, True)
    changed = ~written & ~same(returned, x)
    if changed.any():
        return f"{_first(changed)} isn't named by the index and must keep the input's value"
    missed = written & (hits == 0)
    if missed.any():
        at = _first(missed)
        return f"result at {at} is {returned[at].item():.9g}, which isn't one of the values written there"
    return None


def same(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    return (ours == theirs) | (ours.isnan() & theirs.isnan())


def _first(wrong: torch.Tensor) -> tuple[int, ...]:
    return tuple(wrong.nonzero()[0].tolist())


def places(draw: Draw, n: int, dim: int, *shape: int) -> torch.Tensor:
    """An index of this shape without repetition along `dim`: along it, part of a permutation of 0 .. n - 1."""
    longer = list(shape)
    longer[dim] = n
    return draw.uniform(*longer).argsort(dim).narrow(dim, 0, shape[dim]).contiguous()


def public(draw: Draw) -> Iterator[Case]:
    yield Case("rows", (draw.normal(9, 20), 0, places(draw, 9, 0, 4, 20), draw.normal(4, 20)))
    yield Case("columns", (draw.normal(5, 33), -1, places(draw, 33, 1, 5, 30), draw.normal(5, 30)))
    repeated = draw.integers(0, 6, 5, 40)
    yield Case("repeated indices", (draw.normal(5, 7), 1, repeated, draw.normal(5, 40)))


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(5, 9), draw.size(35, 130)
    n = 2 * draw.size(550, 900) + 1
    yield Case("vector, several blocks", (draw.normal(n), 0, places(draw, n, 0, n - 20), draw.normal(n - 20)))
    index = places(draw, rows, 0, rows - 2, cols - 5)
    yield Case("index smaller than all", (draw.normal(rows, cols), 0, index, draw.normal(rows + 3, cols)))
    yield Case("many repetitions", (draw.normal(rows, 9), 1, draw.integers(0, 8, rows, cols), draw.normal(rows, cols)))
    index = places(draw, 9, 1, 2, 6, 11)
    yield Case("middle dimension", (draw.normal(3, 9, 13), 1, index, draw.normal(2, 7, 12)))
    index = places(draw, rows, 2, 2, 3, rows, 5)
    yield Case("four dimensions", (draw.normal(3, 3, rows, 5), -2, index, draw.normal(2, 3, rows, 6)))
    views = draw.strided(draw.normal(rows, cols)), 1, draw.strided(places(draw, cols, 1, rows, cols - 3))
    yield Case("strided views", (*views, draw.strided(draw.normal(rows, cols))))
    views = draw.normal(cols, rows).T, 0, places(draw, rows, 1, cols, rows).T
    yield Case("transposed views", (*views, draw.normal(cols, rows).T))
    yield Case("one element", (draw.normal(1, 1), 0, torch.zeros(1, 1, dtype=torch.int64), draw.normal(1, 1)))
    special, src = draw.normal(rows, cols), draw.normal(rows, cols)
    special[0], src[1, ::3], src[2] = math.nan, math.nan, math.inf
    yield Case("NaN and infinity", (special, 1, places(draw, cols, 1, rows, cols // 2), src))


def timed(draw: Draw) -> Iterator[Case]:
    sizes = (2048, 2048)
    index = draw.integers(0, 2047, *sizes)
    yield Case("2048 x 2048, columns, repeated", (draw.normal(*sizes), 1, index, draw.normal(*sizes)))
    yield Case(
        "4000 rows of 1000", (draw.normal(4000, 1000), 0, places(draw, 4000, 0, 3000, 1000), draw.normal(3000, 1000))
    )
    index = draw.integers(0, 299, 32, 200, 250)
    yield Case("32 x 300 x 250, middle", (draw.normal(32, 300, 250), 1, index, draw.normal(32, 200, 250)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("60 x 90, columns", (draw.normal(60, 90), 1, places(draw, 90, 1, 60, 80), draw.normal(60, 80)))
    yield Case(
        "4 x 30 x 50, middle", (draw.normal(4, 30, 50), 1, places(draw, 30, 1, 4, 20, 50), draw.normal(4, 20, 50))
    )


def cost(input: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> Cost:
    """One read of the index, of what of `src` it covers and of what of `input` isn't replaced; one write of all."""
    kept = max(0, input.numel() - index.numel())
    return Cost(nbytes(index) + (index.numel() + kept + input.numel()) * input.element_size(), 0)


TASK = Task(
    id="Index/scatter",
    entry="scatter",
    signature="scatter(input, dim, index, src)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check),
    cost=cost,
)
