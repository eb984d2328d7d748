"""What several fused tasks share: how long a reduction is, and a batch normalisation's statistics and error terms."""

from __future__ import annotations

import math

import torch

from tasks.draw import Draw

Dims = int | tuple[int, ...] | None


def results(input: torch.Tensor, dim: Dims) -> int:
    """How many results a reduction over `dim` (None: over everything) has."""
    if dim is None:
        return 1
    dims = (dim,) if isinstance(dim, int) else dim
    return input.numel() // math.prod(input.shape[d] for d in dims)


def behind(input: torch.Tensor, dim: Dims) -> int:
    """How many values are behind each result of a reduction over `dim`."""
    return input.numel() // results(input, dim)


def spread(terms: torch.Tensor, dim: Dims, keepdim: bool = False) -> torch.Tensor:
    """The root of the mean square of `terms`, which bounds what rounding them does to a standard deviation."""
    dims = tuple(range(terms.dim())) if dim is None else dim
    return terms.square().mean(dims, keepdim).sqrt()


def running(draw: Draw, channels: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A running mean and a running variance."""
    return draw.normal(channels), draw.uniform(channels, low=0.5, high=2.0)


def affine(draw: Draw, channels: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A weight and a bias."""
    return draw.normal(channels, mean=1.0, std=0.5), draw.normal(channels)


def batch_norm_terms(
    x: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> dict[str, torch.Tensor]:
    """Terms before any of them cancel: (|x| + |mean|) / sqrt(var + eps) * |weight| + |bias| for the normalised values.

    Those of the running variance carry the condition of a variance, sqrt(1 + mean**2 / var): Chan, Golub and
    LeVeque, The American Statistician 37 (1983).
    """
    x = x.double().transpose(1, -1)
    others = list(range(x.dim() - 1))
    if training or running_mean is None or running_var is None:
        mean, var = x.mean(others), x.var(others, correction=0)
    else:
        mean, var = running_mean.double(), running_var.double()
    size = (x.abs() + mean.abs()) / (var + eps).sqrt()
    if weight is not None:
        size = size * weight.double().abs()
    if bias is not None:
        size = size + bias.double().abs()
    terms = {"normalised": size.transpose(1, -1)}
    if training and running_mean is not None and running_var is not None:
        old_mean, old_var = ((1 - momentum) * old.double().abs() for old in (running_mean, running_var))
        terms["running_mean after the call"] = old_mean + momentum * x.abs().mean(others)
        terms["running_var after the call"] = old_var + momentum * (var * (var + mean**2)).sqrt()
    return terms
