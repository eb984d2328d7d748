"""SpatialOps/grid_sample: read an image at places that a grid of coordinates names."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
Sample `input`, float32 of shape (N, C, H, W), at the coordinates in `grid`, float32 of shape (N, P, Q, 2); the result
is float32, of shape (N, C, P, Q). Both have any strides. grid[n, p, q] = (x, y): x goes along W, y along H, and -1 and
1 stand for the two borders. First each coordinate g is turned into a place t along a dimension of length `size`:

    align_corners=False:  t = ((g + 1) size - 1) / 2        -1 and 1 are the outer edges of the corner pixels
    align_corners=True:   t = (g + 1) (size - 1) / 2        -1 and 1 are the centres of the corner pixels

`padding_mode` says what happens to places outside the image:
    'zeros'       pixels outside 0 .. size - 1 count as 0
    'border'      t becomes min(max(t, 0), size - 1)
    'reflection'  t is reflected at the borders until it lies inside, then clamped as for 'border'; the borders are 0
                  and size - 1 with align_corners=True (a size of 1 gives t = 0), else -1/2 and size - 1/2
`mode` is 'bilinear' or 'nearest' (no other occurs), with tx and ty the places along W and H:
    'bilinear'    with i = floor(ty), j = floor(tx), v = ty - i, u = tx - j:
                  (1-v)(1-u) in[i,j] + (1-v) u in[i,j+1] + v (1-u) in[i+1,j] + v u in[i+1,j+1]
    'nearest'     in[rint(ty), rint(tx)]; no place is so near to a half-integer that float32 rounding matters

Coordinates are finite, at most 5 in size. Images hold NaN or infinity only with 'nearest', where they are copied.
Float32 arithmetic, places included, is enough: bilinear results may be off by 4 eps (eps of float32) times
max|input| times max(H, W) times max(1, max|grid|), what rounding a place costs.
"""


def reference(
    input: torch.Tensor,
    grid: torch.Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> torch.Tensor:
    return F.grid_sample(input, grid, mode, padding_mode, align_corners)


def slack(input: torch.Tensor, grid: torch.Tensor, mode: str, **_: Any) -> float:
    return 0.0 if mode == "nearest" else 4.0 * max(input.shape[2:]) * max(1.0, float(grid.abs().max()))


def magnitude(input: torch.Tensor, **_: Any) -> torch.Tensor:
    return input.double().abs().nan_to_num(0.0, 0.0).amax()


def places(draw: Draw, n: int, p: int, q: int, spread: float = 1.2) -> torch.Tensor:
    return draw.uniform(n, p, q, 2, low=-spread, high=spread)


def inside_pixels(draw: Draw, image: torch.Tensor, p: int, q: int, align_corners: bool = False) -> torch.Tensor:
    """Coordinates of places within 0.4 of a pixel's centre, some of them outside the image."""
    h, w = image.shape[2:]
    size = torch.tensor([w, h], dtype=torch.float64)
    pixel = draw.uniform(image.shape[0], p, q, 2, low=-0.25, high=1.25, dtype=torch.float64) * size
    t = pixel.floor() + draw.uniform(image.shape[0], p, q, 2, low=-0.4, high=0.4, dtype=torch.float64)
    return (2 * t / (size - 1) - 1 if align_corners else (2 * t + 1) / size - 1).float()


def public(draw: Draw) -> Iterator[Case]:
    yield Case("bilinear, zeros", (draw.normal(2, 3, 7, 9), places(draw, 2, 5, 6)))
    image = draw.normal(1, 2, 10, 13)
    yield Case("nearest", (image, inside_pixels(draw, image, 6, 7)), {"mode": "nearest"})
    corners: Mapping[str, Any] = {"padding_mode": "border", "align_corners": True}
    yield Case("border, corners aligned", (draw.normal(2, 3, 8, 5), places(draw, 2, 11, 3)), corners)


def hidden(draw: Draw) -> Iterator[Case]:
    h, w, p, q = (draw.size(5, 17) for _ in range(4))
    image = draw.normal(2, 3, h, w)
    yield Case("bilinear, corners aligned", (image, places(draw, 2, p, q), "bilinear", "zeros", True))
    yield Case("border", (draw.normal(2, 5, h, w), places(draw, 2, p, q, 1.6)), {"padding_mode": "border"})
    yield Case("reflection", (image, places(draw, 2, p, q, 4.5)), {"padding_mode": "reflection"})
    far = places(draw, 2, p, q, draw.pick((1.5, 4.5)))
    yield Case("reflection, corners aligned", (image, far, "bilinear", "reflection", True))
    special = draw.normal(2, 2, h, w, std=1e6)
    special[0, 0, 1], special[1, :, :, 2] = math.nan, draw.pick((math.inf, -math.inf))
    yield Case("nearest, NaN and infinity", (special, inside_pixels(draw, special, p, q), "nearest"))
    aligned = inside_pixels(draw, image, p, q, True)
    yield Case("nearest, reflection, corners aligned", (image, aligned, "nearest", "reflection", True))
    yield Case("nearest, border", (image, inside_pixels(draw, image, p, 9), "nearest", "border"))
    turned = draw.normal(2, h, w, 5).permute(0, 3, 2, 1)
    yield Case("channels last, transposed grid", (turned, places(draw, 2, p, q).transpose(1, 2)))
    views = draw.strided(draw.normal(1, 4, h, w)), draw.strided(places(draw, 1, p, q))
    yield Case("strided views", views)
    yield Case("one pixel", (draw.normal(2, 3, 1, 1), places(draw, 2, 4, q)))
    yield Case("one place", (draw.normal(3, 2, h, w), places(draw, 3, 1, 1, 0.9)))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("8 x 64 x 128 x 128", (draw.normal(8, 64, 128, 128), places(draw, 8, 128, 128, 1.05)))
    kind: Mapping[str, Any] = {"padding_mode": "border", "align_corners": True}
    yield Case("16 x 3 x 500 x 700, border", (draw.normal(16, 3, 500, 700), places(draw, 16, 448, 448, 1.1)), kind)
    image = draw.normal(4, 32, 200, 300)
    yield Case("4 x 32 x 200 x 300, nearest", (image, inside_pixels(draw, image, 250, 250), "nearest"))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("2 x 4 x 35 x 37", (draw.normal(2, 4, 35, 37), places(draw, 2, 40, 41, 1.05)))
    image = draw.normal(1, 5, 30, 41)
    yield Case("1 x 5 x 30 x 41, nearest", (image, inside_pixels(draw, image, 45, 50), "nearest"))


def cost(
    input: torch.Tensor,
    grid: torch.Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Cost:
    """The grid is read and the result written once; of the image, no more than the pixels that can be needed."""
    results = input.shape[0] * input.shape[1] * grid.shape[1] * grid.shape[2]
    taps = 1 if mode == "nearest" else 4
    read = min(input.numel(), taps * results)
    return Cost(nbytes(grid) + 4 * (read + results), results * (1 if taps == 1 else 8))


TASK = Task(
    id="SpatialOps/grid_sample",
    entry="grid_sample",
    signature="grid_sample(input, grid, mode='bilinear', padding_mode='zeros', align_corners=False)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
)
