"""Fusion/fused_embedding_add_tanh: rows of a table, something added to them, and the tanh of the sums."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Rows of the table `weight` (float32, V rows of D values) picked by `input_indices`, `other` added, and tanh of the sums:

    y[..., :] = tanh(row(input_indices[...]) + other[..., :])

`input_indices` is int64 of any shape (at least one dimension), with values in 0..V-1, repeats included; `other` is
float32 and is broadcast to the shape of `input_indices` followed by D, which is the result's. All have any strides; the
result is float32.
row(i) is weight[i] where `max_norm` is None. Otherwise, with |v| = (sum_k |v[k]| ** norm_type) ** (1 / norm_type),

    row(i) = weight[i] * max_norm / (|weight[i]| + 1e-7) where |weight[i]| > max_norm, and weight[i] elsewhere

(norm_type is a number of at least 1). The table itself is left as it is. `padding_idx`, `scale_grad_by_freq` and
`sparse` concern gradients and have no effect here.
`out`, when given, is a contiguous float32 tensor of the result's shape: the result is written into it, and `out` itself
is returned.
Everything is float32; tanh may be computed by way of exponentials as long as nothing overflows (absolute errors of a
few units of 2**-24 are allowed). NaN gives NaN, +inf gives 1, -inf gives -1.
"""


def reference(
    input_indices: torch.Tensor,
    weight: torch.Tensor,
    other: torch.Tensor,
    *,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    rows = weight[input_indices]
    if max_norm is not None:
        norms = torch.linalg.vector_norm(rows, norm_type, dim=-1, keepdim=True)
        rows = rows * torch.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
    result = torch.tanh(rows + other)
    return result if out is None else out.copy_(result)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("vector of indices", (draw.integers(0, 9, 7), draw.normal(10, 33), draw.normal(7, 33)))
    yield Case("matrix of indices, one row added", (draw.integers(0, 20, 3, 5), draw.normal(21, 19), draw.normal(19)))
    limited = (draw.integers(0, 9, 8), draw.normal(10, 40), draw.normal(8, 40))
    yield Case("limited norm", limited, {"max_norm": 5.0})


def hidden(draw: Draw) -> Iterator[Case]:
    table, size, count = draw.size(11, 30), draw.size(20, 70), draw.size(9, 30)

    def indices(*shape: int) -> torch.Tensor:
        return draw.integers(0, table - 1, *shape)

    weight = draw.normal(table, size, std=0.7)
    yield Case("three dimensions of indices", (indices(2, 3, 4), weight, draw.normal(2, 3, 4, size)))
    yield Case("one column added", (indices(count), weight, draw.normal(count, 1)))
    yield Case("other broadcast over batches", (indices(3, count), weight, draw.normal(count, size)))
    long = draw.size(1030, 1200)
    yield Case(
        "rows longer than a block", (indices(2), draw.normal(table, long), draw.normal(2, long)), {"max_norm": 30.0}
    )
    scales = draw.uniform(table, 1, low=0.2, high=3.0)
    some = (indices(count), weight * scales, draw.normal(count, size))
    yield Case("some norms above the limit", some, {"max_norm": 0.8 * math.sqrt(size), "norm_type": 2.0})
    for kind in (1.0, 3.0):
        other_norm = (indices(count), weight.clone(), draw.normal(count, size))
        yield Case(
            f"norm of type {kind:g}",
            other_norm,
            {"max_norm": draw.uniform(low=1.0, high=1.5).item(), "norm_type": kind},
        )
    yield Case("one element", (indices(1), draw.normal(table, 1), draw.normal(1, 1)))
    views = (draw.strided(indices(count)), draw.normal(size, table).T, draw.strided(draw.normal(count, size)))
    yield Case("strided and transposed views", views)
    limited = (indices(count), draw.normal(size, table).T, draw.normal(size))
    yield Case("transposed table, limited norm", limited, {"max_norm": 2.0})
    yield Case(
        "out given", (indices(count), weight.clone(), draw.normal(count, size)), {"out": draw.normal(count, size)}
    )
    yield Case("saturated sums", (indices(count), 40 * weight, draw.normal(count, size, std=30.0)))
    special = draw.normal(count, size)
    special[0, :3] = torch.tensor([math.nan, math.inf, -math.inf])
    yield Case("NaN and infinity", (indices(count), weight.clone(), special))


def timed(draw: Draw) -> Iterator[Case]:
    for table, size, shape in ((30000, 500, (16, 1000)), (1000, 1024, (8, 2048)), (50000, 64, (128, 1000))):
        case = (draw.integers(0, table - 1, *shape), draw.normal(table, size, std=0.5), draw.normal(*shape, size))
        yield Case(f"{shape} of {table} rows of {size}", case)


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case(
        "(5, 20) of 200 rows of 90", (draw.integers(0, 199, 5, 20), draw.normal(200, 90), draw.normal(5, 20, 90))
    )
    limited = (draw.integers(0, 49, 40), draw.normal(50, 130), draw.normal(130))
    yield Case("40 of 50 rows of 130, limited", limited, {"max_norm": 5.0})


def slack(weight: torch.Tensor, max_norm: float | None, **_: Any) -> float:
    return 4.0 if max_norm is None else 4.0 + math.sqrt(weight.shape[1])


def magnitude(
    input_indices: torch.Tensor,
    weight: torch.Tensor,
    other: torch.Tensor,
    max_norm: float | None,
    norm_type: float,
    **_: Any,
) -> torch.Tensor:
    """1 for the absolute error of tanh, and what an error of the sum makes of it."""
    y = reference(input_indices, weight.double(), other.double(), max_norm=max_norm, norm_type=norm_type)
    terms = weight.double()[input_indices].abs() + other.double().abs()
    return 1 + (1 - y * y) * terms.nan_to_num(0.0, 0.0, 0.0)


def cost(
    input_indices: torch.Tensor,
    weight: torch.Tensor,
    other: torch.Tensor,
    *,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
    out: torch.Tensor | None = None,
) -> Cost:
    """No more rows are read than are picked; what is picked twice is read once."""
    results = input_indices.numel() * weight.shape[1]
    read = len(set(input_indices.flatten().tolist())) * weight.shape[1] * weight.element_size()
    return Cost(read + nbytes(input_indices, other) + results * weight.element_size(), 8 * results)


TASK = Task(
    id="Fusion/fused_embedding_add_tanh",
    entry="fused_embedding_add_tanh",
    aliases=("embedding_add_tanh",),
    signature=(
        "fused_embedding_add_tanh(input_indices, weight, other, *, padding_idx=None, max_norm=None, norm_type=2.0, "
        "scale_grad_by_freq=False, sparse=False, out=None)"
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
)
