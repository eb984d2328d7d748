import torch
import triton
import triton.language as tl


@triton.jit
def fill_kernel(
    x_ptr, index_ptr, value, count, rest, n, size1, size2, size3, stride_index, stride_n,
    stride0, stride1, stride2, stride3, DIMS: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(rest, BLOCK)
    rows = (tl.program_id(0) // blocks) * BLOCK_R + tl.arange(0, BLOCK_R)
    offs = (tl.program_id(0) % blocks) * BLOCK + tl.arange(0, BLOCK)
    mask = (rows < count)[:, None] & (offs < rest)[None, :]
    row = tl.load(index_ptr + rows * stride_index, mask=rows < count, other=0)
    row = tl.where(row < 0, row + n, row)
    if DIMS == 1:
        place = offs.to(tl.int64) * stride3
    else:
        place = (offs % size3).to(tl.int64) * stride3
        left = offs // size3
        place += (left % size2).to(tl.int64) * stride2
        left = left // size2
        place += (left % size1).to(tl.int64) * stride1 + (left // size1).to(tl.int64) * stride0
    filled = tl.zeros((BLOCK_R, BLOCK), tl.float32) + value
    tl.store(x_ptr + row[:, None] * stride_n + place[None, :], filled, mask=mask)


def index_fill_(dim, x: torch.Tensor, index: torch.Tensor, value):
    # the other dimensions: one if they can be, four in general
    n = x.shape[dim]
    v = x.movedim(dim, 0)
    count = index.numel()
    rest = v[0].numel()
    try:
        others = v[0].view(1, 1, 1, rest)
    except RuntimeError:
        others = v[0][(None,) * (4 - v[0].dim())]
    DIMS = 1 if others.shape[3] == rest else 4
    BLOCK = min(1024, triton.next_power_of_2(rest))
    BLOCK_R = 1024 // BLOCK
    grid = (triton.cdiv(count, BLOCK_R) * triton.cdiv(rest, BLOCK),)
    fill_kernel[grid](
        x, index, float(value), count, rest, n, *others.shape[1:], index.stride(0), v.stride(0), *others.stride(),
        DIMS=DIMS, BLOCK_R=BLOCK_R, BLOCK=BLOCK,
    )  # fmt: skip
    return x
