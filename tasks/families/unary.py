"""Cases that elementwise tasks share: shapes and views of one or two tensors, special values, sizes for timing.

A task says which values its cases hold: `values(draw, *shape)` gives one float32 (or other) tensor of that shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch

from tasks.draw import Draw
from tasks.task import Case, Cost

Values = Callable[..., torch.Tensor]

LARGE = ((2500, 4099), (4100, 5000))
SMALL = ((40, 250), (16, 1001))


def normal(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.normal(*shape)


def plain(draw: Draw, values: Values) -> Iterator[Case]:
    """Public cases of a function of one tensor."""
    yield Case("matrix", (values(draw, 7, 33),))
    yield Case("three dimensions", (values(draw, 2, 3, 19),))


def shapes(draw: Draw, values: Values) -> Iterator[Case]:
    """Hidden cases of a function of one tensor: sizes and views."""
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("several blocks", (values(draw, 2 * draw.size(550, 1000) + 1),))
    yield Case("strided view", (draw.strided(values(draw, rows, cols)),))
    yield Case("transposed view", (values(draw, cols, rows).T,))
    yield Case("one element", (values(draw, 1),))
    yield Case("no dimensions", (values(draw),))
    yield Case("empty", (values(draw, 0, cols),))


def out_given(draw: Draw, values: Values, name: str = "out", dtype: torch.dtype = torch.float32) -> Case:
    """A hidden case whose result goes into a tensor that holds something else."""
    shape = draw.size(3, 9), draw.size(35, 130)
    return Case("out given", (values(draw, *shape),), {name: draw.normal(*shape).to(dtype)})


def among(draw: Draw, values: Values, special: Sequence[float]) -> torch.Tensor:
    """A matrix of ordinary values with each of the special ones somewhere among them."""
    x = values(draw, 4, draw.size(35, 130))
    first = draw.size(0, x.numel() // 2)
    x.view(-1)[first : first + 2 * len(special) : 2] = torch.tensor(special, dtype=x.dtype)
    return x


def large(draw: Draw, values: Values, sizes: Sequence[tuple[int, ...]] = LARGE) -> Iterator[Case]:
    """Timed cases of a function of one tensor; with other sizes its stand-ins."""
    for shape in sizes:
        yield Case(" x ".join(map(str, shape)), (values(draw, *shape),))


def small(draw: Draw, values: Values) -> Iterator[Case]:
    """Stand-ins for `large`."""
    return large(draw, values, SMALL)


def pairs(draw: Draw, left: Values, right: Values) -> Iterator[Case]:
    """Hidden cases of a function of two tensors: sizes, views, and shapes that are broadcast."""
    rows, cols = draw.size(3, 9), draw.size(35, 130)
    yield Case("several blocks", tuple(v(draw, 2, 2 * (cols // 2) + 1, 11) for v in (left, right)))
    yield Case("strided and transposed", (draw.strided(left(draw, rows, cols)), right(draw, cols, rows).T))
    yield Case("other of one row", (left(draw, 2, rows, cols), right(draw, cols)))
    yield Case("input of one column", (left(draw, rows, 1), right(draw, rows, cols)))
    yield Case("both broadcast", (left(draw, 2, rows, 1), right(draw, 2, 1, 37)))
    yield Case("other without dimensions", (left(draw, rows, cols), right(draw)))
    yield Case("one element", (left(draw, 1), right(draw, 1)))
    yield Case("empty", (left(draw, 0, cols), right(draw, 0, cols)))


def pair_out_given(draw: Draw, left: Values, right: Values, dtype: torch.dtype = torch.float32) -> Case:
    """A hidden case of two tensors whose result goes into a tensor that holds something else."""
    shape = draw.size(3, 9), draw.size(35, 130)
    return Case("out given", (left(draw, *shape), right(draw, *shape)), {"out": draw.normal(*shape).to(dtype)})


def large_pairs(draw: Draw, left: Values, right: Values, sizes: Sequence[tuple[int, int]] = LARGE) -> Iterator[Case]:
    """Timed cases of a function of two tensors; with other sizes its stand-ins."""
    for rows, cols in sizes:
        yield Case(f"{rows} x {cols}", (left(draw, rows, cols), right(draw, rows, cols)))
    rows, cols = sizes[-1]
    yield Case(f"{rows} x {cols} and one row", (left(draw, rows, cols), right(draw, cols)))


def small_pairs(draw: Draw, left: Values, right: Values) -> Iterator[Case]:
    """Stand-ins for `large_pairs`."""
    return large_pairs(draw, left, right, SMALL)


def cost_of(x: torch.Tensor, operations: int, results: int = 1) -> Cost:
    """One read of `x`, one write of each of `results` tensors like it."""
    return Cost((1 + results) * x.numel() * x.element_size(), operations * x.numel())


def cost_of_pair(x: torch.Tensor, y: torch.Tensor | float, operations: int) -> Cost:
    """One read of both, one write of the broadcast result. A number costs nothing."""
    other = y if isinstance(y, torch.Tensor) else torch.empty(())
    n = (x.to("meta") + other.to("meta")).numel()
    read = x.numel() + (other.numel() if isinstance(y, torch.Tensor) else 0)
    return Cost((read + n) * x.element_size(), operations * n)


def sizes(size: torch.Tensor, **written: torch.Tensor | None) -> dict[str, torch.Tensor]:
    """The same magnitude for the result and for what it was written to (None: nothing), by parameter name."""
    return {"result": size} | {f"{name} after the call": size for name, t in written.items() if t is not None}
