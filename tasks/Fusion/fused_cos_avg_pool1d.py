"""Fusion/fused_cos_avg_pool1d: means of the cosine over windows along the last dimension."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
The cosine of each element, and the average pooling of the cosines along the last dimension. `input` is float32 of
shape (N, C, L) or (C, L), any strides. With k = kernel_size, s = stride (None: k) and p = padding, window i covers the
positions a .. b-1 of the padded row, a = i * s - p and b = a + k:

    y[..., i] = (1 / m) * sum of cos(x[..., j]) over a <= j < b with 0 <= j < L

Padding adds 0 to the sum (not cos(0) = 1). The divisor m is the number of positions j with a <= j < b that lie

    in -p .. L + p - 1    with count_include_pad=True (so m = k, but for windows cut off at the right end), or
    in 0 .. L - 1         with count_include_pad=False.

There are floor((L + 2p - k) / s) + 1 windows with ceil_mode=False. With ceil_mode=True the division is rounded up
instead, and then a last window that would start at or beyond position L (in the right padding or after it) is left
out. p is at most k / 2, so no window is empty.
The result is float32; cosines (of arguments up to some thousands) and sums are float32. A NaN or an infinity makes the
windows that hold it NaN, and no others.
"""


def reference(
    input: torch.Tensor,
    kernel_size: int,
    stride: int | None = None,
    padding: int = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> torch.Tensor:
    step = kernel_size if stride is None else stride
    return torch.nn.functional.avg_pool1d(input.cos(), kernel_size, step, padding, ceil_mode, count_include_pad)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("default stride", (draw.normal(2, 3, 37, std=2.0), 3))
    yield Case("stride and padding", (draw.normal(2, 5, 23), 5), {"stride": 2, "padding": 2})
    yield Case("two dimensions, ceil mode", (draw.normal(5, 41), 4, 3), {"ceil_mode": True})


def hidden(draw: Draw) -> Iterator[Case]:
    channels, length = draw.size(2, 7), 2 * draw.size(30, 60) + 1
    reach = draw.size(2, 4)
    overlap = {"stride": 1, "padding": reach}
    yield Case("overlapping windows", (draw.normal(2, channels, length, std=3.0), 2 * reach + 1), overlap)
    uncounted = {"padding": 2, "count_include_pad": False}
    yield Case("padding does not count", (draw.normal(channels, length), draw.size(4, 7), 3), uncounted)
    # 6 windows fit; half of a seventh remains, behind which a cut-off window has its own divisor
    yield Case("ceil mode, cut-off window", (draw.normal(3, channels, 6 * 5 + 3), 5, 5, 0, True))
    yield Case("ceil mode, padding, cut-off window", (draw.normal(channels, 4 * 5 + 2), 4, 4, 2, True, True))
    yield Case("ceil mode, window beyond the end left out", (draw.normal(channels, 4 * 9 - 1), 4, 4, 2, True))
    yield Case("ceil mode, padding does not count", (draw.normal(channels, length), 6, 4, 3, True, False))
    yield Case("large arguments", (draw.normal(1, channels, length, mean=500.0, std=2000.0), 5, 2))
    yield Case("one element", (draw.normal(1, 1, 1), 1))
    yield Case("stride beyond the window", (draw.normal(2, channels, length), 2, 5))
    yield Case("strided view", (draw.strided(draw.normal(3, channels, length)).transpose(0, 1), 3, 2, 1))
    special = draw.normal(5, length)
    special[0, draw.size(0, length - 8)] = math.nan
    special[1, draw.size(0, length - 8)] = math.inf
    special[2, 10] = -math.inf
    yield Case("NaN and infinity", (special, 4), {"stride": 3, "padding": 2})


def timed(draw: Draw) -> Iterator[Case]:
    for shape, options in (
        ((32, 128, 4095), (2,)),
        ((16, 256, 6000), (4, 4)),
        ((64, 64, 4001), (5, 2, 2)),
    ):
        yield Case(f"{shape}, kernel, stride, padding {options}", (draw.normal(*shape, std=3.0), *options))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("(4, 7, 301), kernel 3", (draw.normal(4, 7, 301), 3))
    yield Case("(3, 5, 501), kernel 5, stride 2", (draw.normal(3, 5, 501), 5, 2, 2))


def magnitude(**_: Any) -> torch.Tensor:
    """Cosines are at most 1, and have absolute errors."""
    return torch.ones((), dtype=torch.float64)


def cost(
    input: torch.Tensor,
    kernel_size: int,
    stride: int | None = None,
    padding: int = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Cost:
    """Input elements that no window holds need not be read."""
    results = reference(input.to("meta"), kernel_size, stride, padding, ceil_mode)
    rows, step = input.numel() // input.shape[-1], kernel_size if stride is None else stride
    reached = {i * step + k - padding for i in range(results.shape[-1]) for k in range(kernel_size)}
    read = rows * len(reached & set(range(input.shape[-1]))) * input.element_size()
    return Cost(read + nbytes(results), results.numel() * (10 * kernel_size + 1))


TASK = Task(
    id="Fusion/fused_cos_avg_pool1d",
    entry="fused_cos_avg_pool1d",
    aliases=("cos_avg_pool1d",),
    signature=(
        "fused_cos_avg_pool1d(input: torch.Tensor, kernel_size: int, stride: int=None, padding: int=0, "
        "ceil_mode: bool=False, count_include_pad: bool=True)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda kernel_size, **_: 4 + 2 * math.sqrt(kernel_size), magnitude=magnitude),
    cost=cost,
)
