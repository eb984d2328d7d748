import torch
import triton
import triton.language as tl


@triton.jit
def avg_pool1d_kernel(
    x_ptr, y_ptr, n, length, out_length, stride_row, stride_col, kernel_size, stride, padding, BLOCK: tl.constexpr
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = (offs // out_length).to(tl.int64)
    start = (offs % out_length) * stride - padding
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(kernel_size):
        col = start + k
        inside = mask & (col >= 0) & (col < length)
        total += tl.load(x_ptr + row * stride_row + col.to(tl.int64) * stride_col, mask=inside, other=0.0)
    tl.store(y_ptr + offs, total / kernel_size, mask=mask)


def avg_pool1d(input: torch.Tensor, kernel_size: int, stride: int | None = None, padding: int = 0) -> torch.Tensor:
    stride = kernel_size if stride is None else stride
    length = input.shape[-1]
    out_length = (length + 2 * padding - kernel_size) // stride + 1
    y = torch.empty((*input.shape[:-1], out_length), dtype=torch.float32, device=input.device)
    try:
        x = input.view(-1, length)
    except RuntimeError:
        x = input.contiguous().view(-1, length)
    n = y.numel()
    grid = (triton.cdiv(n, 1024),)
    avg_pool1d_kernel[grid](
        x, y, n, length, out_length, x.stride(0), x.stride(1), kernel_size, stride, padding, BLOCK=1024
    )
    return y
