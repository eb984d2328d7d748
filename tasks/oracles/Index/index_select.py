import torch
import triton
import triton.language as tl


@triton.jit
def select_kernel(
    x_ptr, index_ptr, y_ptr, count, inner, stride_outer, stride_n, stride_inner, stride_index,
    BLOCK_R: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(inner, BLOCK)
    rows = (tl.program_id(0) // blocks) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = (tl.program_id(0) % blocks) * BLOCK + tl.arange(0, BLOCK)
    outer = tl.program_id(1).to(tl.int64)
    mask = (rows < count)[:, None] & (cols < inner)[None, :]
    row = tl.load(index_ptr + rows * stride_index, mask=rows < count, other=0)
    place = row[:, None] * stride_n + cols[None, :].to(tl.int64) * stride_inner
    x = tl.load(x_ptr + outer * stride_outer + place, mask=mask, other=0.0)
    out = (outer * count + rows[:, None]) * inner + cols[None, :]
    tl.store(y_ptr + out, x, mask=mask)


def index_select(input: torch.Tensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    dim = dim % input.dim()
    n, count = input.shape[dim], index.numel()
    before, after = input.shape[:dim], input.shape[dim + 1 :]
    try:
        x = input.view(before.numel(), n, after.numel())
    except RuntimeError:
        x = input.contiguous().view(before.numel(), n, after.numel())
    y = torch.empty((*before, count, *after), dtype=input.dtype, device=input.device)
    outer, inner = x.shape[0], x.shape[2]
    BLOCK = min(1024, triton.next_power_of_2(inner))
    BLOCK_R = 1024 // BLOCK
    grid = (triton.cdiv(count, BLOCK_R) * triton.cdiv(inner, BLOCK), outer)
    select_kernel[grid](
        x, index, y, count, inner, x.stride(0), x.stride(1), x.stride(2), index.stride(0), BLOCK_R=BLOCK_R, BLOCK=BLOCK
    )
    return y
