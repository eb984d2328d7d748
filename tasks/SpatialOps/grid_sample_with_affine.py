"""SpatialOps/grid_sample_with_affine: an image moved by an affine map, resampled on a grid of a given size."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Make the grid of an affine map, then sample `input` on it. `input` is float32 of shape (N, C, H, W), `theta` float32 of
shape (N, 2, 3), both with any strides. `size` is a tuple of four ints (N, C, P, Q), the shape of the result, which
is float32. The point (p, q) of the result has the coordinates

    align_corners=False:  x = (2q + 1) / Q - 1,      y = (2p + 1) / P - 1
    align_corners=True:   x = 2q / (Q - 1) - 1,      y = 2p / (P - 1) - 1        (P, Q > 1 then)

and is sampled at

    gx = theta[n,0,0] x + theta[n,0,1] y + theta[n,0,2],     gy = theta[n,1,0] x + theta[n,1,1] y + theta[n,1,2]

A coordinate g stands for the place t along W (for gx) or H (for gy), a dimension of length L:

    align_corners=False:  t = ((g + 1) L - 1) / 2
    align_corners=True:   t = (g + 1) (L - 1) / 2

`padding_mode` says what happens to places outside the image:

    'zeros'       pixels outside 0 .. L - 1 count as 0
    'border'      t becomes min(max(t, 0), L - 1)
    'reflection'  t is reflected at the borders until it lies inside, then clamped as for 'border'; the borders are 0
                  and L - 1 with align_corners=True, else -1/2 and L - 1/2

`mode` is 'bilinear' or 'nearest' (no other occurs), with tx and ty the places along W and H:

    'bilinear'    with i = floor(ty), j = floor(tx), v = ty - i, u = tx - j:
                  (1-v)(1-u) in[i,j] + (1-v) u in[i,j+1] + v (1-u) in[i+1,j] + v u in[i+1,j+1]
    'nearest'     in[rint(ty), rint(tx)]; no place is so near to a half-integer that float32 rounding matters

Entries of theta are finite, at most 3 in size. Images hold NaN or infinity only with 'nearest', where they are copied.
Float32 arithmetic, coordinates included, is enough (TF32 is not): bilinear results may be off by 4 eps (eps of float32)
times max|input| times max(H, W) times the largest row sum of 1 + |theta|, what rounding a place costs.
"""


def reference(
    input: torch.Tensor,
    theta: torch.Tensor,
    size: Sequence[int],
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> torch.Tensor:
    grid = F.affine_grid(theta, list(size), align_corners)
    return F.grid_sample(input, grid, mode, padding_mode, align_corners)


def slack(input: torch.Tensor, theta: torch.Tensor, mode: str, **_: Any) -> float:
    if mode == "nearest":
        return 0.0
    return 4.0 * max(input.shape[2:]) * float((1 + theta.abs().sum(-1)).max())


def magnitude(input: torch.Tensor, **_: Any) -> torch.Tensor:
    return input.double().abs().nan_to_num(0.0, 0.0).amax()


def maps(draw: Draw, n: int, spread: float = 0.5) -> torch.Tensor:
    """Affine maps near the identity."""
    return torch.eye(2, 3) + draw.uniform(n, 2, 3, low=-spread, high=spread)


def clear_maps(draw: Draw, n: int, lengths: Sequence[int], outs: Sequence[int], align_corners: bool) -> torch.Tensor:
    """Affine maps that send no point of the grid within 1/2000 of the boundary between two pixels."""
    size = torch.tensor([lengths[1], lengths[0]], dtype=torch.float64)
    found: list[torch.Tensor] = []
    while len(found) < n:
        theta = maps(draw, 1)
        g = F.affine_grid(theta.double(), [1, 1, *outs], align_corners)
        t = (g + 1) * (size - 1) / 2 if align_corners else ((g + 1) * size - 1) / 2
        if ((t - t.floor() - 0.5).abs() > 5e-4).all():
            found.append(theta)
    return torch.cat(found)


def public(draw: Draw) -> Iterator[Case]:
    yield Case("bilinear, zeros", (draw.normal(2, 3, 7, 9), maps(draw, 2), (2, 3, 5, 6)))
    theta = clear_maps(draw, 1, (10, 13), (6, 7), False)
    yield Case("nearest", (draw.normal(1, 2, 10, 13), theta, (1, 2, 6, 7), "nearest"))
    size = (2, 3, 11, 3)
    yield Case("border, corners aligned", (draw.normal(2, 3, 8, 5), maps(draw, 2), size, "bilinear", "border", True))


def hidden(draw: Draw) -> Iterator[Case]:
    h, w, p, q = (draw.size(5, 17) for _ in range(4))
    image, size = draw.normal(2, 3, h, w), (2, 3, p, q)
    yield Case("bilinear, corners aligned", (image, maps(draw, 2), size, "bilinear", "zeros", True))
    yield Case("border", (image, maps(draw, 2, 1.0), size), {"padding_mode": "border"})
    yield Case("reflection", (image, maps(draw, 2, 1.9), size), {"padding_mode": "reflection"})
    yield Case("reflection, corners aligned", (image, maps(draw, 2, 1.9), size, "bilinear", "reflection", True))
    special = draw.normal(2, 2, h, w, std=1e6)
    special[0, 0, 1], special[1, :, :, 2] = math.nan, draw.pick((math.inf, -math.inf))
    theta = clear_maps(draw, 2, (h, w), (9, q), False)
    yield Case("nearest, NaN and infinity", (special, theta, (2, 2, 9, q), "nearest"))
    theta = clear_maps(draw, 2, (h, w), (8, 11), True)
    aligned = (image, theta, (2, 3, 8, 11), "nearest", draw.pick(("border", "reflection")), True)
    yield Case("nearest, inside, corners aligned", aligned)
    turned = draw.normal(2, h, w, 5).permute(0, 3, 2, 1)
    theta = maps(draw, 2).transpose(1, 2).contiguous().transpose(1, 2)
    yield Case("channels last, transposed theta", (turned, theta, (2, 5, p, q)))
    strided = (draw.strided(draw.normal(1, 4, h, w)), draw.strided(maps(draw, 1)), (1, 4, p, q))
    yield Case("strided views", strided)
    yield Case("one row of points", (image, maps(draw, 2), (2, 3, 1, q)))
    yield Case("one pixel", (draw.normal(2, 3, 1, 1), maps(draw, 2), (2, 3, 4, q)))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("8 x 64 x 128 x 128", (draw.normal(8, 64, 128, 128), maps(draw, 8, 0.1), (8, 64, 128, 128)))
    size = (16, 3, 448, 448)
    yield Case("16 x 3 x 500 x 700, border", (draw.normal(16, 3, 500, 700), maps(draw, 16), size, "bilinear", "border"))
    size = (32, 32, 100, 150)
    yield Case(
        "32 x 32 x 200 x 300, reflection",
        (draw.normal(32, 32, 200, 300), maps(draw, 32), size, "bilinear", "reflection"),
    )


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("2 x 4 x 35 x 37", (draw.normal(2, 4, 35, 37), maps(draw, 2, 0.1), (2, 4, 40, 41)))
    size = (1, 5, 45, 50)
    yield Case("1 x 5 x 30 x 41, border", (draw.normal(1, 5, 30, 41), maps(draw, 1, 0.1), size, "bilinear", "border"))


def cost(
    input: torch.Tensor,
    theta: torch.Tensor,
    size: Sequence[int],
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Cost:
    """The result is written once; of the image, half of what it holds or of what the result needs may suffice."""
    results = math.prod(size)
    read = min(input.numel(), results) // 2
    return Cost(nbytes(theta) + 4 * (read + results), results * (1 if mode == "nearest" else 8))


TASK = Task(
    id="SpatialOps/grid_sample_with_affine",
    entry="grid_sample_with_affine",
    signature="grid_sample_with_affine(input: torch.Tensor, theta: torch.Tensor, size: torch.Size, "
    "mode: str='bilinear', padding_mode: str='zeros', align_corners: bool=False)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
