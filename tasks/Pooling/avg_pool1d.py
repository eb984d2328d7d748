"""Pooling/avg_pool1d: means of windows along the last dimension."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
One-dimensional average pooling of `input`, float32 of shape (N, C, L) or (C, L), any strides:

    y[..., i] = (1 / kernel_size) * sum_{k = 0 .. kernel_size - 1} input[..., i * stride + k - padding]

An element outside 0..L-1 counts as 0, and the divisor is `kernel_size` all the same: padding counts. All three
parameters are integers; `stride` None means `kernel_size`, and `padding` is at most half of `kernel_size`. The
result is float32, of the input's shape but for its last dimension, which has

    (L + 2 * padding - kernel_size) // stride + 1

elements. Sums are float32. A NaN or an infinity reaches the windows that hold it, and no others.
"""


def reference(input: torch.Tensor, kernel_size: int, stride: int | None = None, padding: int = 0) -> torch.Tensor:
    return torch.nn.functional.avg_pool1d(input, kernel_size, kernel_size if stride is None else stride, padding)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("default stride", (draw.normal(2, 3, 37), 3))
    yield Case("stride and padding", (draw.normal(2, 5, 23), 5), {"stride": 2, "padding": 2})
    yield Case("two dimensions", (draw.normal(5, 41), 4, 3))


def hidden(draw: Draw) -> Iterator[Case]:
    channels, length = draw.size(2, 7), 2 * draw.size(30, 60) + 1
    reach = draw.size(2, 4)
    overlap = {"stride": 1, "padding": reach}
    yield Case("overlapping windows", (draw.normal(2, channels, length), 2 * reach + 1), overlap)
    yield Case("padding, default stride", (draw.normal(channels, length), draw.size(3, 7)), {"padding": 1})
    yield Case("large values", (draw.normal(1, channels, length, mean=1000.0, std=1e5), 5, 2))
    yield Case("one element", (draw.normal(1, 1, 1), 1))
    yield Case("stride beyond the window", (draw.normal(2, channels, length), 2, 5))
    yield Case("strided view", (draw.strided(draw.normal(3, channels, length)).transpose(0, 1), 3, 2, 1))
    special = draw.normal(5, length)
    special[0, draw.size(0, length - 8)] = math.nan
    special[1, draw.size(0, length - 8)] = math.inf
    special[2, 10], special[2, 11] = math.inf, -math.inf
    yield Case("NaN and infinity", (special, 4), {"stride": 3, "padding": 2})


def timed(draw: Draw) -> Iterator[Case]:
    for shape, kernel_size, stride, padding in (
        ((32, 128, 4096), 2, 2, 0),
        ((16, 256, 8192), 4, 4, 0),
        ((64, 64, 4096), 5, 2, 2),
    ):
        label = f"{shape}, kernel {kernel_size}, stride {stride}, padding {padding}"
        yield Case(label, (draw.normal(*shape), kernel_size, stride, padding))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("(4, 7, 301), kernel 3", (draw.normal(4, 7, 301), 3))
    yield Case("(3, 5, 501), kernel 5, stride 2", (draw.normal(3, 5, 501), 5, 2, 2))


def magnitude(input: torch.Tensor, kernel_size: int, stride: int | None, padding: int) -> torch.Tensor:
    return reference(input.double().abs(), kernel_size, stride, padding)


def cost(input: torch.Tensor, kernel_size: int, stride: int | None = None, padding: int = 0) -> Cost:
    """Input elements that no window holds need not be read."""
    results = reference(input.to("meta"), kernel_size, stride, padding)
    rows, step = input.numel() // input.shape[-1], kernel_size if stride is None else stride
    reached = {i * step + k - padding for i in range(results.shape[-1]) for k in range(kernel_size)}
    read = rows * len(reached & set(range(input.shape[-1]))) * input.element_size()
    return Cost(read + nbytes(results), results.numel() * (kernel_size + 1))


TASK = Task(
    id="Pooling/avg_pool1d",
    entry="avg_pool1d",
    signature="avg_pool1d(input, kernel_size, stride=None, padding=0)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(
        slack=lambda input, kernel_size, stride, padding: 2 * math.sqrt(kernel_size), magnitude=magnitude
    ),
    cost=cost,
)
