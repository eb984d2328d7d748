"""Quantization/conv2d_w8a8: activations quantised to int8 with a zero point, weights for each filter, integer sums."""

import math
from collections.abc import Iterator
from itertools import product

import torch
from torch.nn.functional import conv2d

from tasks.draw import Draw
from tasks.families.quantised import ROOM, doubt, quantise
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Two-dimensional convolution (cross-correlation: the kernel is not flipped) of `input` (N, C, H, W) with `weight`
(F, C, R, S), both float32 and quantised to int8 at run time. Both have any strides, and finite values. `stride` and
`padding` are integers that hold for both directions. Activations are quantised asymmetrically, with one scale and one
zero point for the whole of `input`; weights symmetrically, with one scale for each filter:

    low = min(0, min input),  high = max(0, max input),  sx = (high - low) / 255
    zero = -128 - rint(low / sx)                                     int8: the number that stands for 0
    qx = min(127, max(-128, rint(input / sx) + zero))                int8, -128..127
    sw[f] = max_{c, r, s} |weight[f, c, r, s]| / 127,   qw[f] = rint(weight[f] / sw[f])     int8, -127..127
    acc[n, f, i, j] = sum_{c, r, s} (qx[n, c, h, w] - zero) * qw[f, c, r, s]                int32
    h = i * stride + r - padding,    w = j * stride + s - padding
    result[n, f, i, j] = acc[n, f, i, j] * sx * sw[f] + bias[f]                             float32

An element outside the image counts as 0, so it adds nothing to acc (if places outside are filled with an int8 number,
that is `zero`). `bias` (F,), float32, isn't quantised and counts as 0 when it is None. The result is
(N, F, OH, OW), float32, OH = (H + 2 * padding - R) // stride + 1, OW likewise from W and S.

Scales and quotients are float32 divisions, and rint rounds to the nearest integer, half to even. (`/` in Triton is a
little less exact than an IEEE division, which `tl.div_rn` is: a quotient within a few units in the last place of a
half-integer may be rounded either way, no other.) An input or a filter of zeros is quantised to zeros. The result is
that of the quantised scheme: the plain float32 convolution is wrong, and so are symmetric activations or one scale for
all filters.
"""


def activations(input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """qx - zero, whole numbers as float32, and the scale."""
    low, scale = low_and_scale(input)
    zero = -128 - torch.round(low / scale)
    return (torch.round(input / scale) + zero).clamp(-128, 127) - zero, scale


def low_and_scale(input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The lower end of the range of a float32 tensor, and the scale; 1 where all is zero."""
    low, high = input.amin().clamp_max(0), input.amax().clamp_min(0)
    return low, torch.where(high > low, (high - low) / 255, 1.0)


def reference(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
) -> torch.Tensor:
    (qx, sx), (qw, sw) = activations(input), quantise(weight, (1, 2, 3))
    # every integer below 2**53 is a float64, so this is the integer convolution
    acc = conv2d(qx.double(), qw.double(), None, stride, padding)
    y = acc.float() * sx * sw.view(-1, 1, 1)
    return y if bias is None else y + bias.view(-1, 1, 1)


def exact(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
) -> torch.Tensor:
    """Decisions and scales as float32 gives them, the rest in float64."""
    (qx, sx), (qw, sw) = activations(input.float()), quantise(weight.float(), (1, 2, 3))
    acc = conv2d(qx.double(), qw.double(), None, stride, padding)
    y = acc * sx.double() * sw.double().view(-1, 1, 1)
    return y if bias is None else y + bias.view(-1, 1, 1)


def activation_doubt(input: torch.Tensor) -> torch.Tensor:
    """By how much qx - zero may differ, since zero point and quotients may be rounded either way near a half."""
    low, scale = (value.double() for value in low_and_scale(input))
    ways = []
    for up, down in product((1 + ROOM, 1 - ROOM), repeat=2):
        zero = -128 - torch.round(low / scale * down)
        ways.append((torch.round(input.double() / scale * up) + zero).clamp(-128, 127) - zero)
    return torch.stack(ways).amax(0) - torch.stack(ways).amin(0)


def magnitude(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, stride: int, padding: int
) -> torch.Tensor:
    """What float32 arithmetic may blur, plus one step of the grid for each decision in doubt; unit: float32 eps."""
    (qx, sx), (qw, sw) = activations(input), quantise(weight, (1, 2, 3))
    size_x, size_w = qx.double().abs(), qw.double().abs()
    doubt_x, doubt_w = activation_doubt(input), doubt(weight, (1, 2, 3))
    sums = conv2d(size_x, size_w, None, stride, padding)
    # integer accumulation is exact; this room is for exact-enough ones, e.g. float32 sums of dequantised values
    size = 2 * math.sqrt(math.prod(weight.shape[1:])) * sums
    if doubt_x.any() or doubt_w.any():
        steps = conv2d(doubt_x, size_w + doubt_w, None, stride, padding) + conv2d(
            size_x, doubt_w, None, stride, padding
        )
        size = size + steps / torch.finfo(torch.float32).eps
    # two scales off by 2 ulp each, a conversion and two products: 8 ulp of the product, also where the bias cancels it
    size = (size + 8 * sums) * sx.double() * sw.double().view(-1, 1, 1)
    return size if bias is None else size + bias.double().abs().view(-1, 1, 1)


def layer(draw: Draw, n: int, c: int, size: int, f: int, taps: int) -> tuple[torch.Tensor, ...]:
    """Activations as after a ReLU with an offset (few of them negative), filters of unequal size, and a bias."""
    input = draw.normal(n, c, size, size + 2, mean=1.0)
    return input, draw.normal(f, c, taps, taps) * draw.uniform(f, 1, 1, 1, low=0.1, high=4), draw.normal(f)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("3 x 3 with bias", layer(draw, 2, 3, 7, 5, 3))
    yield Case("stride and padding", layer(draw, 1, 3, 9, 7, 3)[:2], {"stride": 2, "padding": 1})
    input, weight, bias = layer(draw, 1, 5, 6, 9, 1)
    yield Case("no negative activation, 1 x 1", (input.clamp_min(0), weight, bias))


def hidden(draw: Draw) -> Iterator[Case]:
    c, f, size = draw.size(3, 5), 2 * draw.size(4, 9) + 1, draw.size(7, 11)
    input, weight, bias = layer(draw, 2, c, size, f, 3)
    yield Case("padding, all activations positive", (input + 9, weight, bias), {"padding": 2})
    yield Case("all activations negative", (-input.abs() - 0.5, weight), {"padding": 1})
    input, weight, bias = layer(draw, 1, c, size, f, 3)
    input[0, draw.size(0, c - 1), 3, 3] = draw.pick((-40.0, 40.0))
    weight[draw.size(0, f - 1)] *= 60
    weight[:, 0, 1, 1] *= 8
    yield Case("outliers", (input, weight, bias * 30), {"padding": 1})
    yield Case("long reduction", layer(draw, 1, 2 * draw.size(11, 14) + 1, 5, 7, 3), {"stride": 3, "padding": 1})
    yield Case("large values", (layer(draw, 1, c, size, f, 2)[0] * 1000, draw.normal(f, c, 2, 5, std=40.0)))
    yield Case("one point", (draw.normal(3, c, 1, 1), draw.normal(f, c, 1, 1), draw.normal(f)))
    input, weight, bias = layer(draw, 2, c, size, f, 3)
    input.view(-1)[0], input.view(-1)[-1] = -9.0, 12.0
    yield Case("extremes first and last", (input, weight, bias))
    wide = draw.normal(2, c, size, size)
    views = draw.strided(wide).transpose(2, 3), draw.normal(c, f, 3, 3).transpose(0, 1)
    yield Case("strided input, transposed weight", (*views, draw.normal(f)), {"stride": 2})
    input, weight, bias = layer(draw, 1, c, size, f, 3)
    weight[draw.size(0, f - 1)] = 0
    yield Case("a filter of zeros", (input, weight, bias), {"padding": 1})
    yield Case("activations of zeros", (torch.zeros(1, c, 5, 5), weight, bias), {"padding": 1})


def timed(draw: Draw) -> Iterator[Case]:
    for x, w, options in (
        ((16, 64, 56, 56), (64, 64, 3, 3), {"padding": 1}),
        ((16, 128, 56, 56), (256, 128, 3, 3), {"stride": 2, "padding": 1}),
        ((16, 256, 30, 30), (500, 256, 1, 1), {}),
    ):
        yield Case(f"{x} with {w}", (draw.normal(*x, mean=0.5), draw.normal(*w), draw.normal(w[0])), options)


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("1 x 5 x 15 x 17 with 35 x 5 x 3 x 3", layer(draw, 1, 5, 15, 35, 3), {"padding": 1})
    yield Case("1 x 6 x 29 x 31 with 10 x 6 x 3 x 3", layer(draw, 1, 6, 29, 10, 3), {"stride": 2, "padding": 1})


def cost(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
) -> Cost:
    places = ((input.shape[d] + 2 * padding - weight.shape[d]) // stride + 1 for d in (2, 3))
    results = input.shape[0] * weight.shape[0] * math.prod(places)
    bytes_min = nbytes(input, weight, bias) + results * input.element_size()
    return Cost(bytes_min, 2 * results * math.prod(weight.shape[1:]))


TASK = Task(
    id="Quantization/conv2d_w8a8",
    entry="conv2d_w8a8",
    signature=(
        "conv2d_w8a8(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor=None, stride: int=1, padding: int=0)"
    ),
    text=TEXT,
    reference=reference,
    exact=exact,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=lambda **_: 1.0, magnitude=magnitude),
    cost=cost,
)
