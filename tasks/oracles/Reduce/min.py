import math

import torch
import triton
import triton.language as tl


@triton.jit
def min_kernel(
    x_ptr, y_ptr, index_ptr, n, inner, stride_outer, stride_n, stride_inner, HIGHEST: tl.constexpr,
    BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    cols = (tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)
    rows = tl.arange(0, BLOCK_N)
    base = x_ptr + outer * stride_outer + cols[None, :].to(tl.int64) * stride_inner

    best = tl.full((BLOCK_N, BLOCK_I), HIGHEST, x_ptr.dtype.element_ty)
    place = tl.zeros((BLOCK_N, BLOCK_I), tl.int32) + rows[:, None]
    for start in range(0, n, BLOCK_N):
        offs = start + rows[:, None]
        mask = (offs < n) & (cols[None, :] < inner)
        x = tl.load(base + offs.to(tl.int64) * stride_n, mask=mask, other=HIGHEST)
        # the first NaN beats every number and stays
        better = (x < best) | ((x != x) & (best == best))
        best = tl.where(better, x, best)
        place = tl.where(better, offs, place)

    nan = best != best
    any_nan = tl.max(nan.to(tl.int32), axis=0) > 0
    least = tl.min(tl.where(nan, HIGHEST, best), axis=0)
    hit = tl.where(any_nan[None, :], nan, best == least[None, :])
    first = tl.min(tl.where(hit, place, n), axis=0)
    value = least
    if x_ptr.dtype.element_ty == tl.float32:
        value = tl.where(any_nan, float("nan"), least)
    tl.store(y_ptr + outer * inner + cols, value, mask=cols < inner)
    tl.store(index_ptr + outer * inner + cols, first.to(tl.int64), mask=cols < inner)


def min(input_tensor, dim, keepdim=False):
    dim = dim % input_tensor.dim()
    before, after = list(input_tensor.shape[:dim]), list(input_tensor.shape[dim + 1 :])
    shape = before + [1] * keepdim + after
    values = torch.empty(shape, dtype=input_tensor.dtype, device=input_tensor.device)
    indices = torch.empty(shape, dtype=torch.int64, device=input_tensor.device)
    outer, n, inner = math.prod(before), input_tensor.shape[dim], math.prod(after)
    x = input_tensor.reshape(outer, n, inner)
    highest = float("inf") if x.dtype.is_floating_point else torch.iinfo(x.dtype).max
    BLOCK_N, BLOCK_I = (1024, 1) if inner == 1 else (32, 32)
    grid = (outer * triton.cdiv(inner, BLOCK_I),)
    min_kernel[grid](
        x, values, indices, n, inner, x.stride(0), x.stride(1), x.stride(2),
        HIGHEST=highest, BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I,
    )  # fmt: skip
    return values, indices
