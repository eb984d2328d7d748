import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "length", "out_length", "stride_row", "kernel_size", "stride", "padding"])
def cos_pool_kernel(
    x_ptr, y_ptr, n, length, out_length, stride_row, stride_col, kernel_size, stride, padding,
    COUNT_PADDING: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = (offs // out_length).to(tl.int64)
    first = (offs % out_length) * stride - padding
    last = tl.minimum(first + kernel_size, length + padding)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(kernel_size):
        col = first + k
        inside = mask & (col >= 0) & (col < length)
        x = tl.load(x_ptr + row * stride_row + col.to(tl.int64) * stride_col, mask=inside, other=0.0)
        total += tl.where(inside, tl.cos(x), 0.0)
    if COUNT_PADDING:
        count = last - first
    else:
        count = tl.minimum(last, length) - tl.maximum(first, 0)
    tl.store(y_ptr + offs, total / count, mask=mask)


def fused_cos_avg_pool1d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True
):  # fmt: skip
    stride = kernel_size if stride is None else stride
    length = input.shape[-1]
    room = length + 2 * padding - kernel_size
    out_length = room // stride + 1
    if ceil_mode:
        out_length = triton.cdiv(room, stride) + 1
        if (out_length - 1) * stride >= length + padding:
            out_length -= 1
    y = torch.empty((*input.shape[:-1], out_length), dtype=torch.float32, device=input.device)
    try:
        x = input.view(-1, length)
    except RuntimeError:
        x = input.contiguous().view(-1, length)
    n = y.numel()
    grid = (triton.cdiv(n, 1024),)
    cos_pool_kernel[grid](
        x, y, n, length, out_length, x.stride(0), x.stride(1), kernel_size, stride, padding,
        COUNT_PADDING=count_include_pad, BLOCK=1024,
    )  # fmt: skip
    return y
