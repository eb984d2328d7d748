"""Fusion/fused_avg_pool2d_cosine_similarity: cosine similarity of two images at each pixel, and its average pooling."""

import math
from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Cosine similarity along the channels of two images, pixel by pixel, and two-dimensional average pooling of it. `x1` and
`x2` are float32 of the same shape (N, C, H, W), any strides. At each pixel

    sim = sum_c x1[c] * x2[c] / (max(|x1|, eps) * max(|x2|, eps)),    |x| = sqrt(sum_c x[c]**2)

and with k = kernel_size, s = stride (None: k) and p = padding, all ints, for both spatial dimensions alike,

    y[n, 0, i, j] = (1 / k**2) * sum_{a, b = 0 .. k-1} sim[n, i * s + a - p, j * s + b - p]

where positions outside the image count as 0, and the divisor is k**2 all the same. p is at most k / 2. The result is
float32 of shape (N, 1, H', W'), H' = (H + 2p - k) // s + 1 and W' likewise.
Everything is float32. A NaN makes the windows that hold its pixel NaN, and no others.
"""


def reference(
    x1: torch.Tensor,
    x2: torch.Tensor,
    kernel_size: int,
    stride: int | None = None,
    padding: int = 0,
    eps: float = 1e-08,
) -> torch.Tensor:
    norms = [x.norm(dim=1, keepdim=True).clamp_min(eps) for x in (x1, x2)]
    similarity = (x1 / norms[0] * (x2 / norms[1])).sum(1, keepdim=True)
    return torch.nn.functional.avg_pool2d(similarity, kernel_size, kernel_size if stride is None else stride, padding)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("default stride", (draw.normal(2, 3, 10, 13), draw.normal(2, 3, 10, 13), 2))
    padded = (draw.normal(1, 5, 9, 8), draw.normal(1, 5, 9, 8), 3)
    yield Case("stride and padding", padded, {"stride": 2, "padding": 1})


def pair(draw: Draw, *shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Two images that are similar to some degree."""
    first = draw.normal(*shape)
    return first, first * 0.7 + draw.normal(*shape)


def hidden(draw: Draw) -> Iterator[Case]:
    channels, height, width = draw.size(2, 7), draw.size(7, 12), draw.size(9, 15)
    overlap = {"stride": 1, "padding": 1}
    yield Case("overlapping windows", (*pair(draw, 2, channels, height, width), 3), overlap)
    yield Case("padding, default stride", (*pair(draw, 1, channels, height, width), 4), {"padding": 2})
    yield Case("many channels", (*pair(draw, 1, draw.size(130, 160), 4, 5), 2, 1))
    yield Case("one channel, one pixel", (draw.normal(2, 1, 1, 1), draw.normal(2, 1, 1, 1), 1))
    yield Case("stride beyond the window", (*pair(draw, 2, channels, height, width), 2, 3))
    small = [0.1 * x for x in pair(draw, 2, channels, height, width)]
    yield Case("norms below eps", (*small, 2), {"eps": draw.pick([0.3, 0.4])})
    large = (draw.normal(2, channels, height, width, std=1e6), draw.normal(2, channels, height, width, std=1e-5))
    yield Case("large and small values", (*large, 2))
    first, second = pair(draw, 2, channels, height, width)
    first[:, :, 2] = 0.0
    yield Case("zero vectors", (first, second, 2))
    first, second = pair(draw, 2, channels, width, height)
    views = (draw.strided(first).transpose(2, 3), second.permute(0, 2, 3, 1).contiguous().permute(0, 3, 2, 1))
    yield Case("strided views, channels last", (*views, 3, 2, 1))
    first, second = pair(draw, 2, channels, height, width)
    first[0, 0, 3, 4] = math.nan
    second[1, 1, 0, 0] = math.inf
    yield Case("NaN and infinity", (first, second, 2))


def timed(draw: Draw) -> Iterator[Case]:
    for shape, kernel_size, stride, padding in (
        ((16, 64, 112, 112), 2, 2, 0),
        ((32, 256, 40, 40), 3, 1, 1),
        ((4, 21, 400, 300), 5, 5, 2),
    ):
        label = f"{shape}, kernel {kernel_size}, stride {stride}, padding {padding}"
        yield Case(label, (draw.normal(*shape), draw.normal(*shape), kernel_size, stride, padding))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("(2, 8, 30, 21), kernel 2", (*pair(draw, 2, 8, 30, 21), 2))
    yield Case("(1, 9, 28, 40), kernel 3, stride 1", (*pair(draw, 1, 9, 28, 40), 3, 1, 1))


def slack(x1: torch.Tensor, x2: torch.Tensor, kernel_size: int, stride: int | None, padding: int, eps: float) -> float:
    return 4 * math.sqrt(x1.shape[1]) + 2 * kernel_size


def magnitude(
    x1: torch.Tensor, x2: torch.Tensor, kernel_size: int, stride: int | None, padding: int, eps: float
) -> torch.Tensor:
    return reference(x1.double().abs(), x2.double().abs(), kernel_size, stride, padding, eps)


def cost(
    x1: torch.Tensor,
    x2: torch.Tensor,
    kernel_size: int,
    stride: int | None = None,
    padding: int = 0,
    eps: float = 1e-08,
) -> Cost:
    """Pixels that no window holds need not be read."""
    results = reference(x1.to("meta"), x2.to("meta"), kernel_size, stride, padding)
    step = kernel_size if stride is None else stride
    pixels = 1
    for size, windows in zip(x1.shape[2:], results.shape[2:], strict=True):
        reached = {i * step + k - padding for i in range(windows) for k in range(kernel_size)}
        pixels *= len(reached & set(range(size)))
    vectors = x1.shape[0] * x1.shape[1] * pixels
    return Cost(2 * vectors * x1.element_size() + nbytes(results), 6 * vectors + results.numel() * kernel_size**2)


TASK = Task(
    id="Fusion/fused_avg_pool2d_cosine_similarity",
    entry="fused_avg_pool2d_cosine_similarity",
    aliases=("avg_pool2d_cosine_similarity",),
    signature=(
        "fused_avg_pool2d_cosine_similarity(x1: torch.Tensor, x2: torch.Tensor, kernel_size: int, stride: int=None, "
        "padding: int=0, eps: float=1e-08)"
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
