import torch
import triton
import triton.language as tl


@triton.jit
def div_kernel(
    x_ptr, y_ptr, z_ptr, number, cols, stride_xr, stride_xc, stride_yr, stride_yc,
    NUMBER: tl.constexpr, MODE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(cols, BLOCK)
    row = (tl.program_id(0) // blocks).to(tl.int64)
    offs = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < cols
    x = tl.load(x_ptr + row * stride_xr + offs * stride_xc, mask=mask, other=0.0)
    y = number
    if not NUMBER:
        y = tl.load(y_ptr + row * stride_yr + offs * stride_yc, mask=mask, other=0.0)
    z = tl.div_rn(x, y)
    if MODE == "floor":
        z = tl.floor(z)
    if MODE == "trunc":
        z = tl.where(z < 0, tl.ceil(z), tl.floor(z))
    tl.store(z_ptr + row * cols + offs, z, mask=mask)


def folded(x, shape, cols):
    """Rows of `cols` elements of `x` broadcast to `shape`: a view where the strides permit one."""
    x = x.expand(shape)
    rows = x.numel() // max(cols, 1)
    try:
        return x.view(rows, cols)
    except RuntimeError:
        return x.contiguous().view(rows, cols)


def div(input, other, rounding_mode=None, out=None):
    number = not isinstance(other, torch.Tensor)
    shape = input.shape if number else torch.broadcast_shapes(input.shape, other.shape)
    z = torch.empty(shape, dtype=input.dtype, device=input.device) if out is None else out
    flat = input.is_contiguous() and (number or (other.is_contiguous() and input.shape == other.shape))
    cols = z.numel() if flat else shape[-1]
    x = folded(input, shape, cols)
    y = x if number else folded(other, shape, cols)
    BLOCK = 1024
    grid = (x.shape[0] * triton.cdiv(cols, BLOCK),)
    div_kernel[grid](
        x, y, z, float(other) if number else 0.0, cols,
        x.stride(0), x.stride(1), y.stride(0), y.stride(1), NUMBER=number, MODE=rounding_mode or "none", BLOCK=BLOCK,
    )  # fmt: skip
    return z
