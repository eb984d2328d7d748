"""Seeded values for test cases: the only source of randomness that a task file uses."""

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy
import torch

T = TypeVar("T")
BLOCK = 2**19
DRAWERS = 8  # torch rounds with threads of its own besides
Fill = Callable[[numpy.random.Generator, int], numpy.ndarray]


class Draw:
    """A stream of sizes, choices and CPU tensors that is fixed by `seed`."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed % 2**63)

    def size(self, low: int, high: int) -> int:
        """One integer, uniform over `low..high`, both included."""
        return int(torch.randint(low, high + 1, (), generator=self._generator))

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`, uniformly."""
        return options[self.size(0, len(options) - 1)]

    def normal(
        self, *shape: int, dtype: torch.dtype = torch.float32, mean: float = 0.0, std: float = 1.0
    ) -> torch.Tensor:
        """Normal values of the given shape; drawn in float64, then rounded to `dtype`."""
        if math.prod(shape) > BLOCK:
            return self._blocks(shape, dtype, std, mean, lambda source, count: source.standard_normal(count))
        values = torch.randn(shape, generator=self._generator, dtype=torch.float64)
        return (values * std + mean).to(dtype)

    def uniform(
        self, *shape: int, low: float = 0.0, high: float = 1.0, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Uniform values in `[low, high)` of the given shape."""
        if math.prod(shape) > BLOCK:
            return self._blocks(shape, dtype, high - low, low, lambda source, count: source.random(count))
        values = torch.rand(shape, generator=self._generator, dtype=torch.float64)
        return (values * (high - low) + low).to(dtype)

    def integers(self, low: int, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        """Uniform integers over `low..high`, both included."""
        return torch.randint(low, high + 1, shape, generator=self._generator).to(dtype)

    def mask(self, *shape: int, p: float = 0.5) -> torch.Tensor:
        """Booleans, true with probability `p`."""
        return torch.rand(shape, generator=self._generator) < p

    def seed(self) -> int:
        """A seed for something that needs one of its own, such as a `torch.Generator` argument."""
        return self.size(1, 2**31 - 1)

    def strided(self, values: torch.Tensor) -> torch.Tensor:
        """The same values as a view that is not contiguous: every second element of the last dimension,
        starting at an offset, of a larger buffer whose other elements are random."""
        *outer, last = values.shape
        room = torch.randn((*outer, 2 * last + 1), generator=self._generator).to(values.dtype)
        view = room[..., 1 : 2 * last + 1 : 2]
        view.copy_(values)
        return view

    def _blocks(
        self, shape: Sequence[int], dtype: torch.dtype, scale: float, offset: float, fill: Fill
    ) -> torch.Tensor:
        """Many values, in blocks that have a source of their own each, some of them at a time."""
        values, seed = torch.empty(shape, dtype=dtype), self.seed()

        def draw(number: int, block: torch.Tensor) -> None:
            drawn = fill(numpy.random.Generator(numpy.random.SFC64([seed, number])), block.numel())
            drawn *= scale
            drawn += offset
            block.copy_(torch.from_numpy(drawn))

        with ThreadPoolExecutor(min(DRAWERS, os.cpu_count() or 1)) as pool:
            list(pool.map(draw, range(math.ceil(values.numel() / BLOCK)), torch.split(values.view(-1), BLOCK)))
        return values
