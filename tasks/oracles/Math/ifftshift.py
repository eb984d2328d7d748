import torch
import triton
import triton.language as tl


@triton.jit
def shift_kernel(
    x_ptr, y_ptr, rows, cols, size0, size1, size2, stride0, stride1, stride2, stride3, shift0, shift1, shift2, shift3,
    BLOCK_R: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(cols, BLOCK)
    row = (tl.program_id(0) // blocks) * BLOCK_R + tl.arange(0, BLOCK_R)
    offs = (tl.program_id(0) % blocks) * BLOCK + tl.arange(0, BLOCK)
    mask = (row < rows)[:, None] & (offs < cols)[None, :]
    # indices of the three outer dimensions, each moved on
    i2 = (row % size2 + shift2) % size2
    i1 = (row // size2 % size1 + shift1) % size1
    i0 = (row // (size2 * size1) + shift0) % size0
    i3 = (offs + shift3) % cols
    start = i0.to(tl.int64) * stride0 + i1.to(tl.int64) * stride1 + i2.to(tl.int64) * stride2
    place = start[:, None] + i3[None, :].to(tl.int64) * stride3
    x = tl.load(x_ptr + place, mask=mask, other=0)
    tl.store(y_ptr + row[:, None].to(tl.int64) * cols + offs[None, :], x, mask=mask)


def ifftshift(input, dim=None):
    if dim is None:
        dim = range(input.dim())
    dims = [d % input.dim() for d in ([dim] if isinstance(dim, int) else dim)]
    shifts = [size // 2 if d in dims else 0 for d, size in enumerate(input.shape)]
    y = torch.empty(input.shape, dtype=input.dtype, device=input.device)
    lead = 4 - input.dim()
    x = input[(None,) * lead]
    cols = x.shape[3]
    rows = y.numel() // cols
    BLOCK = min(1024, triton.next_power_of_2(cols))
    BLOCK_R = 1024 // BLOCK
    grid = (triton.cdiv(rows, BLOCK_R) * triton.cdiv(cols, BLOCK),)
    shift_kernel[grid](
        x, y, rows, cols, *x.shape[:3], *x.stride(), *([0] * lead + shifts), BLOCK_R=BLOCK_R, BLOCK=BLOCK
    )
    return y
