import torch
import triton
import triton.language as tl


@triton.jit
def panel_kernel(w_ptr, scale_ptr, m, n, start, BLOCK_M: tl.constexpr, BLOCK: tl.constexpr):
    """Householder reflections for columns `start` on of w (stored by columns). They are kept below the diagonal; their
    first element is 1, and not stored."""
    rows = tl.arange(0, BLOCK_M)
    cols = start + tl.arange(0, BLOCK)
    offs = rows[:, None] + cols[None, :] * m
    a = tl.load(w_ptr + offs, mask=(rows < m)[:, None] & (cols < n)[None, :], other=0.0)
    for k in range(start, tl.minimum(start + BLOCK, n)):
        col = tl.sum(tl.where(cols[None, :] == k, a, 0.0), axis=1)
        top = tl.sum(tl.where(rows == k, col, 0.0), axis=0)
        below = tl.where(rows > k, col, 0.0)
        rest = tl.sum(below * below, axis=0)
        norm = tl.sqrt(top * top + rest)
        # away from zero, so that nothing cancels in top - head
        head = tl.where(top > 0.0, -norm, norm)
        zero = rest == 0.0
        head = tl.where(zero, top, head)
        reflector = tl.where(rows == k, 1.0, below / tl.where(zero, 1.0, top - head))
        scale = tl.where(zero, 0.0, (head - top) / tl.where(zero, 1.0, head))
        product = scale * tl.sum(reflector[:, None] * a, axis=0)
        a -= reflector[:, None] * tl.where(cols > k, product, 0.0)[None, :]
        done = tl.where(rows == k, head, tl.where(rows > k, reflector, col))
        a = tl.where(cols[None, :] == k, done[:, None], a)
        tl.store(scale_ptr + k, scale)
    tl.store(w_ptr + offs, a, mask=(rows < m)[:, None] & (cols < n)[None, :])


@triton.jit
def apply_kernel(w_ptr, scale_ptr, m, n, total, start, stop, BLOCK_M: tl.constexpr, BLOCK: tl.constexpr):
    """Applies the reflections `start` to `stop` to a block of later columns, those of b among them."""
    rows = tl.arange(0, BLOCK_M)
    cols = stop + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offs = rows[:, None] + cols[None, :] * m
    a = tl.load(w_ptr + offs, mask=(rows < m)[:, None] & (cols < total)[None, :], other=0.0)
    for k in range(start, stop):
        below = tl.load(w_ptr + rows + k * m, mask=(rows > k) & (rows < m), other=0.0)
        reflector = tl.where(rows == k, 1.0, below)
        product = tl.load(scale_ptr + k) * tl.sum(reflector[:, None] * a, axis=0)
        a -= reflector[:, None] * product[None, :]
    tl.store(w_ptr + offs, a, mask=(rows < m)[:, None] & (cols < total)[None, :])


@triton.jit
def back_kernel(w_ptr, x_ptr, m, n, columns, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Substitutes backwards for a block of right-hand sides."""
    rows = tl.arange(0, BLOCK_N)
    sides = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    inside = (rows < n)[:, None] & (sides < columns)[None, :]
    x = tl.load(w_ptr + rows[:, None] + (n + sides)[None, :] * m, mask=inside, other=0.0)
    for i in range(n):
        k = n - 1 - i
        col = tl.load(w_ptr + rows + k * m, mask=rows <= k, other=0.0)
        chosen = rows == k
        pivot = tl.sum(tl.where(chosen, col, 0.0), axis=0)
        solved = tl.sum(tl.where(chosen[:, None], x, 0.0), axis=0) / pivot
        x = tl.where(chosen[:, None], solved[None, :], x - col[:, None] * solved[None, :])
    tl.store(x_ptr + rows[:, None] * columns + sides[None, :], x, mask=inside)


def fused_qr_solve(A: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    m, n = A.shape
    columns = b.shape[1]
    total = n + columns
    x = torch.empty((n, columns), dtype=b.dtype, device=b.device)
    # A and b side by side, stored by columns
    work = torch.empty((total, m), dtype=A.dtype, device=A.device)
    work[:n].copy_(A.T)
    work[n:].copy_(b.T)
    scales = torch.empty((n,), dtype=A.dtype, device=A.device)
    BLOCK = 16
    BLOCK_M = max(16, triton.next_power_of_2(m))
    num_warps = 4 if BLOCK_M <= 128 else 8
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        panel_kernel[(1,)](work, scales, m, n, start, BLOCK_M=BLOCK_M, BLOCK=BLOCK, num_warps=num_warps)
        apply_kernel[(triton.cdiv(total - stop, BLOCK),)](
            work, scales, m, n, total, start, stop, BLOCK_M=BLOCK_M, BLOCK=BLOCK, num_warps=num_warps
        )
    BLOCK_N = max(16, triton.next_power_of_2(n))
    back_kernel[(triton.cdiv(columns, 8),)](work, x, m, n, columns, BLOCK_N=BLOCK_N, BLOCK_K=8, num_warps=4)
    return x
