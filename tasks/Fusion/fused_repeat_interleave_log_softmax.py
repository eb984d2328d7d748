"""Fusion/fused_repeat_interleave_log_softmax: elements repeated along a dimension, and the log-softmax along it."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Elements repeated along a dimension, and the log-softmax of the result along the same dimension:

    z = repeat_interleave(input, repeats, dim)      (x0 repeated r0 times, then x1 repeated r1 times, ...)
    y[j] = z[j] - log(sum_k exp(z[k]))

`input` is float32 with at least one dimension and any strides. `dim` is an int (negative values count from the end), or
None: then the input is flattened first (row-major), and the result has one dimension. `repeats` is an int of at least
1, the number of copies of each element, or a one-dimensional int64 tensor of the size of the input along `dim`, with
the number of copies of each slice: 0 or more, not all 0. Elements repeated 0 times play no part at all.
`output_size`, when given, is the size of the result along that dimension. It need not be read: it only saves summing
the repeats, and reading their sum back to the host with `.item()` is allowed.
With `dtype` (float32 or float64) the input is converted to it first, and arithmetic and result have that dtype;
otherwise both are float32.
`out`, when given, is a contiguous tensor of the result's shape and dtype: the result is written into it, and `out`
itself is returned.
Large values must not overflow (subtract the maximum). A slice with a NaN or +inf, or of nothing but -inf, gives NaN
throughout; -inf beside finite values gives -inf.
"""

Repeats = int | torch.Tensor


def reference(
    input: torch.Tensor,
    repeats: Repeats,
    dim: int | None = None,
    *,
    output_size: int | None = None,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    repeated = torch.repeat_interleave(input, repeats, dim, output_size=output_size)
    result = torch.log_softmax(repeated, 0 if dim is None else dim, dtype=dtype)
    return result if out is None else out.copy_(result)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("an int, last dimension", (draw.normal(5, 33), 3, 1))
    yield Case("a tensor, first dimension", (draw.normal(9, 7), draw.integers(1, 3, 9), 0))
    yield Case("flattened, float64", (draw.normal(3, 20), 2), {"dtype": torch.float64})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(2, 9), draw.size(35, 90)

    def counts(size: int, high: int = 4) -> torch.Tensor:
        repeats = draw.integers(0, high, size)
        repeats[draw.size(0, size - 1)] = 2
        return repeats

    yield Case("large values", (draw.normal(rows, cols, mean=300.0, std=40.0), counts(cols), -1))
    yield Case("an int, middle dimension", (draw.normal(3, draw.size(5, 20), 4), draw.size(2, 5), 1))
    yield Case("a tensor, middle dimension", (draw.normal(3, cols, draw.size(2, 7)), counts(cols), -2))
    yield Case("flattened, a tensor", (draw.normal(3, cols), counts(3 * cols)))
    yield Case("one element, many copies", (draw.normal(rows, 1), draw.size(20, 60), 1))
    # of each row the largest element is repeated 0 times
    peak = draw.normal(rows, cols)
    peak[:, cols // 2] = 50.0
    skipped = counts(cols)
    skipped[cols // 2], skipped[0] = 0, 1
    yield Case("the largest is left out", (peak, skipped, 1))
    long = draw.size(1030, 1100)
    yield Case("more than one block", (draw.normal(2, long), counts(long, 3), 1))
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)), draw.strided(counts(cols)), 1))
    yield Case("transposed view, flattened", (draw.normal(cols, rows).T, 3))
    yield Case("float64", (draw.normal(rows, cols), counts(cols), 1), {"dtype": torch.float64})
    yield Case("out given", (draw.normal(rows, cols), 2, 0), {"out": draw.normal(2 * rows, cols)})
    special = draw.normal(4, cols)
    special[0, 0] = math.nan
    special[1, 0] = math.inf
    special[2] = -math.inf
    special[3, : cols // 2] = -math.inf
    special[3, 1] = math.nan
    some = counts(cols)
    some[:3] = torch.tensor([1, 0, 1])
    some[-1] = 3
    yield Case("NaN and infinity", (special, some, 1))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("4096 x 1000, 4 copies, last", (draw.normal(4096, 1000), 4, -1))
    yield Case("2000 x 3000, a tensor, last", (draw.normal(2000, 3000), draw.integers(0, 6, 3000), -1))
    yield Case("500 x 8192, 3 copies, first", (draw.normal(500, 8192), 3, 0))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("24 x 200, 3 copies", (draw.normal(24, 200), 3, 1))
    yield Case("40 x 70, a tensor, first", (draw.normal(40, 70), draw.integers(1, 4, 40), 0))


def magnitude(
    input: torch.Tensor,
    repeats: Repeats,
    dim: int | None,
    output_size: int | None,
    dtype: torch.dtype | None,
    out: torch.Tensor | None,
) -> torch.Tensor:
    """|z|, the logarithm of the sum, and 1 for the logarithm's argument."""
    z = torch.repeat_interleave(input.double(), repeats, dim)
    return 1 + z.abs() + z.logsumexp(0 if dim is None else dim, keepdim=True).abs()


def slack(input: torch.Tensor, dim: int | None, repeats: Repeats, **_: object) -> float:
    copies = float(repeats.double().mean()) if isinstance(repeats, torch.Tensor) else repeats
    return 4 * math.sqrt(max(1.0, (input.numel() if dim is None else input.shape[dim]) * copies))


def cost(
    input: torch.Tensor,
    repeats: Repeats,
    dim: int | None = None,
    *,
    output_size: int | None = None,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> Cost:
    size = input.numel() if dim is None else input.shape[dim]
    copies = int(repeats.sum()) if isinstance(repeats, torch.Tensor) else repeats * size
    written = input.numel() // size * copies * (dtype or input.dtype).itemsize
    read = nbytes(input) + (nbytes(repeats) if isinstance(repeats, torch.Tensor) else 0)
    return Cost(read + written, 4 * input.numel())


TASK = Task(
    id="Fusion/fused_repeat_interleave_log_softmax",
    entry="fused_repeat_interleave_log_softmax",
    aliases=("repeat_interleave_log_softmax",),
    signature=(
        "fused_repeat_interleave_log_softmax(input, repeats, dim=None, *, output_size=None, dtype=None, out=None)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
    writes_to="out",
    allow=frozenset({"_local_scalar_dense"}),
)
