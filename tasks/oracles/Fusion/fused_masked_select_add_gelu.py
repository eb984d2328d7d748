import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "cols", "stride_row"])
def count_kernel(mask_ptr, counts_ptr, n, cols, stride_row, stride_col, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = (offs // cols).to(tl.int64)
    col = (offs % cols).to(tl.int64)
    keep = tl.load(mask_ptr + row * stride_row + col * stride_col, mask=mask, other=0).to(tl.int32)
    tl.store(counts_ptr + pid, tl.sum(keep, axis=0))


@triton.jit(do_not_specialize=["blocks"])
def scan_kernel(counts_ptr, starts_ptr, blocks, BLOCK: tl.constexpr):
    total = tl.full((), 0, dtype=tl.int64)
    for first in range(0, blocks, BLOCK):
        offs = first + tl.arange(0, BLOCK)
        mask = offs < blocks
        counts = tl.load(counts_ptr + offs, mask=mask, other=0).to(tl.int64)
        tl.store(starts_ptr + offs, total + tl.cumsum(counts, axis=0) - counts, mask=mask)
        total += tl.sum(counts, axis=0)
    tl.store(starts_ptr + blocks, total)


@triton.jit(do_not_specialize=["n", "cols", "stride_x_row", "stride_row", "other_stride"])
def select_gelu_kernel(
    x_ptr, mask_ptr, other_ptr, starts_ptr, y_ptr, n, cols, number, alpha,
    stride_x_row, stride_x_col, stride_row, stride_col, other_stride,
    TENSOR: tl.constexpr, TANH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = (offs // cols).to(tl.int64)
    col = (offs % cols).to(tl.int64)
    keep = tl.load(mask_ptr + row * stride_row + col * stride_col, mask=mask, other=0).to(tl.int32)
    place = tl.load(starts_ptr + pid) + tl.cumsum(keep, axis=0) - 1
    mask = mask & (keep != 0)
    s = tl.load(x_ptr + row * stride_x_row + col * stride_x_col, mask=mask, other=0.0)
    other = number
    if TENSOR:
        other = tl.load(other_ptr + place * other_stride, mask=mask, other=0.0)
    s = s + alpha * other
    if TANH:
        # (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), which can't overflow into NaN
        u = 0.7978845608028654 * (s + 0.044715 * s * s * s)
        y = s / (1.0 + tl.exp(-2.0 * u))
    else:
        y = 0.5 * s * (1.0 + tl.erf(0.7071067811865476 * s))
    tl.store(y_ptr + place, y, mask=mask)


def fused_masked_select_add_gelu(input, mask, other, *, alpha=1, approximate="none", out=None):
    x = as_rows(input)
    mask = as_rows(mask)
    n, cols = x.numel(), x.shape[1]
    blocks = triton.cdiv(n, 1024)
    counts = torch.empty((blocks,), dtype=torch.int32, device=x.device)
    starts = torch.empty((blocks + 1,), dtype=torch.int64, device=x.device)
    grid = (blocks,)
    count_kernel[grid](mask, counts, n, cols, mask.stride(0), mask.stride(1), BLOCK=1024)
    scan_kernel[(1,)](counts, starts, blocks, BLOCK=1024)
    y = torch.empty((starts[blocks].item(),), dtype=x.dtype, device=x.device) if out is None else out
    tensor = isinstance(other, torch.Tensor)
    other_stride = other.stride(0) if tensor and other.numel() > 1 else 0
    select_gelu_kernel[grid](
        x, mask, other if tensor else x, starts, y, n, cols, 0.0 if tensor else float(other), float(alpha),
        *x.stride(), *mask.stride(), other_stride, TENSOR=tensor, TANH=approximate == "tanh", BLOCK=1024,
    )  # fmt: skip
    return y


def as_rows(x):
    try:
        return x.view(-1, x.shape[-1])
    except RuntimeError:
        return x.contiguous().view(-1, x.shape[-1])
