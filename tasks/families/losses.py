"""What losses of two tensors of one shape share: how they are reduced, and what that does to cost and error."""

import math

import torch

from tasks.task import Cost, nbytes


def reduced(terms: torch.Tensor, reduction: str) -> torch.Tensor:
    """`terms` as they are ('none'), their sum, their mean, or their sum by the first dimension's size ('batchmean')."""
    if reduction == "none":
        return terms
    divisor = {"sum": 1, "mean": terms.numel(), "batchmean": terms.shape[0]}[reduction]
    return terms.sum() / divisor


def slack(input: torch.Tensor, reduction: str) -> float:
    """For a loss of a few float32 operations an element, and then a float32 sum in any order."""
    return 4.0 if reduction == "none" else 4.0 + 4.0 * math.sqrt(input.numel())


def cost(reduction: str, flops: int, *read: torch.Tensor | None) -> Cost:
    """Reads each of `read` once; `flops` operations for an element of the first of them, which fixes the result."""
    input = read[0]
    assert input is not None
    results = input.numel() if reduction == "none" else 1
    return Cost(nbytes(*read) + results * input.element_size(), flops * input.numel())
