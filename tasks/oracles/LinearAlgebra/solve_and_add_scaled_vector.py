import torch
import triton
import triton.language as tl


@triton.jit
def step_kernel(
    a_ptr, w_ptr, y_ptr, alpha_ptr, x_ptr, n, columns, start,
    a_stride_row, a_stride_col, y_stride_row, y_stride_col, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Solves for the rows from `start` on, which every program does for itself, and takes them out of the
    right-hand sides of its own block of rows above. What is left of those is in w; the last block writes the result."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = start + tl.arange(0, BLOCK)
    own = start + tl.arange(0, BLOCK)
    sides = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    inside = (own < n)[:, None] & (sides < columns)[None, :]
    x = tl.load(w_ptr + own[:, None] * columns + sides[None, :], mask=inside, other=0.0)
    upper = (cols < n)[None, :] & (own[:, None] <= cols[None, :])
    diagonal_block = tl.load(a_ptr + own[:, None] * a_stride_row + cols[None, :] * a_stride_col, mask=upper, other=0.0)
    above = (rows < start)[:, None] & (cols < n)[None, :]
    block = tl.load(a_ptr + rows[:, None] * a_stride_row + cols[None, :] * a_stride_col, mask=above, other=0.0)
    above = (rows < start)[:, None] & (sides < columns)[None, :]
    w = tl.load(w_ptr + rows[:, None] * columns + sides[None, :], mask=above, other=0.0)

    width = tl.minimum(n - start, BLOCK)
    for i in range(width):
        k = start + width - 1 - i
        col = tl.sum(tl.where(cols[None, :] == k, diagonal_block, 0.0), axis=1)
        chosen = own == k
        pivot = tl.sum(tl.where(chosen, col, 0.0), axis=0)
        solved = tl.sum(tl.where(chosen[:, None], x, 0.0), axis=0) / pivot
        x = tl.where(chosen[:, None], solved[None, :], x - tl.where(chosen, 0.0, col)[:, None] * solved[None, :])
        w -= tl.sum(tl.where(cols[None, :] == k, block, 0.0), axis=1)[:, None] * solved[None, :]

    tl.store(w_ptr + rows[:, None] * columns + sides[None, :], w, mask=above)
    if tl.program_id(0) * BLOCK == start:
        y = tl.load(y_ptr + own[:, None] * y_stride_row + sides[None, :] * y_stride_col, mask=inside, other=0.0)
        result = x + tl.load(alpha_ptr) * y
        tl.store(x_ptr + own[:, None] * columns + sides[None, :], result, mask=inside)


def solve_and_add_scaled_vector(A: torch.Tensor, b: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    n = A.shape[0]
    sides = b.unsqueeze(-1) if b.dim() == 1 else b
    added = y.unsqueeze(-1) if y.dim() == 1 else y
    added = added.expand(sides.shape)
    columns = sides.shape[1]
    out = torch.empty(b.shape, dtype=b.dtype, device=b.device)
    w = torch.empty(sides.shape, dtype=b.dtype, device=b.device)
    w.copy_(sides)
    # a number would be passed in float32
    scale = torch.full((1,), alpha, dtype=b.dtype, device=b.device)
    BLOCK = 32
    BLOCK_K = min(16, max(2, triton.next_power_of_2(columns)))
    for block in range(triton.cdiv(n, BLOCK) - 1, -1, -1):
        step_kernel[(block + 1, triton.cdiv(columns, BLOCK_K))](
            A, w, added, scale, out, n, columns, block * BLOCK,
            A.stride(0), A.stride(1), added.stride(0), added.stride(1), BLOCK=BLOCK, BLOCK_K=BLOCK_K,
        )  # fmt: skip
    return out
