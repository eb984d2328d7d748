import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "cols", "stride_row"])
def cos_signbit_kernel(x_ptr, y_ptr, sign_ptr, n, cols, stride_row, stride_col, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = (offs // cols).to(tl.int64)
    col = (offs % cols).to(tl.int64)
    x = tl.load(x_ptr + row * stride_row + col * stride_col, mask=mask, other=0.0)
    y = tl.cos(x)
    tl.store(y_ptr + offs, y, mask=mask)
    tl.store(sign_ptr + offs, y < 0, mask=mask)


def fused_cos_signbit(input):
    n = input.numel()
    cols = input.shape[-1] if input.dim() else 1
    try:
        x = input.view(-1, cols)
    except RuntimeError:
        x = input.contiguous().view(-1, cols)
    y = torch.empty(input.shape, dtype=torch.float32, device=x.device)
    sign = torch.empty(input.shape, dtype=torch.bool, device=x.device)
    grid = (triton.cdiv(n, 1024),)
    cos_signbit_kernel[grid](x, y, sign, n, cols, x.stride(0), x.stride(1), BLOCK=1024)
    return y, sign
