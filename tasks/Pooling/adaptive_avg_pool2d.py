"""Pooling/adaptive_avg_pool2d: averages over windows that share an image out evenly."""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Average pooling to a given output size. `input` is float32 of shape (N, C, H, W) or (C, H, W) with any strides;
`output_size` is an int (both sizes), or a tuple (P, Q) in which None keeps that size of the input. The result is a new
float32 tensor of shape (N, C, P, Q) or (C, P, Q), whose element (p, q) is the mean of the rectangle

    rows    floor(p H / P) .. ceil((p + 1) H / P) - 1
    columns floor(q W / Q) .. ceil((q + 1) W / Q) - 1

Neighbouring rectangles differ in size, and overlap, where P doesn't divide H or Q doesn't divide W. P or Q may be
larger than H or W: pixels are then repeated. Sums in float32 are exact enough, in any order. A rectangle that holds
NaN, or infinities of both signs, gives NaN; one that holds infinities of one sign gives that.
"""

Size = int | tuple[int | None, int | None]


def reference(input: torch.Tensor, output_size: Size) -> torch.Tensor:
    pooled: torch.Tensor = F.adaptive_avg_pool2d(input, output_size)
    return pooled.contiguous()


def sizes(input: torch.Tensor, output_size: Size) -> list[int]:
    wanted = [output_size] * 2 if isinstance(output_size, int) else list(output_size)
    return [given if out is None else out for given, out in zip(input.shape[-2:], wanted, strict=True)]


def slack(input: torch.Tensor, output_size: Size) -> float:
    """Four times the square root of the number of pixels in the largest rectangle."""
    sides = zip(input.shape[-2:], sizes(input, output_size), strict=True)
    return 4 * math.sqrt(math.prod(math.ceil(length / out) + 1 for length, out in sides))


def magnitude(input: torch.Tensor, output_size: Size) -> torch.Tensor:
    return reference(input.double().abs(), output_size)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("to a square", (draw.normal(2, 3, 9, 13), 4))
    yield Case("global", (draw.normal(2, 5, 7, 7), (1, 1)))
    yield Case("no batch, height kept", (draw.normal(3, 6, 20), (None, 7)))


def hidden(draw: Draw) -> Iterator[Case]:
    h, w = draw.size(11, 23), draw.size(11, 23)
    p, q = draw.size(2, 8), draw.size(2, 8)
    yield Case("uneven windows", (draw.normal(2, 3, h, w), (p, q)))
    yield Case("global, offset values", (draw.normal(2, 4, h + 10, w, mean=100.0), 1))
    yield Case("to more pixels", (draw.normal(1, 3, h - 7, w - 6), (h + 3, w + 8)))
    yield Case("width kept", (draw.normal(2, 2, h, w), (p, None)))
    yield Case("no batch", (draw.normal(5, h, w), (q, 3)))
    yield Case("several programs", (draw.normal(3, 3, 17, 19), (13, 15)))
    yield Case("channels last", (draw.normal(2, h, w, 5).permute(0, 3, 1, 2), (p, 3)))
    yield Case("strided view", (draw.strided(draw.normal(2, 3, h, w)), (p, q)))
    yield Case("one pixel", (draw.normal(2, 5, 1, 1), (2, draw.size(1, 4))))
    special = draw.normal(2, 3, h, w)
    special[0, 0, 0, 0], special[0, 1, h // 2, :] = math.nan, math.inf
    special[1, 0, :, w // 2], special[1, 2, -1, -1] = -math.inf, math.inf
    special[1, 2, 0, 0] = -math.inf
    yield Case("NaN and infinity", (special, draw.pick((1, 2, 3))))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("32 x 512 x 28 x 28 to 7 x 7", (draw.normal(32, 512, 28, 28), 7))
    yield Case("32 x 1000 x 28 x 28, global", (draw.normal(32, 1000, 28, 28), (1, 1)))
    yield Case("8 x 64 x 225 x 225 to 50 x 60", (draw.normal(8, 64, 225, 225), (50, 60)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("2 x 8 x 28 x 28 to 7 x 7", (draw.normal(2, 8, 28, 28), 7))
    yield Case("3 x 9 x 20 x 20, global", (draw.normal(3, 9, 20, 20), (1, 1)))


def cost(input: torch.Tensor, output_size: Size) -> Cost:
    results = input.numel() // math.prod(input.shape[-2:]) * math.prod(sizes(input, output_size))
    return Cost(nbytes(input) + results * input.element_size(), input.numel() + results)


TASK = Task(
    id="Pooling/adaptive_avg_pool2d",
    entry="adaptive_avg_pool2d",
    signature="adaptive_avg_pool2d(input, output_size)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
