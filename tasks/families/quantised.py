"""Symmetric quantisation at run time, shared by the w8a8 tasks, and where a rounding may go either way."""

import torch

# a scale and a quotient may be off by 2 ulp each, and the judge's own are by half of one
ROOM = 6 * torch.finfo(torch.float32).eps


def quantise(x: torch.Tensor, dims: int | tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """Whole numbers -127..127 as float32 for float32 `x`, and their float32 scales: one for all of `dims` (kept)."""
    scale = x.abs().amax(dims, keepdim=True) / 127
    return torch.round(x / torch.where(scale > 0, scale, 1)), scale


def doubt(x: torch.Tensor, dims: int | tuple[int, ...]) -> torch.Tensor:
    """1 (float64) where `quantise` may round either way, since the quotient is that near to a half-integer; else 0."""
    _, scale = quantise(x, dims)
    quotient = x.double() / torch.where(scale > 0, scale, 1).double()
    return (torch.round(quotient * (1 + ROOM)) - torch.round(quotient * (1 - ROOM))).abs()
