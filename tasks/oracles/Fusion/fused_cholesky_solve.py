import torch
import triton
import triton.language as tl


@triton.jit
def factor_kernel(
    a_ptr, b_ptr, l_ptr, n, columns, start, b_stride_row, b_stride_col, a_stride_row, a_stride_col, BLOCK: tl.constexpr
):  # fmt: skip
    """Columns `start` on of the factor. Below A stands b transposed: its rows come out as those of (L^-1 b) transposed.

    Each program takes the finished columns out of its own rows and of the block on the diagonal, and factors both.
    """
    rows = start + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = start + tl.arange(0, BLOCK)
    heads = start + tl.arange(0, BLOCK)
    in_a = (rows < n)[:, None] & (cols < n)[None, :]
    in_b = ((rows >= n) & (rows < n + columns))[:, None] & (cols < n)[None, :]
    tile = tl.load(a_ptr + rows[:, None] * a_stride_row + cols[None, :] * a_stride_col, mask=in_a, other=0.0)
    tile += tl.load(b_ptr + cols[None, :] * b_stride_row + (rows - n)[:, None] * b_stride_col, mask=in_b, other=0.0)
    in_head = (heads < n)[:, None] & (cols < n)[None, :]
    head = tl.load(a_ptr + heads[:, None] * a_stride_row + cols[None, :] * a_stride_col, mask=in_head, other=0.0)
    for done in range(start // BLOCK):
        inner = done * BLOCK + tl.arange(0, BLOCK)
        left = tl.load(l_ptr + rows[:, None] * n + inner[None, :], mask=(rows < n + columns)[:, None], other=0.0)
        top = tl.load(l_ptr + heads[:, None] * n + inner[None, :], mask=(heads < n)[:, None], other=0.0)
        tile -= tl.dot(left, tl.trans(top), input_precision="ieee")
        head -= tl.dot(top, tl.trans(top), input_precision="ieee")

    for k in range(start, tl.minimum(start + BLOCK, n)):
        col = tl.sum(tl.where(cols[None, :] == k, tile, 0.0), axis=1)
        row = tl.sum(tl.where(heads[:, None] == k, head, 0.0), axis=0)
        root = tl.sqrt(tl.sum(tl.where(cols == k, row, 0.0), axis=0))
        col = col / root
        across = tl.where(cols > k, row / root, 0.0)
        down = tl.sum(tl.where(cols[None, :] == k, head, 0.0), axis=1) / root
        tile = tl.where(cols[None, :] == k, col[:, None], tile - col[:, None] * across[None, :])
        head -= down[:, None] * across[None, :]
    lower = (cols < n)[None, :] & (cols[None, :] <= rows[:, None])
    tl.store(l_ptr + rows[:, None] * n + cols[None, :], tile, mask=(rows < n + columns)[:, None] & lower)


@triton.jit
def back_kernel(l_ptr, x_ptr, n, columns, start, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    """Rows `start` on of x, for a block of right-hand sides, when those below are known."""
    cols = start + tl.arange(0, BLOCK)
    heads = start + tl.arange(0, BLOCK)
    sides = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    inside = (sides < columns)[:, None] & (cols < n)[None, :]
    x = tl.load(l_ptr + (n + sides)[:, None] * n + cols[None, :], mask=inside, other=0.0)
    for below in range(start + BLOCK, n, BLOCK):
        inner = below + tl.arange(0, BLOCK)
        known = (sides < columns)[:, None] & (inner < n)[None, :]
        solved = tl.load(x_ptr + inner[None, :] * columns + sides[:, None], mask=known, other=0.0)
        lower = tl.load(l_ptr + inner[:, None] * n + cols[None, :], mask=(inner < n)[:, None], other=0.0)
        x -= tl.dot(solved, lower, input_precision="ieee")

    triangle = (heads < n)[:, None] & (cols[None, :] <= heads[:, None])
    head = tl.load(l_ptr + heads[:, None] * n + cols[None, :], mask=triangle, other=0.0)
    width = tl.minimum(n - start, BLOCK)
    for i in range(width):
        k = start + width - 1 - i
        row = tl.sum(tl.where(heads[:, None] == k, head, 0.0), axis=0)
        pivot = tl.sum(tl.where(cols == k, row, 0.0), axis=0)
        solved = tl.sum(tl.where(cols[None, :] == k, x, 0.0), axis=1) / pivot
        x = tl.where(cols[None, :] == k, solved[:, None], x - solved[:, None] * tl.where(cols < k, row, 0.0)[None, :])
    tl.store(x_ptr + cols[None, :] * columns + sides[:, None], x, mask=inside)


def fused_cholesky_solve(A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    n, columns = b.shape
    x = torch.empty((n, columns), dtype=b.dtype, device=b.device)
    factor = torch.empty((n + columns, n), dtype=A.dtype, device=A.device)
    BLOCK = 32
    for start in range(0, n, BLOCK):
        factor_kernel[(triton.cdiv(n + columns - start, BLOCK),)](
            A, b, factor, n, columns, start, b.stride(0), b.stride(1), A.stride(0), A.stride(1), BLOCK=BLOCK
        )
    for block in range(triton.cdiv(n, BLOCK) - 1, -1, -1):
        back_kernel[(triton.cdiv(columns, 16),)](factor, x, n, columns, block * BLOCK, BLOCK=BLOCK, BLOCK_K=16)
    return x
