"""SpatialOps/interpolate: resize the spatial dimensions, by nearest neighbour or linearly."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

TEXT = """\
Resize the spatial dimensions of `input`, a float32 tensor of shape (N, C, W) or (N, C, H, W) with any strides. Modes to
support: 'nearest' for both shapes, 'linear' for (N, C, W), 'bilinear' for (N, C, H, W); no other occurs.

Exactly one of `size` and `scale_factor` is given: a number for all spatial dimensions, or a tuple with one entry for
each. A spatial dimension of length `in` gets the length out = size, or out = floor(in * scale_factor).
Let s = in / out when `size` is given, and s = 1 / scale_factor when `scale_factor` is.

'nearest': y[d] = x[min(floor(d * s), in - 1)] in each spatial dimension. `align_corners` is None. Cases are such that
rounding d * s in float32 can't change its floor. NaN and infinity are copied like any value.

'linear', 'bilinear': in each spatial dimension take the source coordinate
    t = max((d + 0.5) * s - 0.5, 0)        when align_corners is None or False
    t = d * (in - 1) / (out - 1)           when align_corners is True (t = 0 if out = 1); scale_factor sets only `out`
and with i = floor(t), j = min(i + 1, in - 1), w = t - i:  y[d] = (1 - w) x[i] + w x[j].
Bilinear does this along W and along H. NaN and infinity don't occur in these modes. Nothing is averaged when shrinking.

The result is float32, of shape (N, C, out) or (N, C, outH, outW). Float32 arithmetic, coordinates included, is enough.
"""

Size = int | Sequence[int] | None
Factor = float | Sequence[float] | None


def reference(
    input: torch.Tensor,
    size: Size = None,
    scale_factor: Factor = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> torch.Tensor:
    resized: torch.Tensor = F.interpolate(input, size, scale_factor, mode, align_corners)
    return resized


def slack(input: torch.Tensor, **_: Any) -> float:
    """A source coordinate is rounded in proportion to itself, and moves the result by at most 2 max|x| a unit."""
    return 4.0 * max(input.shape[2:])


def magnitude(input: torch.Tensor, **_: Any) -> torch.Tensor:
    finite = input.double().abs()
    return finite.where(finite.isfinite(), 0.0).amax()


def coprime(draw: Draw, length: int, low: int, high: int) -> int:
    """An output length for which d * length / out is a whole number at d = 0 only."""
    return draw.pick([out for out in range(low, high + 1) if math.gcd(out, length) == 1])


def public(draw: Draw) -> Iterator[Case]:
    yield Case("nearest, twice as large", (draw.normal(2, 3, 7, 9),), {"scale_factor": 2.0})
    yield Case("bilinear to a size", (draw.normal(1, 2, 10, 13), (17, 6)), {"mode": "bilinear"})
    yield Case("linear, corners aligned", (draw.normal(2, 3, 21), 50), {"mode": "linear", "align_corners": True})


def hidden(draw: Draw) -> Iterator[Case]:
    height, width = draw.size(5, 17), draw.size(5, 17)
    aligned: Mapping[str, Any] = {"mode": "bilinear", "align_corners": True}
    yield Case("bilinear, corners aligned", (draw.normal(2, 3, height, width), (draw.size(18, 25), 23)), aligned)
    factors: Mapping[str, Any] = {"scale_factor": (draw.pick((1.3, 2.6)), draw.pick((0.45, 0.7))), "mode": "bilinear"}
    yield Case("bilinear by factors", (draw.normal(2, 2, height, width + 10),), factors)
    special = draw.normal(2, 2, height, width)
    special[0, 0, 1] = math.nan
    special[1, :, :, 2] = draw.pick((math.inf, -math.inf))
    sizes = (coprime(draw, height, 3, 30), coprime(draw, width, 18, 30))
    yield Case("nearest, NaN and infinity", (special, sizes))
    turned = draw.normal(2, height, width, 5).permute(0, 3, 2, 1)
    yield Case("transposed view, bilinear", (turned, draw.size(7, 20)), {"mode": "bilinear", "align_corners": False})
    line = draw.strided(draw.normal(3, 5, draw.size(20, 60)))
    yield Case("strided view, nearest", (line,), {"scale_factor": draw.pick((0.5, 4.0, 0.25))})
    yield Case("from one pixel", (draw.normal(2, 5, 1, 1), (3, draw.size(2, 9))), {"mode": "bilinear"})
    yield Case("linear to one element", (draw.normal(2, 5, width), 1), {"mode": "linear", "align_corners": True})


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("bilinear, twice as large", (draw.normal(8, 64, 128, 128),), {"scale_factor": 2.0, "mode": "bilinear"})
    yield Case("nearest, twice as large", (draw.normal(8, 64, 128, 128),), {"scale_factor": 2.0})
    yield Case("bilinear, smaller", (draw.normal(5, 3, 1080, 1920), (224, 224)), {"mode": "bilinear"})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("bilinear, 4 x 35 x 37", (draw.normal(2, 2, 35, 37),), {"scale_factor": 2.0, "mode": "bilinear"})
    yield Case("nearest, 4 x 45 x 43", (draw.normal(1, 4, 45, 43),), {"scale_factor": 2.0})


def cost(
    input: torch.Tensor,
    size: Size = None,
    scale_factor: Factor = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Cost:
    lengths = input.shape[2:]
    if size is not None:
        outs = [size] * len(lengths) if isinstance(size, int) else list(size)
    else:
        assert scale_factor is not None
        factors = scale_factor if isinstance(scale_factor, Sequence) else [scale_factor] * len(lengths)
        outs = [math.floor(length * factor) for length, factor in zip(lengths, factors, strict=True)]
    taps = 1 if mode == "nearest" else 2
    # a shrinking dimension reads only the elements that some output needs
    read = math.prod(min(length, taps * out) for length, out in zip(lengths, outs, strict=True))
    planes, written = input.shape[0] * input.shape[1], math.prod(outs)
    flops = 0 if taps == 1 else 4 * (taps ** len(lengths) - 1)
    return Cost(4 * planes * (read + written), planes * written * max(flops, 1))


TASK = Task(
    id="SpatialOps/interpolate",
    entry="interpolate",
    signature="interpolate(input, size=None, scale_factor=None, mode='nearest', align_corners=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(ulps=4, slack=slack, magnitude=magnitude),
    cost=cost,
)
