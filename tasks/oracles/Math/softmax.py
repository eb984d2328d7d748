import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, cols, inner, stride_outer, stride_col, stride_inner, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < cols
    start = (row // inner).to(tl.int64) * stride_outer + (row % inner) * stride_inner
    x = tl.load(x_ptr + start + offs * stride_col, mask=mask, other=-float("inf")).to(y_ptr.dtype.element_ty)
    top = tl.max(x, axis=0)
    e = tl.exp(x - top)
    total = tl.sum(e, axis=0)
    out = (row // inner).to(tl.int64) * cols * inner + row % inner
    tl.store(y_ptr + out + offs * inner, e / total, mask=mask)


def softmax(input: torch.Tensor, dim: int, dtype: torch.dtype = None) -> torch.Tensor:
    dim = dim % input.dim()
    y = torch.empty(input.shape, dtype=dtype or input.dtype, device=input.device)
    cols = input.shape[dim]
    inner = y.stride(dim)
    try:
        x = input.view(-1, cols, inner)
    except RuntimeError:
        x = input.contiguous().view(-1, cols, inner)
    block = triton.next_power_of_2(cols)
    softmax_kernel[(x.shape[0] * inner,)](
        x, y, cols, inner, x.stride(0), x.stride(1), x.stride(2), BLOCK=block, num_warps=4 if block < 4096 else 8
    )
    return y
