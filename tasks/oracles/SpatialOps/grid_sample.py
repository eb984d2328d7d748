import torch
import triton
import triton.language as tl


@triton.jit
def place(g, size, PADDING: tl.constexpr, ALIGN: tl.constexpr):
    """The place along a dimension that the coordinate g names."""
    if ALIGN:
        t = (g + 1.0) * 0.5 * (size - 1)
        low = 0.0
        span = (size - 1) * 1.0
    else:
        t = ((g + 1.0) * size - 1.0) * 0.5
        low = -0.5
        span = size * 1.0
    if PADDING == "reflection":
        away = tl.abs(t - low)
        turns = tl.floor(away / tl.maximum(span, 1.0))
        extra = away - turns * span
        odd = turns - 2.0 * tl.floor(turns * 0.5)
        t = tl.where(odd > 0.0, span - extra, extra) + low
    if PADDING != "zeros":
        t = tl.minimum(tl.maximum(t, 0.0), (size - 1) * 1.0)
    return t


@triton.jit
def sample_kernel(
    x_ptr, grid_ptr, y_ptr, total, channels, height, width, p_size, q_size, x_n, x_c, x_h, x_w, g_n, g_p, g_q, g_xy,
    PADDING: tl.constexpr, ALIGN: tl.constexpr, NEAREST: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One program goes through all channels of its places: their coordinates are read once."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < total
    n = (offs // (p_size * q_size)).to(tl.int64)
    p = offs // q_size % p_size
    q = offs % q_size
    at = grid_ptr + n * g_n + p.to(tl.int64) * g_p + q.to(tl.int64) * g_q
    tx = place(tl.load(at, mask=mask, other=0.0), width, PADDING, ALIGN)
    ty = place(tl.load(at + g_xy, mask=mask, other=0.0), height, PADDING, ALIGN)
    if NEAREST:
        # rint, of what is never near a half
        left = tl.floor(tx + 0.5)
        top = tl.floor(ty + 0.5)
    else:
        left = tl.floor(tx)
        top = tl.floor(ty)
    u = tx - left
    v = ty - top
    j = left.to(tl.int32)
    i = top.to(tl.int32)
    in_left = mask & (j >= 0) & (j < width)
    in_right = mask & (j >= -1) & (j < width - 1)
    in_top = (i >= 0) & (i < height)
    in_bottom = (i >= -1) & (i < height - 1)
    base = x_ptr + n * x_n + i.to(tl.int64) * x_h + j.to(tl.int64) * x_w
    out = y_ptr + n * channels * p_size * q_size + p * q_size + q
    for _ in range(channels):
        y = tl.load(base, mask=in_top & in_left, other=0.0)
        if not NEAREST:
            b = tl.load(base + x_w, mask=in_top & in_right, other=0.0)
            d = tl.load(base + x_h, mask=in_bottom & in_left, other=0.0)
            e = tl.load(base + x_h + x_w, mask=in_bottom & in_right, other=0.0)
            y = (1.0 - v) * ((1.0 - u) * y + u * b) + v * ((1.0 - u) * d + u * e)
        tl.store(out, y, mask=mask)
        base += x_c
        out += p_size * q_size


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    batch, channels, height, width = input.shape
    p_size, q_size = grid.shape[1:3]
    y = torch.empty((batch, channels, p_size, q_size), dtype=input.dtype, device=input.device)
    total = batch * p_size * q_size
    BLOCK = 128
    sample_kernel[(triton.cdiv(total, BLOCK),)](
        input, grid, y, total, channels, height, width, p_size, q_size, *input.stride(), *grid.stride(),
        PADDING=padding_mode, ALIGN=bool(align_corners), NEAREST=mode == "nearest", BLOCK=BLOCK,
    )  # fmt: skip
    return y
