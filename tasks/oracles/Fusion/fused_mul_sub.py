import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "cols", "stride_row", "mul_stride_row", "sub_stride_row"])
def mul_sub_kernel(
    x_ptr, mul_ptr, sub_ptr, y_ptr, n, cols, factor, subtrahend, alpha,
    stride_row, stride_col, mul_stride_row, mul_stride_col, sub_stride_row, sub_stride_col,
    MUL_TENSOR: tl.constexpr, SUB_TENSOR: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = (offs // cols).to(tl.int64)
    col = (offs % cols).to(tl.int64)
    x = tl.load(x_ptr + row * stride_row + col * stride_col, mask=mask, other=0.0)
    a = factor
    if MUL_TENSOR:
        a = tl.load(mul_ptr + row * mul_stride_row + col * mul_stride_col, mask=mask, other=0.0)
    b = subtrahend
    if SUB_TENSOR:
        b = tl.load(sub_ptr + row * sub_stride_row + col * sub_stride_col, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x * a - alpha * b, mask=mask)


def fused_mul_sub(input, other_mul, other_sub, alpha=1, out=None):
    tensors = [t for t in (input, other_mul, other_sub) if isinstance(t, torch.Tensor)]
    shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    y = torch.empty(shape, dtype=input.dtype, device=input.device) if out is None else out
    x = as_rows(input, shape)
    mul_tensor, sub_tensor = isinstance(other_mul, torch.Tensor), isinstance(other_sub, torch.Tensor)
    mul = as_rows(other_mul, shape) if mul_tensor else x
    sub = as_rows(other_sub, shape) if sub_tensor else x
    n = y.numel()
    grid = (triton.cdiv(n, 1024),)
    mul_sub_kernel[grid](
        x, mul, sub, y, n, x.shape[1], 0.0 if mul_tensor else float(other_mul), 0.0 if sub_tensor else float(other_sub),
        float(alpha), *x.stride(), *mul.stride(), *sub.stride(),
        MUL_TENSOR=mul_tensor, SUB_TENSOR=sub_tensor, BLOCK=1024,
    )  # fmt: skip
    return y


def as_rows(x, shape):
    x = x.expand(shape)
    cols = shape[-1] if len(shape) else 1
    try:
        return x.view(-1, cols)
    except RuntimeError:
        return x.contiguous().view(-1, cols)
