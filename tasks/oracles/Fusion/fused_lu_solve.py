import torch
import triton
import triton.language as tl


@triton.jit
def panel_kernel(w_ptr, place_ptr, pivot_ptr, n, start, BLOCK_M: tl.constexpr, BLOCK: tl.constexpr):
    """Eliminates columns `start` on of w (stored by columns) in all rows; multipliers replace what they remove.

    Rows stay where they are: `place` says as which pivot each served, BLOCK_M that it didn't yet. Column n of w is b:
    the last block holds it, or `apply_kernel` sees to it.
    """
    rows = tl.arange(0, BLOCK_M)
    cols = start + tl.arange(0, BLOCK)
    offs = rows[:, None] + cols[None, :] * n
    a = tl.load(w_ptr + offs, mask=(rows < n)[:, None] & (cols <= n)[None, :], other=0.0)
    place = tl.load(place_ptr + rows, mask=rows < n, other=-1)
    place = tl.where((start == 0) & (rows < n), BLOCK_M, place)
    for k in range(start, tl.minimum(start + BLOCK, n)):
        col = tl.sum(tl.where(cols[None, :] == k, a, 0.0), axis=1)
        free = place == BLOCK_M
        best = tl.argmax(tl.where(free, tl.abs(col), -1.0), axis=0)
        chosen = rows == best
        row = tl.sum(tl.where(chosen[:, None], a, 0.0), axis=0)
        pivot = tl.sum(tl.where(chosen, col, 0.0), axis=0)
        left = free & ~chosen
        factor = tl.where(left, col / pivot, 0.0)
        a -= factor[:, None] * tl.where(cols > k, row, 0.0)[None, :]
        a = tl.where(left[:, None] & (cols == k)[None, :], factor[:, None], a)
        place = tl.where(chosen, k, place)
        tl.store(pivot_ptr + k, best)
    tl.store(w_ptr + offs, a, mask=(rows < n)[:, None] & (cols <= n)[None, :])
    tl.store(place_ptr + rows, place, mask=rows < n)


@triton.jit
def apply_kernel(w_ptr, place_ptr, pivot_ptr, n, start, BLOCK_M: tl.constexpr, BLOCK: tl.constexpr):
    """Does the same to a block of later columns."""
    rows = tl.arange(0, BLOCK_M)
    cols = start + (1 + tl.program_id(0)) * BLOCK + tl.arange(0, BLOCK)
    offs = rows[:, None] + cols[None, :] * n
    a = tl.load(w_ptr + offs, mask=(rows < n)[:, None] & (cols <= n)[None, :], other=0.0)
    place = tl.load(place_ptr + rows, mask=rows < n, other=-1)
    for k in range(start, start + BLOCK):
        best = tl.load(pivot_ptr + k)
        factor = tl.load(w_ptr + rows + k * n, mask=place > k, other=0.0)
        row = tl.sum(tl.where((rows == best)[:, None], a, 0.0), axis=0)
        a -= factor[:, None] * row[None, :]
    tl.store(w_ptr + offs, a, mask=(rows < n)[:, None] & (cols <= n)[None, :])


@triton.jit
def back_kernel(w_ptr, pivot_ptr, x_ptr, n, BLOCK_M: tl.constexpr):
    """Substitutes backwards; row k of U is that of pivot k."""
    rows = tl.arange(0, BLOCK_M)
    held = tl.load(pivot_ptr + rows, mask=rows < n, other=0)
    x = tl.load(w_ptr + held + n * n, mask=rows < n, other=0.0)
    for i in range(n):
        k = n - 1 - i
        col = tl.load(w_ptr + held + k * n, mask=rows <= k, other=0.0)
        pivot = tl.sum(tl.where(rows == k, col, 0.0), axis=0)
        solved = tl.sum(tl.where(rows == k, x, 0.0), axis=0) / pivot
        x = tl.where(rows == k, solved, x - col * solved)
    tl.store(x_ptr + rows, x, mask=rows < n)


def fused_lu_solve(A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    n = b.shape[0]
    x = torch.empty((n,), dtype=b.dtype, device=b.device)
    # A and b side by side, stored by columns
    work = torch.empty((n + 1, n), dtype=A.dtype, device=A.device)
    work[:n].copy_(A.T)
    work[n].copy_(b)
    place = torch.empty((n,), dtype=torch.int32, device=A.device)
    pivots = torch.empty((n,), dtype=torch.int32, device=A.device)
    BLOCK = 16
    BLOCK_M = max(16, triton.next_power_of_2(n))
    num_warps = 4 if BLOCK_M <= 128 else 8
    for start in range(0, n, BLOCK):
        panel_kernel[(1,)](work, place, pivots, n, start, BLOCK_M=BLOCK_M, BLOCK=BLOCK, num_warps=num_warps)
        later = n + 1 - start - BLOCK
        if later > 0:
            apply_kernel[(triton.cdiv(later, BLOCK),)](
                work, place, pivots, n, start, BLOCK_M=BLOCK_M, BLOCK=BLOCK, num_warps=num_warps
            )
    back_kernel[(1,)](work, pivots, x, n, BLOCK_M=BLOCK_M, num_warps=4)
    return x
