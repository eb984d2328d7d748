import torch
import triton
import triton.language as tl


@triton.jit
def mul_kernel(
    x_ptr, y_ptr, z_ptr, number, cols, stride_xr, stride_xc, stride_yr, stride_yc,
    NUMBER: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(cols, BLOCK)
    row = (tl.program_id(0) // blocks).to(tl.int64)
    offs = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < cols
    x = tl.load(x_ptr + row * stride_xr + offs * stride_xc, mask=mask)
    y = number
    if not NUMBER:
        y = tl.load(y_ptr + row * stride_yr + offs * stride_yc, mask=mask)
    tl.store(z_ptr + row * cols + offs, x * y, mask=mask)


@triton.jit
def complex_mul_kernel(x_ptr, y_ptr, z_ptr, cols, stride_xr, stride_xc, stride_yr, stride_yc, BLOCK: tl.constexpr):
    """Complex numbers are pairs of float32: strides count float32, and the imaginary part is the next one."""
    blocks = tl.cdiv(cols, BLOCK)
    row = (tl.program_id(0) // blocks).to(tl.int64)
    offs = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < cols
    x = x_ptr + row * stride_xr + offs * stride_xc
    y = y_ptr + row * stride_yr + offs * stride_yc
    a = tl.load(x, mask=mask, other=0.0)
    b = tl.load(x + 1, mask=mask, other=0.0)
    c = tl.load(y, mask=mask, other=0.0)
    d = tl.load(y + 1, mask=mask, other=0.0)
    z = z_ptr + 2 * (row * cols + offs)
    tl.store(z, a * c - b * d, mask=mask)
    tl.store(z + 1, a * d + b * c, mask=mask)


def folded(x, shape, cols):
    """Rows of `cols` elements of `x` broadcast to `shape`: a view where the strides permit one."""
    x = x.expand(shape)
    rows = x.numel() // max(cols, 1)
    try:
        return x.view(rows, cols)
    except RuntimeError:
        return x.contiguous().view(rows, cols)


def mul(input, other, out=None):
    number = not isinstance(other, torch.Tensor)
    shape = input.shape if number else torch.broadcast_shapes(input.shape, other.shape)
    z = torch.empty(shape, dtype=input.dtype, device=input.device) if out is None else out
    flat = input.is_contiguous() and (number or (other.is_contiguous() and input.shape == other.shape))
    cols = z.numel() if flat else shape[-1]
    x = folded(input, shape, cols)
    y = x if number else folded(other, shape, cols)
    BLOCK = 1024
    grid = (x.shape[0] * triton.cdiv(cols, BLOCK),)
    if input.dtype == torch.complex64:
        x, y = torch.view_as_real(x), torch.view_as_real(y)
        complex_mul_kernel[grid](
            x, y, torch.view_as_real(z), cols, x.stride(0), x.stride(1), y.stride(0), y.stride(1), BLOCK=BLOCK
        )
    else:
        mul_kernel[grid](
            x, y, z, float(other) if number else 0.0, cols, x.stride(0), x.stride(1), y.stride(0), y.stride(1),
            NUMBER=number, BLOCK=BLOCK,
        )  # fmt: skip
    return z
