"""What tasks around a matrix product share: values that show which precision it was computed in, and odd sizes."""

import math

import torch

from tasks.draw import Draw


def odd(draw: Draw, low: int, high: int) -> int:
    """An odd size of about `low..high`."""
    return 2 * draw.size(low // 2, high // 2) + 1


def just_above_two(draw: Draw, *shape: int) -> torch.Tensor:
    """Float32 values that float16, bfloat16 and TF32 (10 bits or fewer after the point) all round down to 2.

    Their errors have one sign, so no sum of products averages them away.
    """
    return draw.uniform(*shape, low=2.0002, high=2.0008)


def with_specials(draw: Draw, values: torch.Tensor) -> torch.Tensor:
    """A matrix of at least 9 rows and 2 columns with NaN in row 1, inf in row 3 and both infinities in row 5."""
    cols = values.shape[1]
    values[1, draw.size(0, cols - 1)] = math.nan
    values[3, draw.size(0, cols - 1)] = math.inf
    values[5, 0], values[5, cols - 1] = math.inf, -math.inf
    return values


def absolute_product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """|left| @ |right| in float64: the sums of absolute values of the terms behind each element of a product."""
    return left.double().abs() @ right.double().abs()
