import torch
import triton
import triton.language as tl


@triton.jit
def pool_kernel(
    x_ptr, y_ptr, total, channels, height, width, p_size, q_size, rows, stride_n, stride_c, stride_h, stride_w,
    BLOCK: tl.constexpr, BLOCK_W: tl.constexpr,
):  # fmt: skip
    """One result a line of the tile; a window is read row by row, at most `rows` of them."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < total
    q = offs % q_size
    p = offs // q_size % p_size
    plane = offs // (p_size * q_size)
    top = p * height // p_size
    bottom = ((p + 1) * height + p_size - 1) // p_size
    left = q * width // q_size
    right = ((q + 1) * width + q_size - 1) // q_size
    base = (plane // channels).to(tl.int64) * stride_n + (plane % channels).to(tl.int64) * stride_c
    cols = left[:, None] + tl.arange(0, BLOCK_W)[None, :]
    inside = mask[:, None] & (cols < right[:, None])
    places = base[:, None] + cols.to(tl.int64) * stride_w

    total_row = tl.zeros((BLOCK, BLOCK_W), tl.float32)
    for step in range(rows):
        row = top + step
        x = tl.load(
            x_ptr + places + row[:, None].to(tl.int64) * stride_h, mask=inside & (row < bottom)[:, None], other=0.0
        )
        total_row += x
    count = ((bottom - top) * (right - left)).to(tl.float32)
    tl.store(y_ptr + offs, tl.sum(total_row, axis=1) / count, mask=mask)


def widest(length, out):
    """The longest of the `out` windows into which a length is divided."""
    return max(((i + 1) * length + out - 1) // out - i * length // out for i in range(out))


def adaptive_avg_pool2d(input, output_size):
    wanted = (output_size, output_size) if isinstance(output_size, int) else output_size
    height, width = input.shape[-2:]
    p_size = height if wanted[0] is None else wanted[0]
    q_size = width if wanted[1] is None else wanted[1]
    x = input if input.dim() == 4 else input.unsqueeze(0)
    y = torch.empty((*input.shape[:-2], p_size, q_size), dtype=input.dtype, device=input.device)
    total = y.numel()
    rows, cols = widest(height, p_size), widest(width, q_size)
    BLOCK_W = triton.next_power_of_2(cols)
    BLOCK = max(1, 1024 // BLOCK_W)
    grid = (triton.cdiv(total, BLOCK),)
    pool_kernel[grid](
        x, y, total, x.shape[1], height, width, p_size, q_size, rows, *x.stride(), BLOCK=BLOCK, BLOCK_W=BLOCK_W
    )
    return y
