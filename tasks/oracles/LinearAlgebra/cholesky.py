import torch
import triton
import triton.language as tl


@triton.jit
def cholesky_kernel(
    a_ptr, l_ptr, n,
    a_stride_batch, a_stride_row, a_stride_col, l_stride_batch, l_stride_row, l_stride_col,
    BLOCK: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    mask = (rows[:, None] < n) & (cols[None, :] <= rows[:, None])
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    a = tl.load(a_ptr + batch * a_stride_batch + offs, mask=mask, other=0.0)
    for k in range(n):
        col = tl.sum(tl.where(cols[None, :] == k, a, 0.0), axis=1)
        pivot = tl.sum(tl.where(rows == k, col, 0.0), axis=0)
        col = tl.where(rows >= k, col / tl.sqrt(pivot), 0.0)
        tl.store(l_ptr + batch * l_stride_batch + rows * l_stride_row + k * l_stride_col, col, mask=rows < n)
        a -= col[:, None] * col[None, :]


@triton.jit
def complex_cholesky_kernel(
    a_ptr, l_ptr, n,
    a_stride_batch, a_stride_row, a_stride_col, l_stride_batch, l_stride_row, l_stride_col,
    BLOCK: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    mask = (rows[:, None] < n) & (cols[None, :] <= rows[:, None])
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    re = tl.load(a_ptr + batch * a_stride_batch + offs, mask=mask, other=0.0)
    im = tl.load(a_ptr + batch * a_stride_batch + offs + 1, mask=mask, other=0.0)
    for k in range(n):
        col_re = tl.sum(tl.where(cols[None, :] == k, re, 0.0), axis=1)
        col_im = tl.sum(tl.where(cols[None, :] == k, im, 0.0), axis=1)
        root = tl.sqrt(tl.sum(tl.where(rows == k, col_re, 0.0), axis=0))
        col_re = tl.where(rows >= k, col_re / root, 0.0)
        col_im = tl.where(rows > k, col_im / root, 0.0)
        out = l_ptr + batch * l_stride_batch + rows * l_stride_row + k * l_stride_col
        tl.store(out, col_re, mask=rows < n)
        tl.store(out + 1, col_im, mask=rows < n)
        re -= col_re[:, None] * col_re[None, :] + col_im[:, None] * col_im[None, :]
        im -= col_im[:, None] * col_re[None, :] - col_re[:, None] * col_im[None, :]


def matrices(x: torch.Tensor) -> torch.Tensor:
    """A view with one batch dimension, of real numbers."""
    x = x.view(-1, x.shape[-2], x.shape[-1])
    return torch.view_as_real(x) if x.is_complex() else x


def cholesky(A: torch.Tensor, upper: bool = False, out: torch.Tensor = None) -> torch.Tensor:
    if out is None:
        out = torch.empty(A.shape, dtype=A.dtype, device=A.device)
    try:
        a = matrices(A)
    except RuntimeError:
        a = matrices(A.contiguous())
    y = matrices(out)
    # U is the transpose of the factor of the transposed matrix, so `upper` only swaps strides
    row, col = (2, 1) if upper else (1, 2)
    n = A.shape[-1]
    block = max(16, triton.next_power_of_2(n))
    kernel = complex_cholesky_kernel if A.is_complex() else cholesky_kernel
    kernel[(a.shape[0],)](
        a, y, n,
        a.stride(0), a.stride(row), a.stride(col), y.stride(0), y.stride(row), y.stride(col),
        BLOCK=block, num_warps=4 if block <= 32 else 8,
    )  # fmt: skip
    return out
