"""Functions of torch written out as kernels compute them, so that single steps of theirs can be changed.

Each takes a `Form` and the function's own arguments, and gives NotImplemented where it doesn't cover them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

MOST_STEPS = 32  # of a loop in Python


@dataclass(frozen=True)
class Form:
    """One of several equal ways of writing a function: `variant` 0 or 1, and the tile of a loop over a reduced
    dimension (None: no loop)."""

    variant: int = 0
    tile: int | None = None


def gelu(form: Form, x: torch.Tensor, approximate: str = "none") -> Any:
    if approximate == "none":
        return 0.5 * x * (1.0 + torch.erf(x * math.sqrt(0.5)))
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    if form.variant:
        return x / (1.0 + torch.exp(-2.0 * inner))
    return 0.5 * x * (1.0 + torch.tanh(inner))


def sigmoid(form: Form, x: torch.Tensor) -> torch.Tensor:
    return 1.0 / (1.0 + torch.exp(-x))


def silu(form: Form, x: torch.Tensor, inplace: bool = False) -> Any:
    return NotImplemented if inplace else x / (1.0 + torch.exp(-x))


def below(x: torch.Tensor, top: torch.Tensor) -> torch.Tensor:
    """x - top, for an exponential that must not overflow."""
    return x - top


def risen(top: torch.Tensor, higher: torch.Tensor) -> torch.Tensor:
    """How far a maximum has risen, negative: what a running sum is scaled by the exponential of."""
    return top - higher


def online(form: Form, x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The maximum along `dim` and the sum of exp(x - maximum), tile by tile, as size 1."""
    parts = torch.split(x, form.tile or max(1, x.shape[dim]), dim)
    top = torch.full_like(x.narrow(dim, 0, 1), -math.inf)
    total = torch.zeros_like(top)
    for part in parts:
        higher = torch.maximum(top, part.amax(dim, keepdim=True))
        total = total * risen(top, higher).exp() + below(part, higher).exp().sum(dim, keepdim=True)
        top = higher
    return top, total


def softmax(form: Form, x: torch.Tensor, dim: int, *_: Any, dtype: torch.dtype | None = None, **__: Any) -> Any:
    x = x.to(dtype or x.dtype)
    top, total = online(form, x, dim)
    return below(x, top).exp() / total


def log_softmax(form: Form, x: torch.Tensor, dim: int, *_: Any, dtype: torch.dtype | None = None, **__: Any) -> Any:
    x = x.to(dtype or x.dtype)
    top, total = online(form, x, dim)
    return x - top - total.log()


def logsumexp(form: Form, x: torch.Tensor, dim: Any, keepdim: bool = False) -> Any:
    if not isinstance(dim, int):
        return NotImplemented
    top, total = online(form, x, dim)
    value = total.log() + top
    return value if keepdim else value.squeeze(dim)


def cross_entropy(form: Form, x: torch.Tensor, target: torch.Tensor, **options: Any) -> Any:
    if options.get("label_smoothing") or target.is_floating_point() or x.dim() < 2:
        return NotImplemented
    top, total = online(form, x, 1)
    kept = target != options.get("ignore_index", -100)
    safe = target.where(kept, 0)
    picked = x.gather(1, safe.unsqueeze(1))
    weight = options.get("weight")
    weights = torch.ones_like(picked.squeeze(1)) if weight is None else weight[safe]
    weights = torch.where(kept, weights, 0.0)
    losses = torch.where(kept, (total.log() + top - picked).squeeze(1) * weights, 0.0)
    reduction = options.get("reduction", "mean")
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / weights.sum()


def batch_norm(
    form: Form,
    x: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    shape = [1, -1] + [1] * (x.dim() - 2)
    if training:
        dims = [dim for dim in range(x.dim()) if dim != 1]
        mean, var = x.mean(dims), x.var(dims, correction=0)
        if running_mean is not None and running_var is not None:
            running_mean.copy_((1 - momentum) * running_mean + momentum * mean)
            running_var.copy_((1 - momentum) * running_var + momentum * x.var(dims, correction=1))
    elif running_mean is None or running_var is None:
        return NotImplemented
    else:
        mean, var = running_mean, running_var
    return _affine(x, mean.view(shape), var.view(shape), eps, _shaped(weight, shape), _shaped(bias, shape))


def layer_norm(
    form: Form,
    x: torch.Tensor,
    normalized_shape: Sequence[int],
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> Any:
    dims = list(range(x.dim() - len(normalized_shape), x.dim()))
    return _affine(x, x.mean(dims, keepdim=True), x.var(dims, correction=0, keepdim=True), eps, weight, bias)


def rms_norm(
    form: Form, x: torch.Tensor, normalized_shape: Sequence[int], weight: torch.Tensor | None = None, eps: Any = None
) -> Any:
    dims = list(range(x.dim() - len(normalized_shape), x.dim()))
    normal = x / ((x * x).mean(dims, keepdim=True) + (torch.finfo(x.dtype).eps if eps is None else eps)).sqrt()
    return normal if weight is None else normal * weight


def group_norm(
    form: Form,
    x: torch.Tensor,
    num_groups: int,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> Any:
    shape = [1, -1] + [1] * (x.dim() - 2)
    groups = x.reshape(x.shape[0], num_groups, -1)
    mean, var = groups.mean(-1, keepdim=True), groups.var(-1, correction=0, keepdim=True)
    normal = _affine(groups, mean, var, eps, None, None).reshape(x.shape)
    normal = normal if weight is None else normal * weight.view(shape)
    return normal if bias is None else normal + bias.view(shape)


def _affine(x: torch.Tensor, mean: Any, var: Any, eps: float, weight: Any, bias: Any) -> Any:
    normal = (x - mean) / (var + eps).sqrt()
    normal = normal if weight is None else normal * weight
    return normal if bias is None else normal + bias


def _shaped(value: torch.Tensor | None, shape: list[int]) -> torch.Tensor | None:
    return None if value is None else value.view(shape)


def cholesky(form: Form, a: torch.Tensor, *, upper: bool = False, out: Any = None) -> Any:
    """Column by column; NaN where the matrix is not positive definite."""
    n = a.shape[-1]
    if n > MOST_STEPS or out is not None:
        return NotImplemented
    rest, columns, rows = (a.mH if upper else a).clone(), [], torch.arange(n)
    for k in range(n):
        root = rest[..., k, k, None].real.sqrt()
        if a.is_complex():
            re = torch.where(rows >= k, rest[..., k].real / root, 0.0)
            im = torch.where(rows > k, rest[..., k].imag / root, 0.0)
            columns.append(torch.complex(re, im))
            real = re[..., :, None] * re[..., None, :] + im[..., :, None] * im[..., None, :]
            rest = rest - torch.complex(real, im[..., :, None] * re[..., None, :] - re[..., :, None] * im[..., None, :])
        else:
            columns.append(torch.where(rows >= k, rest[..., k] / root, 0.0))
            rest = rest - columns[-1][..., :, None] * columns[-1][..., None, :]
    factor = torch.stack(columns, -1)
    return factor.mH if upper else factor


def avg_pool1d(form: Form, x: torch.Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, *rest: Any) -> Any:
    length, step, pad = (v[0] if isinstance(v, (tuple, list)) else v for v in (kernel_size, stride, padding))
    if rest:
        return NotImplemented
    padded = torch.nn.functional.pad(x, (pad, pad))
    return padded.unfold(-1, length, step or length).sum(-1) / length


def interpolate(
    form: Form,
    x: torch.Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    *_: Any,
    **__: Any,
) -> Any:
    if mode not in ("nearest", "linear", "bilinear"):
        return NotImplemented
    spatial = x.dim() - 2
    sizes, factors = (v if isinstance(v, (tuple, list)) else (v,) * spatial for v in (size, scale_factor))
    for dim in range(2, x.dim()):
        length, factor = x.shape[dim], factors[dim - 2]
        out = sizes[dim - 2] if factor is None else math.floor(length * factor)
        step = length / out if factor is None else 1 / factor
        places = torch.arange(out, dtype=torch.float64)
        if mode == "nearest":
            x = x.index_select(dim, (places * step).floor().long().clamp(0, length - 1))
            continue
        if align_corners:
            places = places * ((length - 1) / max(1, out - 1))
        else:
            places = ((places + 0.5) * step - 0.5).clamp(min=0)
        low = places.floor().long().clamp(0, length - 1)
        share = (places - low).reshape([-1 if i == dim else 1 for i in range(x.dim())])
        high = (low + 1).clamp(max=length - 1)
        x = (1 - share) * x.index_select(dim, low) + share * x.index_select(dim, high)
    return x


SPELLED: Mapping[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (gelu, sigmoid, silu, softmax, log_softmax, logsumexp, cross_entropy)},
    **{f.__name__: f for f in (avg_pool1d, interpolate)},
    **{f.__name__: f for f in (batch_norm, layer_norm, rms_norm, group_norm)},
    "linalg_cholesky": cholesky,
    "cholesky": cholesky,
}
TILED = ("softmax", "log_softmax", "logsumexp", "cross_entropy")
TWO_FORMS = ("gelu",)
