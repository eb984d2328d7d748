import math

import torch
import triton
import triton.language as tl


@triton.jit
def gelu(x, TANH: tl.constexpr):
    if TANH:
        # tanh(u) = 1 - 2 / (1 + exp(2 u)), twice sqrt(2 / pi) being 1.5957691
        half = 1.0 - 1.0 / (1.0 + tl.exp(1.5957691216 * (x + 0.044715 * x * x * x)))
    else:
        half = 0.5 * (1.0 + tl.erf(x * 0.7071067812))
    return x * half


@triton.jit
def min_gelu_kernel(
    x_ptr, y_ptr, index_ptr, n, inner, span, outers, stride_outer, stride_n, stride_inner,
    FINISHED: tl.constexpr, TANH: tl.constexpr, INDICES: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    """The minimum over one span of the reduced dimension; FINISHED takes values that are GELU already."""
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    cols = (tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)
    rows = tl.arange(0, BLOCK_N)
    begin = tl.program_id(1) * span
    end = tl.minimum(begin + span, n)
    base = x_ptr + outer * stride_outer + cols[None, :].to(tl.int64) * stride_inner

    best = tl.full((BLOCK_N, BLOCK_I), float("inf"), tl.float32)
    place = tl.zeros((BLOCK_N, BLOCK_I), tl.int32) + (begin + rows)[:, None]
    for start in range(begin, end, BLOCK_N):
        offs = start + rows[:, None]
        mask = (offs < end) & (cols[None, :] < inner)
        g = tl.load(base + offs.to(tl.int64) * stride_n, mask=mask, other=float("inf"))
        if not FINISHED:
            g = gelu(g, TANH)
        # the first NaN beats every number and stays
        better = (g < best) | ((g != g) & (best == best))
        best = tl.where(better, g, best)
        place = tl.where(better, offs, place)

    nan = best != best
    any_nan = tl.max(nan.to(tl.int32), axis=0) > 0
    least = tl.min(tl.where(nan, float("inf"), best), axis=0)
    out = (tl.program_id(1) * outers + outer) * inner + cols
    tl.store(y_ptr + out, tl.where(any_nan, float("nan"), least), mask=cols < inner)
    if INDICES:
        hit = tl.where(any_nan[None, :], nan, best == least[None, :])
        first = tl.min(tl.where(hit, place, n), axis=0)
        tl.store(index_ptr + out, first.to(tl.int64), mask=cols < inner)


def min_gelu(input, dim=None, keepdim=False, approximate="none", out=None):
    TANH = approximate == "tanh"
    if dim is None:
        if out is None:
            out = torch.empty((), dtype=input.dtype, device=input.device)
        x = input.reshape(1, -1, 1)
        n = x.shape[1]
        span = 1024 * triton.cdiv(n, 1024 * 1024)
        parts = triton.cdiv(n, span)
        part = torch.empty((1, parts, 1), dtype=input.dtype, device=input.device)
        min_gelu_kernel[(1, parts)](
            x, part, None, n, 1, span, 1, 0, x.stride(1), 1,
            FINISHED=False, TANH=TANH, INDICES=False, BLOCK_N=1024, BLOCK_I=1,
        )  # fmt: skip
        min_gelu_kernel[(1, 1)](
            part, out, None, parts, 1, parts, 1, 0, 1, 1,
            FINISHED=True, TANH=TANH, INDICES=False, BLOCK_N=1024, BLOCK_I=1,
        )  # fmt: skip
        return out
    dim = dim % input.dim()
    before, after = list(input.shape[:dim]), list(input.shape[dim + 1 :])
    if out is None:
        shape = before + [1] * keepdim + after
        values = torch.empty(shape, dtype=input.dtype, device=input.device)
        indices = torch.empty(shape, dtype=torch.int64, device=input.device)
    else:
        values, indices = out
    outer, n, inner = math.prod(before), input.shape[dim], math.prod(after)
    x = input.reshape(outer, n, inner)
    BLOCK_N, BLOCK_I = (1024, 1) if inner == 1 else (32, 32)
    grid = (outer * triton.cdiv(inner, BLOCK_I), 1)
    min_gelu_kernel[grid](
        x, values, indices, n, inner, n, outer, x.stride(0), x.stride(1), x.stride(2),
        FINISHED=False, TANH=TANH, INDICES=True, BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I,
    )  # fmt: skip
    return values, indices
