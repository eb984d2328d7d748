"""Fusion/fused_pairwise_distance_adaptive_avg_pool2d: the p-norm distance of two images averaged down to a size."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Adaptive average pooling of two batches of images to a given size, then for each sample the p-norm of the difference of
the pooled images. `x1` and `x2` are float32 of the same shape (N, C, H, W), any strides; `output_size` is a tuple
(P, Q) of ints, or one int for both:

    mean(x)[n, c, i, j] = mean of x[n, c, h, w] over floor(i * H / P) <= h < ceil((i + 1) * H / P),
                                                     floor(j * W / Q) <= w < ceil((j + 1) * W / Q)
    d = mean(x1) - mean(x2) + eps                          (eps is added to every difference, ahead of the norm)
    y[n] = (sum over c, i, j of |d[n, c, i, j]| ** p) ** (1 / p)

`p` is a number of at least 1, not necessarily whole. The result is float32 of shape (N), or (N, 1, 1, 1) with
`keepdim`.
Windows differ in size and overlap where H isn't a multiple of P; P may be larger than H.
Everything is float32. A NaN, or an infinity less itself, makes its sample's distance NaN and no other's; other
infinities give inf.
"""

Size = int | tuple[int, int]


def reference(
    x1: torch.Tensor,
    x2: torch.Tensor,
    output_size: Size,
    p: float = 2.0,
    eps: float = 1e-06,
    keepdim: bool = False,
) -> torch.Tensor:
    means = [torch.nn.functional.adaptive_avg_pool2d(x, output_size) for x in (x1, x2)]
    distances: torch.Tensor = torch.linalg.vector_norm(means[0] - means[1] + eps, p, dim=(1, 2, 3), keepdim=keepdim)
    return distances


def pair(draw: Draw, *shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    return draw.normal(*shape), draw.normal(*shape)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("equal windows", (*pair(draw, 2, 3, 12, 15), (4, 5)))
    yield Case("windows that overlap, p = 1, kept", (*pair(draw, 3, 5, 11, 9), 4, 1.0), {"keepdim": True})


def hidden(draw: Draw) -> Iterator[Case]:
    channels, height, width = draw.size(2, 7), draw.size(9, 13), draw.size(9, 15)
    odd = (draw.size(3, 5), draw.size(2, 7))
    yield Case("odd sizes", (*pair(draw, 5, channels, height, width), odd))
    yield Case("p = 3", (*pair(draw, 3, channels, height, width), odd), {"p": 3.0})
    yield Case("p = 1.5, kept", (*pair(draw, 3, channels, height, width), 2, 1.5, 1e-6, True))
    wide = pair(draw, 3, channels, height, 3 * draw.size(4, 5) + 1)
    yield Case("large eps, windows of five and more", (*wide, (odd[0], 3)), {"eps": draw.pick([0.25, 0.5])})
    yield Case("larger than the image", (*pair(draw, 2, channels, 5, 7), (draw.size(7, 9), 10)))
    yield Case("one pixel", (*pair(draw, 3, 1, 1, 1), (1, 1)))
    many = pair(draw, 2, draw.size(130, 180), 5, 4)
    yield Case("many channels", (*many, (3, 4)))
    first = draw.normal(3, channels, height, width, mean=50.0)
    yield Case("images that are nearly equal", (first, first + draw.normal(*first.shape, std=0.01), odd))
    first, second = pair(draw, 2, channels, width, height)
    views = (draw.strided(first).transpose(2, 3), second.permute(0, 2, 3, 1).contiguous().permute(0, 3, 2, 1))
    yield Case("strided views, channels last", (*views, odd))
    first, second = pair(draw, 4, channels, height, width)
    first[0, 0, 4, 5] = math.nan
    second[1, 1, 7, 2] = math.inf
    first[2, 0, 0, 0], second[2, 0, 0, 0] = math.inf, math.inf
    yield Case("NaN and infinity", (first, second, odd))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("(16, 256, 56, 56) to 7", (*pair(draw, 16, 256, 56, 56), 7))
    yield Case("(32, 500, 28, 28) to (5, 9)", (*pair(draw, 32, 500, 28, 28), (5, 9)))
    yield Case("(8, 128, 100, 100) to 3, p = 1", (*pair(draw, 8, 128, 100, 100), 3, 1.0))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("(4, 9, 21, 21) to 7", (*pair(draw, 4, 9, 21, 21), 7))
    yield Case("(3, 8, 25, 19) to (5, 9)", (*pair(draw, 3, 8, 25, 19), (5, 9)))


def slack(x1: torch.Tensor, x2: torch.Tensor, output_size: Size, p: float, eps: float, keepdim: bool) -> float:
    rows, cols = (output_size, output_size) if isinstance(output_size, int) else output_size
    window = (x1.shape[2] / rows + 1) * (x1.shape[3] / cols + 1)
    return 4 * math.sqrt(window) + 4 * math.sqrt(x1.shape[1] * rows * cols)


def magnitude(
    x1: torch.Tensor, x2: torch.Tensor, output_size: Size, p: float, eps: float, keepdim: bool
) -> torch.Tensor:
    """The norm of the terms before they cancel bounds the norm of their errors."""
    return reference(x1.double().abs(), -x2.double().abs(), output_size, p, eps, keepdim)


def cost(
    x1: torch.Tensor,
    x2: torch.Tensor,
    output_size: Size,
    p: float = 2.0,
    eps: float = 1e-06,
    keepdim: bool = False,
) -> Cost:
    return Cost(nbytes(x1, x2) + x1.shape[0] * x1.element_size(), 2 * x1.numel())


TASK = Task(
    id="Fusion/fused_pairwise_distance_adaptive_avg_pool2d",
    entry="fused_pairwise_distance_adaptive_avg_pool2d",
    aliases=("pairwise_distance_adaptive_avg_pool2d",),
    signature=(
        "fused_pairwise_distance_adaptive_avg_pool2d(x1: torch.Tensor, x2: torch.Tensor, output_size: int or tuple, "
        "p: float=2.0, eps: float=1e-06, keepdim: bool=False)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
