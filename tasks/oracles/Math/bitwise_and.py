import torch
import triton
import triton.language as tl


@triton.jit
def bitwise_and_kernel(
    x_ptr, y_ptr, z_ptr, cols, stride_xr, stride_xc, stride_yr, stride_yc,
    BLOCK: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(cols, BLOCK)
    row = (tl.program_id(0) // blocks).to(tl.int64)
    offs = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < cols
    x = tl.load(x_ptr + row * stride_xr + offs * stride_xc, mask=mask)
    y = tl.load(y_ptr + row * stride_yr + offs * stride_yc, mask=mask)
    z = x & y
    tl.store(z_ptr + row * cols + offs, z, mask=mask)


def folded(x, shape, cols):
    """Rows of `cols` elements of `x` broadcast to `shape`: a view where the strides permit one."""
    x = x.expand(shape)
    rows = x.numel() // max(cols, 1)
    try:
        return x.view(rows, cols)
    except RuntimeError:
        return x.contiguous().view(rows, cols)


def bitwise_and(input, other, out=None):
    shape = torch.broadcast_shapes(input.shape, other.shape)
    z = torch.empty(shape, dtype=input.dtype, device=input.device) if out is None else out
    flat = input.is_contiguous() and other.is_contiguous() and input.shape == other.shape
    cols = z.numel() if flat else shape[-1]
    x = folded(input, shape, cols)
    y = folded(other, shape, cols)
    BLOCK = 1024
    grid = (x.shape[0] * triton.cdiv(cols, BLOCK),)
    bitwise_and_kernel[grid](
        x, y, z, cols, x.stride(0), x.stride(1), y.stride(0), y.stride(1), BLOCK=BLOCK,
    )  # fmt: skip
    return z
