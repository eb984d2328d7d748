"""Math/fftn: the discrete Fourier transform of a real tensor along several dimensions."""

import math
from collections.abc import Iterator, Sequence

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes

TEXT = """\
The discrete Fourier transform along each of some dimensions, one after the other (in any order). Along one of length n:

    Y[k] = c sum_(j=0..n-1) x[j] exp(-2 pi i j k / n),      k = 0 .. n - 1

`input` is float32 with one to four dimensions and any strides; the result is complex64, the whole spectrum (not half).
`dim` is an int, or a tuple or list of different ints (negative ones count from the end); `s` is an int, or a tuple or
list of lengths (at least 1), one for each transformed dimension. Along a dimension with a given length s, the input is
first cut off after s elements, or padded with zeros at its end up to s; the result has that length there.
    dim=None, s=None     all dimensions are transformed
    dim=None, s given    the last len(s) dimensions are
    dim given, s=None    lengths stay as they are
`norm` sets the factor c of each dimension: 1 for None and 'backward', 1/sqrt(n) for 'ortho', 1/n for 'forward'; n is
the length after cutting or padding.
Lengths are arbitrary: 1, odd numbers and primes (up to about 200) occur, and so do powers of two.
With `out` given (contiguous, complex64, of the right shape) the result is written into `out`, and `out` is returned.
Values are finite. Complex numbers are pairs of float32 in memory: `torch.view_as_real` gives a view with a last
dimension of 2, which a kernel can write.

Sums in float32 are exact enough, plain ones of n terms with float32 sines and cosines too; TF32 or half precision is
not. The error of each result may be 4 eps sum_d sqrt(n_d) times the 2-norm of what is transformed into it, times c.
"""

Several = int | Sequence[int] | None


def reference(
    input: torch.Tensor,
    s: Several = None,
    dim: Several = None,
    norm: str | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    lengths = [s] if isinstance(s, int) else s
    dims = [dim] if isinstance(dim, int) else dim
    values = torch.fft.fftn(input, lengths, dims, norm)
    return values.contiguous() if out is None else out.copy_(values)


def plan(input: torch.Tensor, s: Several, dim: Several) -> dict[int, int]:
    """The length along each transformed dimension."""
    lengths = [s] if isinstance(s, int) else s
    if dim is None:
        dims = list(range(input.dim()) if lengths is None else range(input.dim() - len(lengths), input.dim()))
    else:
        dims = [d % input.dim() for d in ([dim] if isinstance(dim, int) else dim)]
    return {d: input.shape[d] if lengths is None else lengths[i] for i, d in enumerate(dims)}


def slack(input: torch.Tensor, s: Several, dim: Several, **_: object) -> float:
    return 4 * sum(math.sqrt(n) for n in plan(input, s, dim).values())


def magnitude(input: torch.Tensor, s: Several, dim: Several, norm: str | None, **_: object) -> torch.Tensor:
    """The 2-norm over the transformed dimensions of what is left after cutting, with the factor of `norm`."""
    lengths = plan(input, s, dim)
    x = input.double()
    for d, n in lengths.items():
        x = x.narrow(d, 0, min(n, x.shape[d]))
    power = {None: 0.0, "backward": 0.0, "ortho": -0.5, "forward": -1.0}[norm]
    scale: float = math.prod(lengths.values()) ** power
    return x.square().sum(list(lengths), keepdim=True).sqrt() * scale


def public(draw: Draw) -> Iterator[Case]:
    yield Case("vector", (draw.normal(33),))
    yield Case("matrix, ortho", (draw.normal(7, 20),), {"norm": "ortho"})
    yield Case("one dimension, padded", (draw.normal(5, 12),), {"s": (16,), "dim": (-1,)})


def hidden(draw: Draw) -> Iterator[Case]:
    rows, cols = draw.size(5, 19), draw.size(20, 45)
    yield Case("batch of signals", (draw.normal(rows, cols), None, -1))
    yield Case("first dimension, forward", (draw.normal(cols, rows), None, (0,), "forward"))
    yield Case("prime length", (draw.normal(3, draw.pick((101, 127, 149))), None, 1))
    yield Case("power of two", (draw.normal(2, 256, mean=3.0), None, [1], "backward"))
    yield Case("composite length", (draw.normal(draw.pick((360, 462, 600))),))
    yield Case("three dimensions", (draw.normal(5, rows, 12, mean=-1.0),))
    yield Case("dimensions in another order, ortho", (draw.normal(6, 5, rows), None, (2, 0), "ortho"))
    yield Case("last dimensions cut and padded", (draw.normal(3, rows, 17), (rows + 4, 9)))
    yield Case("lengths for given dimensions", (draw.normal(9, 4, rows), [5, rows + 1], [0, -1], "forward"))
    yield Case("four dimensions", (draw.normal(2, 3, 5, 7), None, (1, 3)))
    yield Case("strided view", (draw.strided(draw.normal(rows, cols)),))
    yield Case("transposed view", (draw.normal(cols, rows).T, None, 0))
    out = draw.normal(rows, 15, 2)
    yield Case("out given", (draw.normal(rows, 15),), {"out": torch.view_as_complex(out)})
    yield Case("lengths of 1", (draw.normal(1, rows), (1, 1)))


def timed(draw: Draw) -> Iterator[Case]:
    yield Case("2048 x 2048", (draw.normal(2048, 2048),))
    yield Case("4000 signals of 1000", (draw.normal(4000, 1000), None, -1))
    yield Case("8 x 120 x 125 x 128", (draw.normal(8, 120, 125, 128), None, (1, 2, 3)))


def stand_ins(draw: Draw) -> Iterator[Case]:
    yield Case("40 x 60", (draw.normal(40, 60),))
    yield Case("50 signals of 100", (draw.normal(50, 100), None, -1))


def cost(
    input: torch.Tensor,
    s: Several = None,
    dim: Several = None,
    norm: str | None = None,
    out: torch.Tensor | None = None,
) -> Cost:
    lengths = plan(input, s, dim)
    shape = [lengths.get(d, size) for d, size in enumerate(input.shape)]
    read = math.prod(min(a, b) for a, b in zip(shape, input.shape, strict=True)) * input.element_size()
    total = math.prod(shape)
    # real input has a spectrum of which half is the other half's conjugate
    flops = int(2.5 * total * math.log2(max(2, math.prod(lengths.values()))))
    return Cost(min(read, nbytes(input)) + 8 * total, flops)


TASK = Task(
    id="Math/fftn",
    entry="fftn",
    signature="fftn(input, s=None, dim=None, norm=None, out=None)",
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(slack=slack, magnitude=magnitude),
    cost=cost,
    writes_to="out",
)
