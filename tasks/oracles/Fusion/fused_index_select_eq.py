import torch
import triton
import triton.language as tl

PLAIN = ["n", "picks", "inner", "number", "stride_outer", "other_stride_outer"]


@triton.jit(do_not_specialize=PLAIN)
def select_eq_kernel(
    x_ptr, index_ptr, other_ptr, y_ptr, n, picks, inner, number, stride_outer, stride_dim, stride_inner, stride_index,
    other_stride_outer, other_stride_pick, other_stride_inner, TENSOR: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    col = (offs % inner).to(tl.int64)
    pick = ((offs // inner) % picks).to(tl.int64)
    outer = (offs // (inner * picks)).to(tl.int64)
    place = tl.load(index_ptr + pick * stride_index, mask=mask, other=0)
    x = tl.load(x_ptr + outer * stride_outer + place * stride_dim + col * stride_inner, mask=mask, other=0)
    if TENSOR:
        other_place = outer * other_stride_outer + pick * other_stride_pick + col * other_stride_inner
        same = x == tl.load(other_ptr + other_place, mask=mask, other=0)
    else:
        same = x == number
    tl.store(y_ptr + offs, same, mask=mask)


def fused_index_select_eq(input, dim, index, other, *, out=None):
    dim = dim % input.dim()
    shape = list(input.shape)
    shape[dim] = index.numel()
    y = torch.empty(shape, dtype=torch.bool, device=input.device) if out is None else out
    x = folded(input, dim)
    tensor = isinstance(other, torch.Tensor)
    compared = folded(other.expand(shape), dim) if tensor else x
    n, picks, inner = y.numel(), index.numel(), x.shape[2]
    grid = (triton.cdiv(n, 1024),)
    select_eq_kernel[grid](
        x, index, compared, y, n, picks, inner, 0 if tensor else other, *x.stride(), index.stride(0),
        *compared.stride(), TENSOR=tensor, BLOCK=1024,
    )  # fmt: skip
    return y


def folded(x, dim):
    """`x` with three dimensions, the middle one being `dim`: a view where the strides permit one."""
    shape = (x.shape[:dim].numel(), x.shape[dim], x.shape[dim + 1 :].numel())
    try:
        return x.view(shape)
    except RuntimeError:
        return x.contiguous().view(shape)
