import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["cols"])
def softmax_log_kernel(x_ptr, y_ptr, cols, inner, stride_outer, stride_col, stride_inner, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < cols
    start = (row // inner).to(tl.int64) * stride_outer + (row % inner) * stride_inner
    x = tl.load(x_ptr + start + offs.to(tl.int64) * stride_col, mask=mask, other=0.0).to(y_ptr.dtype.element_ty)
    u = tl.log(x)
    top = tl.max(u, axis=0)
    e = tl.exp(u - top)
    total = tl.sum(tl.where(mask, e, 0.0), axis=0)
    out = (row // inner).to(tl.int64) * cols * inner + row % inner
    tl.store(y_ptr + out + offs.to(tl.int64) * inner, e / total, mask=mask)


def fused_softmax_log(input, dim=-1, dtype=None):
    dim = dim % input.dim()
    y = torch.empty(input.shape, dtype=dtype or input.dtype, device=input.device)
    cols = input.shape[dim]
    inner = y.stride(dim)
    try:
        x = input.view(-1, cols, inner)
    except RuntimeError:
        x = input.contiguous().view(-1, cols, inner)
    block = triton.next_power_of_2(cols)
    softmax_log_kernel[(x.shape[0] * inner,)](
        x, y, cols, inner, x.stride(0), x.stride(1), x.stride(2), BLOCK=block, num_warps=4 if block < 4096 else 8
    )
    return y
