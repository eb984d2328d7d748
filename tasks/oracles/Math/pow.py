import torch
import triton
import triton.language as tl


@triton.jit
def pow_kernel(
    x_ptr, y_ptr, z_ptr, number, cols, stride_xr, stride_xc, stride_yr, stride_yc,
    NUMBER: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(cols, BLOCK)
    row = (tl.program_id(0) // blocks).to(tl.int64)
    offs = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < cols
    x = tl.load(x_ptr + row * stride_xr + offs * stride_xc, mask=mask, other=0.0)
    y = number
    if not NUMBER:
        y = tl.load(y_ptr + row * stride_yr + offs * stride_yc, mask=mask, other=0.0)
    z = tl.exp2(y * tl.log2(tl.abs(x)))
    whole = tl.floor(y) == y
    odd = whole & (2.0 * tl.floor(0.5 * y) != y)
    z = tl.where((x < 0) & odd, -z, z)
    z = tl.where((x < 0) & (x > -float("inf")) & (whole == 0), float("nan"), z)
    z = tl.where((y == 0) | (x == 1), 1.0, z)
    tl.store(z_ptr + row * cols + offs, z, mask=mask)


def folded(x, shape, cols):
    """Rows of `cols` elements of `x` broadcast to `shape`: a view where the strides permit one."""
    x = x.expand(shape)
    rows = x.numel() // max(cols, 1)
    try:
        return x.view(rows, cols)
    except RuntimeError:
        return x.contiguous().view(rows, cols)


def pow(input_tensor, exponent, out=None):
    number = not isinstance(exponent, torch.Tensor)
    shape = input_tensor.shape if number else torch.broadcast_shapes(input_tensor.shape, exponent.shape)
    z = torch.empty(shape, dtype=input_tensor.dtype, device=input_tensor.device) if out is None else out
    flat = input_tensor.is_contiguous() and (
        number or (exponent.is_contiguous() and input_tensor.shape == exponent.shape)
    )
    cols = z.numel() if flat else shape[-1]
    x = folded(input_tensor, shape, cols)
    y = x if number else folded(exponent, shape, cols)
    BLOCK = 1024
    grid = (x.shape[0] * triton.cdiv(cols, BLOCK),)
    pow_kernel[grid](
        x, y, z, float(exponent) if number else 0.0, cols,
        x.stride(0), x.stride(1), y.stride(0), y.stride(1), NUMBER=number, BLOCK=BLOCK,
    )  # fmt: skip
    return z
