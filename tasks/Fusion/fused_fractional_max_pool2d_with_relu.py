"""Fusion/fused_fractional_max_pool2d_with_relu: ReLU, then maxima over windows whose places are random."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.judges import Property
from tasks.outcomes import Reason
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
ReLU, then fractional max pooling (Graham 2014): the maxima of windows of a fixed size whose places are random, in one
pattern for all windows of an image and channel.

`input` is (N, C, H, W), float32, finite, with any strides. `kernel_size` is (kh, kw), or one int for both. Exactly one
of these is given: `output_size`, (oh, ow) or one int for both; `output_ratio`, two numbers (rh, rw), and then
oh = int(H * rh), ow = int(W * rw). kh + oh <= H + 1 and kw + ow <= W + 1. The result is (N, C, oh, ow), float32:

    y[n, c, i, j] = max of max(x, 0) over rows a[i] .. a[i] + kh - 1 and columns b[j] .. b[j] + kw - 1 of image (n, c)

Each plane (n, c) has two random numbers of its own, u for the rows and v for the columns, each uniform on [0, 1) and
independent of all others (say `tl.rand(seed, 2 * plane)` and `tl.rand(seed, 2 * plane + 1)`). They fix where all of its
windows begin. The first rows, for i < oh - 1, and the last one:

    a[i] = floor((i + u) * alpha) - floor(u * alpha),    alpha = (H - kh) / (oh - 1)
    a[oh - 1] = H - kh

so a[0] = 0, and for oh = 1 there is only a[0] = H - kh. The first columns b[j] follow in the same way from v, W, kw and
ow. Float32 is enough for the starts: one that rounding has moved, since (i + u) * alpha is next to a whole number, is
accepted. Take a fresh seed for each call, say `random.getrandbits(31)` (the module `random` may be imported).

With return_indices=True the result is a pair: y, and an int64 tensor of the same shape that holds h * W + w of an
element of the window that has this maximum (after ReLU; any of them where there are several).

Judged plane by plane: there must be some u and some v that give all of the plane exactly. Then the numbers themselves
are tested: how often each pattern occurs, and how often two planes, or the rows and the columns of one, share theirs,
with limits that true random numbers break less than once in 10^9 calls.
"""

FALSE_ALARM = 1e-12
"""How often true random numbers fail one of the tests; fewer than a hundred are made of one call."""

LARGEST_SAMPLE = 128  # planes
Size = int | Sequence[int]


def reference(
    input: torch.Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: Sequence[float] | None = None,
    return_indices: bool = False,
) -> Any:
    pool: Any = F.fractional_max_pool2d
    return pool(F.relu(input), kernel_size, output_size, output_ratio, return_indices)


@dataclass(frozen=True)
class Patterns:
    """Every sequence of starts along one direction: what it may be at each place (`low` and `high`, which differ where
    float32 could round to either side), and how much of [0, 1) leads to it (0 for those that rounding adds)."""

    low: torch.Tensor
    high: torch.Tensor
    share: torch.Tensor

    def matching(self, least: torch.Tensor, most: torch.Tensor) -> torch.Tensor:
        """Which patterns fit starts within `least..most`, (planes, places) each: (planes, patterns)."""
        fits = torch.ones((len(least), len(self.low)), dtype=torch.bool)
        for i in range(self.low.shape[1]):
            fits &= (self.low[:, i] <= most[:, i, None]) & (self.high[:, i] >= least[:, i, None])
        return fits

    def starts(self, pattern: int, least: torch.Tensor) -> torch.Tensor:
        """The starts of one pattern; where it has a choice, the one nearest to `least`."""
        return least.clamp(self.low[pattern], self.high[pattern])

    def told(self, fits: torch.Tensor) -> torch.Tensor:
        """The only pattern (of those that need no rounding) that fits each plane; -1 where there are several."""
        plain = fits & (self.share > 0)
        return torch.where(plain.sum(1) == 1, plain.int().argmax(1), -1)


def patterns(size: int, kernel: int, out: int) -> Patterns:
    last = torch.tensor([size - kernel])
    if out == 1:
        return Patterns(last[None], last[None], torch.ones(1))
    alpha = (size - kernel) / (out - 1)
    places = torch.arange(out - 1, dtype=torch.float64)
    # (i + u) * alpha passes a whole number; float32 is off by a few 2^-24 of at most out * alpha
    breaks = (torch.arange(size - kernel + 1) / max(alpha, 1e-9))[:, None] - places
    inner = breaks[(breaks > 0) & (breaks < 1)]
    edges = torch.cat((torch.tensor([0.0, 1.0]), inner)).double().sort().values
    near = out * 2.0**-21
    edges = edges[torch.cat((torch.tensor([True]), edges.diff() > 1e-12))]
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}

    def floors(u: float) -> torch.Tensor:
        return ((places + u) * alpha).floor().long()

    def add(starts: torch.Tensor, upper: torch.Tensor, base: int, length: float) -> None:
        key = tuple((starts - base).tolist()), tuple((upper - base).tolist())
        found[key] = found.get(key, 0.0) + length

    for left, right in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        middle = floors((left + right) / 2)
        add(middle, middle, int(middle[0]), right - left)
    for edge in edges.tolist():
        before, after = floors(edge - near), floors(edge + near)
        for base in {int(before[0])} - {-1} | ({int(after[0])} if edge < 1 else set()):
            add(before, after, base, 0.0)
    bounds = [torch.tensor([key[side] for key in found]) for side in (0, 1)]
    low, high = (torch.cat((bound, last.expand(len(found), 1)), 1) for bound in bounds)
    return Patterns(low.clamp_min(0), high.clamp_max(size - kernel), torch.tensor(list(found.values())))


def check(arguments: dict[str, Any], returned: Any, native: Any) -> str | None:
    values, indices = returned if arguments["return_indices"] else (returned, None)
    kernel = _pair(arguments["kernel_size"])
    (count, channels, height, width), (oh, ow) = arguments["input"].shape, values.shape[2:]
    some = _sample(count * channels)
    planes = arguments["input"].clamp_min(0.0).reshape(count * channels, height * width)[some]
    y = values.reshape(count * channels, oh * ow)[some]
    place, there, told = _located(planes, y)
    if not there.all():
        plane = int((~there).any(1).nonzero()[0])
        return f"{y[plane][~there[plane]][0].item():.9g} is no value of max(input, 0) in plane {int(some[plane])}"
    rows, cols = patterns(height, kernel[0], oh), patterns(width, kernel[1], ow)
    top = _within((place // width).view(-1, oh, ow), told.view(-1, oh, ow), kernel[0])
    left = _within((place % width).view(-1, oh, ow).mT, told.view(-1, oh, ow).mT, kernel[1])
    for_rows, for_cols = rows.matching(*top), cols.matching(*left)
    for plane in range(len(y)):
        grid, want = planes[plane].view(height, width), y[plane].view(oh, ow)
        pick = None if indices is None else indices.reshape(-1, oh, ow)[some[plane]]
        pairs = product(for_rows[plane].nonzero().flatten().tolist(), for_cols[plane].nonzero().flatten().tolist())
        starts = ((rows.starts(r, top[0][plane]), cols.starts(c, left[0][plane])) for r, c in pairs)
        if not any(_explains(grid, want, pick, a, b, kernel) for a, b in starts):
            what = "values" if pick is None else "values and indices"
            return f"no pattern of windows explains the {what} of plane {int(some[plane])}"
    down, right = rows.told(for_rows), cols.told(for_cols)
    alike = (height, kernel[0], oh) == (width, kernel[1], ow)
    unlikely = _unlikely(down, rows.share, channels, "rows") or _unlikely(right, cols.share, channels, "columns")
    return unlikely or (_shared(down, right, rows.share, "rows and columns") if alike else None)


def _sample(count: int) -> torch.Tensor:
    """Which planes are looked at: all, or very many in pairs of neighbours that are spread evenly."""
    if count <= LARGEST_SAMPLE:
        return torch.arange(count)
    firsts = torch.linspace(0, count - 2, LARGEST_SAMPLE // 2).long()
    return (firsts[:, None] + torch.arange(2)).flatten()


def _located(planes: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Where in its plane each result stands, whether it stands there, and whether in one place only."""
    ordered, order = planes.sort(1)
    at = torch.searchsorted(ordered, y.contiguous()).clamp_max(planes.shape[1] - 1)
    found = ordered.gather(1, at)
    following = ordered.gather(1, (at + 1).clamp_max(planes.shape[1] - 1))
    alone = (following != y) | (at == planes.shape[1] - 1)
    return order.gather(1, at), found == y, (found == y) & alone & (y > 0)


def _within(place: torch.Tensor, told: torch.Tensor, kernel: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The least and the largest start of windows of which the elements at `place` (last dimension: one window) are."""
    least = torch.where(told, place - kernel + 1, -(2**40)).amax(-1)
    return least, torch.where(told, place, 2**40).amin(-1)


def _explains(
    grid: torch.Tensor,
    want: torch.Tensor,
    pick: torch.Tensor | None,
    rows: torch.Tensor,
    cols: torch.Tensor,
    kernel: tuple[int, int],
) -> bool:
    """Whether windows that start at these rows and columns have these maxima, at the places in `pick`."""
    tall = grid.unfold(0, kernel[0], 1).amax(-1)
    if not bool((tall.unfold(1, kernel[1], 1).amax(-1)[rows][:, cols] == want).all()):
        return False
    if pick is None:
        return True
    down, right = pick // grid.shape[1] - rows[:, None], pick % grid.shape[1] - cols
    inside = (pick >= 0) & (down >= 0) & (down < kernel[0]) & (right >= 0) & (right < kernel[1])
    return bool(inside.all()) and bool((grid.flatten()[pick] == want).all())


def _unlikely(told: torch.Tensor, share: torch.Tensor, channels: int, name: str) -> str | None:
    """Patterns that occur too often, or that neighbouring planes share too often. Planes whose pattern the result
    doesn't tell only make either rarer, so that Chernoff's bound holds."""
    counts = torch.bincount(told[told >= 0], minlength=len(share))
    for count, chance in zip(counts.tolist(), share.tolist(), strict=True):
        if chance > 0 and _too_many(count, len(told), chance, len(share)):
            return f"{count} of {len(told)} planes have the same {name}, which has probability {chance:.2g}"
    for lag in {1, channels}:
        odd = torch.arange(max(len(told) - lag, 0)) // lag % 2 == 1
        for block in (odd, ~odd):
            found = _shared(told[lag:][block], told[:-lag][block], share, f"the {name} of planes {lag} apart")
            if found:
                return found
    return None


def _shared(one: torch.Tensor, other: torch.Tensor, share: torch.Tensor, name: str) -> str | None:
    same, chance = int(((one == other) & (one >= 0)).sum()), min(float(share.square().sum()), 1.0)
    if _too_many(same, len(one), chance, 1):
        return f"{name} have one pattern in {same} of {len(one)} pairs, which has probability {chance:.2g}"
    return None


def _too_many(count: int, of: int, chance: float, tries: int) -> bool:
    """Chernoff: n independent events of probability p are k or more with at most exp(-n KL(k/n, p)), for k > n p."""
    if chance >= 1 or count <= of * chance:
        return False
    rate = count / of
    terms = ((rate, chance), (1 - rate, 1 - chance))
    return of * sum(a * math.log(a / b) for a, b in terms if a > 0) > math.log(tries / FALSE_ALARM)


def _pair(value: Size) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def public(draw: Draw) -> Iterator[Case]:
    yield Case("output size", (draw.normal(2, 5, 11, 13), 2), {"output_size": (5, 6)})
    yield Case("output ratio", (draw.normal(1, 7, 12, 9), (3, 2)), {"output_ratio": (0.5, 0.6)})
    yield Case("indices", (draw.normal(2, 3, 9, 9), 2), {"output_size": (6, 5), "return_indices": True})


def hidden(draw: Draw) -> Iterator[Case]:
    channels = draw.size(17, 23)
    yield Case("many planes", (draw.normal(3, channels, 10, 10, mean=0.5), 2), {"output_size": 6})
    indices = {"output_ratio": (0.7, 0.4), "return_indices": True}
    yield Case("ratios and indices", (draw.normal(3, 5, draw.size(13, 17), draw.size(13, 17)), (2, 3)), indices)
    yield Case("windows of one element", (draw.normal(2, 3, 11, draw.size(13, 17)), 1), {"output_size": (4, 7)})
    yield Case(
        "output of one element",
        (draw.normal(3, 3, draw.size(6, 9), 7), (3, 2)),
        {"output_size": 1, "return_indices": True},
    )
    yield Case("every place a window", (draw.normal(1, 2, 9, 10), 3), {"output_size": (7, 8)})
    yield Case(
        "large windows, negative values", (draw.normal(2, 3, 17, 19, mean=-1.5), (7, 5)), {"output_size": (4, 6)}
    )
    wide = draw.size(50, 80)
    yield Case("one row", (draw.normal(2, 3, 1, wide), (1, 2)), {"output_size": (1, wide // 3), "return_indices": True})
    yield Case("strided view", (draw.strided(draw.normal(2, 3, 12, 13)), 2), {"output_size": (7, 5)})
    turned = draw.normal(2, 14, 11, 3).permute(0, 3, 2, 1)
    yield Case("transposed view, indices", (turned, 3), {"output_size": (4, 9), "return_indices": True})


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("16 x 64 x 112 x 112, ratio", (draw.normal(16, 64, 112, 112), 2), {"output_ratio": (0.7, 0.7)})
    yield Case(
        "8 x 128 x 100 x 90, indices",
        (draw.normal(8, 128, 100, 90), 3),
        {"output_size": (40, 50), "return_indices": True},
    )
    yield Case("4 x 32 x 256 x 256", (draw.normal(4, 32, 256, 256), 3), {"output_size": 100})


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("2 x 5 x 30 x 30, ratio", (draw.normal(2, 5, 30, 30), 2), {"output_ratio": (0.7, 0.7)})
    yield Case(
        "1 x 6 x 35 x 30, indices",
        (draw.normal(1, 6, 35, 30), 3),
        {"output_size": (20, 17), "return_indices": True},
    )


def cost(
    input: torch.Tensor,
    kernel_size: Size,
    output_size: Size | None = None,
    output_ratio: Sequence[float] | None = None,
    return_indices: bool = False,
) -> Cost:
    if output_size is not None:
        out = _pair(output_size)
    else:
        assert output_ratio is not None
        out = int(input.shape[2] * output_ratio[0]), int(input.shape[3] * output_ratio[1])
    planes, kernel = input.shape[0] * input.shape[1], _pair(kernel_size)
    # small windows far apart leave elements between them unread
    read = planes * math.prod(min(n, k * o) for n, k, o in zip(input.shape[2:], kernel, out, strict=True))
    results = planes * math.prod(out)
    return Cost(min(4 * read, nbytes(input)) + results * (12 if return_indices else 4), results * math.prod(kernel))


TASK = Task(
    id="Fusion/fused_fractional_max_pool2d_with_relu",
    entry="fused_fractional_max_pool2d_with_relu",
    aliases=("fractional_max_pool2d_with_relu",),
    signature=(
        "fused_fractional_max_pool2d_with_relu(input: torch.Tensor, kernel_size, output_size=None, output_ratio=None, "
        "return_indices=False)"
    ),
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Property(check, Reason.DISTRIBUTION),
    cost=cost,
    stochastic=True,
)
