import torch
import triton
import triton.language as tl


@triton.jit
def point(i, count, ALIGN: tl.constexpr):
    """The coordinate of the i-th of `count` points."""
    if ALIGN:
        return 2.0 * i / (count - 1) - 1.0
    else:
        return (2.0 * i + 1.0) / count - 1.0


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
def affine_kernel(
    x_ptr, theta_ptr, y_ptr, channels, height, width, p_size, q_size, x_n, x_c, x_h, x_w, t_n, t_row, t_col,
    PADDING: tl.constexpr, ALIGN: tl.constexpr, NEAREST: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One program goes through all channels of its points in one image."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < p_size * q_size
    n = tl.program_id(1).to(tl.int64)
    x = point((offs % q_size).to(tl.float32), q_size, ALIGN)
    y = point((offs // q_size).to(tl.float32), p_size, ALIGN)
    theta = theta_ptr + n * t_n
    gx = tl.load(theta) * x + tl.load(theta + t_col) * y + tl.load(theta + 2 * t_col)
    theta += t_row
    gy = tl.load(theta) * x + tl.load(theta + t_col) * y + tl.load(theta + 2 * t_col)
    tx = place(gx, width, PADDING, ALIGN)
    ty = place(gy, height, PADDING, ALIGN)
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
    out = y_ptr + n * channels * p_size * q_size + offs
    for _ in range(channels):
        value = tl.load(base, mask=in_top & in_left, other=0.0)
        if not NEAREST:
            b = tl.load(base + x_w, mask=in_top & in_right, other=0.0)
            d = tl.load(base + x_h, mask=in_bottom & in_left, other=0.0)
            e = tl.load(base + x_h + x_w, mask=in_bottom & in_right, other=0.0)
            value = (1.0 - v) * ((1.0 - u) * value + u * b) + v * ((1.0 - u) * d + u * e)
        tl.store(out, value, mask=mask)
        base += x_c
        out += p_size * q_size


def grid_sample_with_affine(
    input: torch.Tensor,
    theta: torch.Tensor,
    size: torch.Size,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> torch.Tensor:
    batch, channels, p_size, q_size = size
    height, width = input.shape[2:]
    y = torch.empty(tuple(size), dtype=input.dtype, device=input.device)
    BLOCK = 128
    grid = (triton.cdiv(p_size * q_size, BLOCK), batch)
    affine_kernel[grid](
        input, theta, y, channels, height, width, p_size, q_size, *input.stride(), *theta.stride(),
        PADDING=padding_mode, ALIGN=bool(align_corners), NEAREST=mode == "nearest", BLOCK=BLOCK,
    )  # fmt: skip
    return y
