import torch
import triton
import triton.language as tl


@triton.jit
def power(x, p, KIND: tl.constexpr):
    x = tl.abs(x)
    if KIND == 2:
        x = x * x
    elif KIND != 1:
        x = tl.exp2(p * tl.log2(x))
    return x


@triton.jit
def root(x, p, KIND: tl.constexpr):
    if KIND == 2:
        x = tl.sqrt(x)
    elif KIND != 1:
        x = tl.exp2(tl.log2(x) / p)
    return x


@triton.jit(do_not_specialize=["size", "stride_row"])
def normalise_kernel(
    x_ptr, y_ptr, size, stride_row, stride_col, p, eps, KIND: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, size, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride_row + offs.to(tl.int64) * stride_col, mask=offs < size, other=0.0)
        total += tl.where(offs < size, power(x, p, KIND), 0.0)
    norm = root(tl.sum(total, axis=0), p, KIND)
    # a maximum would turn NaN into eps
    norm = tl.where(norm < eps, eps, norm)
    for start in range(0, size, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride_row + offs.to(tl.int64) * stride_col, mask=offs < size, other=0.0)
        tl.store(y_ptr + row * size + offs, x / norm, mask=offs < size)


@triton.jit(do_not_specialize=["m", "n", "size"])
def distance_kernel(
    a_ptr, b_ptr, y_ptr, m, n, size, p, eps, KIND: tl.constexpr, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr
):  # fmt: skip
    blocks = tl.cdiv(n, BLOCK)
    rows = (tl.program_id(0) // blocks) * BLOCK + tl.arange(0, BLOCK)
    cols = (tl.program_id(0) % blocks) * BLOCK + tl.arange(0, BLOCK)
    a_rows = a_ptr + rows.to(tl.int64) * size
    b_rows = b_ptr + cols.to(tl.int64) * size
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, size, BLOCK_K):
        offs = start + tl.arange(0, BLOCK_K)
        within = (offs < size)[None, :]
        a = tl.load(a_rows[:, None] + offs[None, :], mask=(rows < m)[:, None] & within, other=0.0)
        b = tl.load(b_rows[:, None] + offs[None, :], mask=(cols < n)[:, None] & within, other=0.0)
        difference = a[:, None, :] - b[None, :, :] + eps
        total += tl.sum(tl.where(within[None, :, :], power(difference, p, KIND), 0.0), axis=2)
    mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(y_ptr + rows[:, None].to(tl.int64) * n + cols[None, :], root(total, p, KIND), mask=mask)


def fused_pairwise_distance_normalize(x1, x2, p_norm=2.0, eps_norm=1e-12, eps_distance=1e-06, keepdim=False):
    (m, size), n = x1.shape, x2.shape[0]
    kind = int(p_norm) if p_norm in (1, 2) else 0
    a = torch.empty((m, size), dtype=torch.float32, device=x1.device)
    b = torch.empty((n, size), dtype=torch.float32, device=x1.device)
    normalise_kernel[(m,)](x1, a, size, *x1.stride(), float(p_norm), eps_norm, KIND=kind, BLOCK=128)
    y = torch.empty((m, n, 1) if keepdim else (m, n), dtype=torch.float32, device=x1.device)
    normalise_kernel[(n,)](x2, b, size, *x2.stride(), float(p_norm), eps_norm, KIND=kind, BLOCK=128)
    distance_kernel[(triton.cdiv(m, 16) * triton.cdiv(n, 16),)](
        a, b, y, m, n, size, float(p_norm), eps_distance, KIND=kind, BLOCK=16, BLOCK_K=32
    )
    return y
