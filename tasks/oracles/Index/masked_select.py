import torch
import triton
import triton.language as tl


@triton.jit
def count_kernel(mask_ptr, counts_ptr, n, cols, stride_row, stride_col, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = (offs // cols).to(tl.int64)
    col = (offs % cols).to(tl.int64)
    keep = tl.load(mask_ptr + row * stride_row + col * stride_col, mask=mask, other=0).to(tl.int32)
    tl.store(counts_ptr + pid, tl.sum(keep, axis=0))


@triton.jit
def scan_kernel(counts_ptr, starts_ptr, blocks, BLOCK: tl.constexpr):
    total = tl.full((), 0, dtype=tl.int64)
    for first in range(0, blocks, BLOCK):
        offs = first + tl.arange(0, BLOCK)
        mask = offs < blocks
        counts = tl.load(counts_ptr + offs, mask=mask, other=0).to(tl.int64)
        tl.store(starts_ptr + offs, total + tl.cumsum(counts, axis=0) - counts, mask=mask)
        total += tl.sum(counts, axis=0)
    tl.store(starts_ptr + blocks, total)


@triton.jit
def select_kernel(
    x_ptr, mask_ptr, starts_ptr, y_ptr, n, cols,
    stride_x_row, stride_x_col, stride_row, stride_col, BLOCK: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = (offs // cols).to(tl.int64)
    col = (offs % cols).to(tl.int64)
    keep = tl.load(mask_ptr + row * stride_row + col * stride_col, mask=mask, other=0).to(tl.int32)
    place = tl.load(starts_ptr + pid) + tl.cumsum(keep, axis=0) - 1
    mask = mask & (keep != 0)
    x = tl.load(x_ptr + row * stride_x_row + col * stride_x_col, mask=mask, other=0.0)
    tl.store(y_ptr + place, x, mask=mask)


def as_rows(x: torch.Tensor, shape: tuple) -> torch.Tensor:
    x = x.expand(shape)
    try:
        return x.view(-1, shape[-1])
    except RuntimeError:
        return x.contiguous().view(-1, shape[-1])


def masked_select(input: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    shape = torch.broadcast_shapes(input.shape, mask.shape) or (1,)
    x = as_rows(input, shape)
    mask = as_rows(mask, shape)
    n, cols = x.numel(), x.shape[1]
    blocks = triton.cdiv(n, 1024)
    counts = torch.empty((blocks,), dtype=torch.int32, device=x.device)
    starts = torch.empty((blocks + 1,), dtype=torch.int64, device=x.device)
    grid = (blocks,)
    count_kernel[grid](mask, counts, n, cols, mask.stride(0), mask.stride(1), BLOCK=1024)
    scan_kernel[(1,)](counts, starts, blocks, BLOCK=1024)
    y = torch.empty((starts[blocks].item(),), dtype=x.dtype, device=x.device)
    select_kernel[grid](
        x, mask, starts, y, n, cols, x.stride(0), x.stride(1), mask.stride(0), mask.stride(1), BLOCK=1024
    )
    return y
