import torch
import triton
import triton.language as tl

PLAIN = [
    *("n", "length", "inner", "number", "stride_outer", "index_stride_outer"),
    *("mask_stride_outer", "mask_stride_dim"),
]


@triton.jit(do_not_specialize=PLAIN)
def gather_fill_kernel(
    x_ptr, index_ptr, mask_ptr, value_ptr, y_ptr, n, length, inner, number, stride_outer, stride_dim, stride_inner,
    index_stride_outer, index_stride_dim, index_stride_inner, mask_stride_outer, mask_stride_dim, mask_stride_inner,
    TENSOR: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    col = (offs % inner).to(tl.int64)
    place = ((offs // inner) % length).to(tl.int64)
    outer = (offs // (inner * length)).to(tl.int64)
    flag = mask_ptr + outer * mask_stride_outer + place * mask_stride_dim + col * mask_stride_inner
    filled = tl.load(flag, mask=mask, other=1).to(tl.int1)
    needed = mask & (filled == 0)
    pick = index_ptr + outer * index_stride_outer + place * index_stride_dim + col * index_stride_inner
    source = tl.load(pick, mask=needed, other=0)
    x = tl.load(x_ptr + outer * stride_outer + source * stride_dim + col * stride_inner, mask=needed, other=0)
    value = number
    if TENSOR:
        value = tl.load(value_ptr)
    tl.store(y_ptr + offs, tl.where(filled, value, x), mask=mask)


def fused_gather_masked_fill(input, dim, index, mask, value, *, sparse_grad=False, out=None):
    dim = dim % input.dim()
    y = torch.empty(index.shape, dtype=input.dtype, device=input.device) if out is None else out
    reachable = input
    for d, size in enumerate(index.shape):
        if d != dim:
            reachable = reachable.narrow(d, 0, size)
    x = folded(reachable, dim)
    picks = folded(index, dim)
    flags = folded(mask.expand(index.shape), dim)
    tensor = isinstance(value, torch.Tensor)
    number = 0 if tensor else value
    if x.dtype.is_floating_point:
        number = float(number)
    n = y.numel()
    grid = (triton.cdiv(n, 1024),)
    gather_fill_kernel[grid](
        x, picks, flags, value if tensor else x, y, n, picks.shape[1], picks.shape[2], number,
        *x.stride(), *picks.stride(), *flags.stride(), TENSOR=tensor, BLOCK=1024,
    )  # fmt: skip
    return y


def folded(x, dim):
    """`x` with three dimensions, the middle one being `dim`: a view where the strides permit one."""
    shape = (x.shape[:dim].numel(), x.shape[dim], x.shape[dim + 1 :].numel())
    try:
        return x.view(shape)
    except RuntimeError:
        return x.contiguous().view(shape)
