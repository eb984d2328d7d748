"""Fusion/fused_sigmoid_adaptive_avg_pool2d: an image averaged down to a given size, and the sigmoid of it."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Adaptive average pooling of an image to a given size, then the sigmoid of each mean. `input` is float32 of shape
(N, C, H, W) or (C, H, W), any strides; `output_size` is a tuple (P, Q) of ints, or one int for both. The result is
float32 of shape (N, C, P, Q) or (C, P, Q):

    mean[i, j] = mean of x[h, w] over floor(i * H / P) <= h < ceil((i + 1) * H / P),
                                      floor(j * W / Q) <= w < ceil((j + 1) * W / Q)
    y = 1 / (1 + exp(-mean))

Windows differ in size and overlap where H isn't a multiple of P; P may be larger than H, and each window holds at
least one pixel. Everything is float32, and large means of either sign give 0 or 1, never NaN. A NaN makes the windows
that hold it NaN, and no others; +inf gives 1, -inf gives 0.
"""

Size = int | tuple[int, int]


def reference(input: torch.Tensor, output_size: Size) -> torch.Tensor:
    return torch.sigmoid(torch.nn.functional.adaptive_avg_pool2d(input, output_size))


def public(draw: Draw) -> Iterator[Case]:
    yield Case("equal windows", (draw.normal(2, 3, 12, 15), (4, 5)))
    yield Case("windows that overlap, one int", (draw.normal(2, 5, 11, 9), 4))
    yield Case("three dimensions, global mean", (draw.normal(5, 9, 13, mean=0.5), 1))


def hidden(draw: Draw) -> Iterator[Case]:
    channels, height, width = draw.size(2, 7), draw.size(11, 17), draw.size(11, 19)
    yield Case("odd sizes", (draw.normal(3, channels, height, width, std=2.0), (draw.size(3, 7), draw.size(2, 9))))
    yield Case("larger than the image", (draw.normal(2, channels, 5, 7), (draw.size(7, 9), 10)))
    yield Case("same size", (draw.normal(1, channels, height, width), (height, width)))
    yield Case("one row, all columns", (draw.normal(2, channels, height, width), (1, width)))
    yield Case("one pixel", (draw.normal(2, 1, 1, 1), (1, 1)))
    yield Case("long windows", (draw.normal(1, 2, 40, draw.size(41, 60), mean=0.7), (1, 2)))
    yield Case("large values", (draw.normal(2, channels, height, width, std=300.0), (5, 4)))
    view = draw.strided(draw.normal(2, channels, width, height)).transpose(2, 3)
    yield Case("strided view", (view, (3, 4)))
    yield Case("channels last", (draw.normal(2, height, width, channels).permute(0, 3, 1, 2), 3))
    special = draw.normal(2, channels, height, width)
    special[0, 0, 4, 5] = math.nan
    special[0, 1, 7, 2] = math.inf
    special[1, 0, 0, :] = -math.inf
    yield Case("NaN and infinity", (special, (4, 3)))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("(32, 256, 56, 56) to 7", (draw.normal(32, 256, 56, 56), 7))
    yield Case("(64, 500, 28, 28) to (5, 9)", (draw.normal(64, 500, 28, 28), (5, 9)))
    yield Case("(16, 128, 100, 100) to 1", (draw.normal(16, 128, 100, 100, mean=0.5), 1))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("(4, 9, 28, 28) to 7", (draw.normal(4, 9, 28, 28), 7))
    yield Case("(3, 8, 25, 31) to (5, 9)", (draw.normal(3, 8, 25, 31), (5, 9)))


def slack(input: torch.Tensor, output_size: Size) -> float:
    rows, cols = (output_size, output_size) if isinstance(output_size, int) else output_size
    return 4 + 4 * math.sqrt((input.shape[-2] / rows + 1) * (input.shape[-1] / cols + 1))


def magnitude(input: torch.Tensor, output_size: Size) -> torch.Tensor:
    """y, and what an error of the mean makes of it."""
    y = reference(input.double(), output_size)
    terms = torch.nn.functional.adaptive_avg_pool2d(input.double().abs(), output_size)
    return y + y * (1 - y) * terms


def cost(input: torch.Tensor, output_size: Size) -> Cost:
    results = reference(input.to("meta"), output_size)
    return Cost(nbytes(input, results), input.numel() + 4 * results.numel())


TASK = Task(
    id="Fusion/fused_sigmoid_adaptive_avg_pool2d",
    entry="fused_sigmoid_adaptive_avg_pool2d",
    aliases=("sigmoid_adaptive_avg_pool2d",),
    signature="fused_sigmoid_adaptive_avg_pool2d(input: Tensor, output_size: Union[int, Tuple[int, int]])",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
