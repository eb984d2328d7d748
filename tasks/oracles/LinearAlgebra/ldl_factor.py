import torch
import triton
import triton.language as tl

ALPHA = tl.constexpr(0.6403882)  # (1 + sqrt(17)) / 8, which bounds the growth of elements


@triton.jit
def column(x, cols, j):
    return tl.sum(tl.where(cols[None, :] == j, x, 0.0), axis=1)


@triton.jit
def at(x, rows, i):
    return tl.sum(tl.where(rows == i, x, 0.0), axis=0)


@triton.jit
def times(a, a_im, b, b_im):
    return a * b - a_im * b_im, a * b_im + a_im * b


@triton.jit
def exchanged(x, perm, BLOCK: tl.constexpr):
    x = tl.gather(x, tl.broadcast_to(perm[:, None], (BLOCK, BLOCK)), 0)
    return tl.gather(x, tl.broadcast_to(perm[None, :], (BLOCK, BLOCK)), 1)


@triton.jit(do_not_specialize=range(3, 10))
def ldl_kernel(
    a_ptr, ld_ptr, pivots_ptr, n,
    a_stride_batch, a_stride_row, a_stride_col, ld_stride_batch, ld_stride_row, ld_stride_col,
    COMPLEX: tl.constexpr, CONJ: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    mask = (rows[:, None] < n) & (cols[None, :] < n)
    # the lower triangle, mirrored; Hermitian for CONJ = -1
    low, high = tl.maximum(rows[:, None], cols[None, :]), tl.minimum(rows[:, None], cols[None, :])
    offs = a_ptr + batch * a_stride_batch + low * a_stride_row + high * a_stride_col
    a = tl.load(offs, mask=mask, other=0.0)
    a_im = tl.zeros_like(a)
    if COMPLEX:
        a_im = tl.load(offs + 1, mask=mask, other=0.0)
        a_im = tl.where(rows[:, None] >= cols[None, :], a_im, CONJ * a_im)
        if CONJ == -1:
            a_im = tl.where(rows[:, None] == cols[None, :], 0.0, a_im)
    pivots = tl.zeros((BLOCK,), tl.int32)

    k = 0
    while k < n:
        # the pivot of Bunch and Kaufman (1977): 1 x 1 as it stands, 1 x 1 from row r, or 2 x 2 with row r
        sizes = tl.abs(a) + tl.abs(a_im)
        own = column(sizes, cols, k)
        below = tl.where(rows > k, own, -1.0)
        top = tl.max(below, axis=0)
        r = tl.min(tl.where(below == top, rows, BLOCK), axis=0)
        top = tl.maximum(top, 0.0)
        beside = column(sizes, cols, r)
        widest = tl.max(tl.where((rows >= k) & (rows != r), beside, 0.0), axis=0)
        head = at(own, rows, k)
        stay = (head >= top * ALPHA) | (head * widest >= top * top * ALPHA)
        two = (stay == 0) & (at(beside, rows, r) < widest * ALPHA)
        last = tl.where(two, k + 1, k)
        p = tl.where(stay, k, r)
        perm = tl.where(rows == last, p, tl.where(rows == p, last, rows))
        trailing = (rows >= k)[:, None] & (cols >= k)[None, :]
        a = tl.where(trailing, exchanged(a, perm, BLOCK), a)
        a_im = tl.where(trailing, exchanged(a_im, perm, BLOCK), a_im)

        # the block [[d, conj f], [f, g]] of the diagonal, or [[d]], and its inverse
        c, c_im, e, e_im = column(a, cols, k), column(a_im, cols, k), column(a, cols, k + 1), column(a_im, cols, k + 1)
        d, d_im, f, f_im = at(c, rows, k), at(c_im, rows, k), at(c, rows, k + 1), at(c_im, rows, k + 1)
        g, g_im = at(e, rows, k + 1), at(e_im, rows, k + 1)
        dg, dg_im = times(d, d_im, g, g_im)
        ff, ff_im = times(f, f_im, f, CONJ * f_im)
        det, det_im = tl.where(two, dg - ff, d), tl.where(two, dg_im - ff_im, d_im)
        square = det * det + det_im * det_im
        det, det_im = det / square, -det_im / square
        i0, i0_im = times(tl.where(two, g, 1.0), tl.where(two, g_im, 0.0), det, det_im)
        i1, i1_im = times(tl.where(two, d, 0.0), tl.where(two, d_im, 0.0), det, det_im)
        i2, i2_im = times(tl.where(two, -f, 0.0), tl.where(two, -f_im, 0.0), det, det_im)
        i3, i3_im = times(tl.where(two, -f, 0.0), tl.where(two, -CONJ * f_im, 0.0), det, det_im)

        beyond = rows > last
        c, c_im, e, e_im = (
            tl.where(beyond, c, 0.0), tl.where(beyond, c_im, 0.0), tl.where(beyond, e, 0.0), tl.where(beyond, e_im, 0.0)
        )  # fmt: skip
        x, x_im = times(c, c_im, i0, i0_im)
        y, y_im = times(e, e_im, i2, i2_im)
        l0, l0_im = x + y, x_im + y_im
        x, x_im = times(c, c_im, i3, i3_im)
        y, y_im = times(e, e_im, i1, i1_im)
        l1, l1_im = x + y, x_im + y_im
        x, x_im = times(l0[:, None], l0_im[:, None], c[None, :], CONJ * c_im[None, :])
        y, y_im = times(l1[:, None], l1_im[:, None], e[None, :], CONJ * e_im[None, :])
        a -= x + y
        a_im -= x_im + y_im
        if CONJ == -1:  # what rounding leaves there grows with the square of the multipliers
            a_im = tl.where(rows[:, None] == cols[None, :], 0.0, a_im)

        under = beyond[:, None]
        a = tl.where(under & (cols == k)[None, :], l0[:, None], a)
        a_im = tl.where(under & (cols == k)[None, :], l0_im[:, None], a_im)
        second = (cols == k + 1) & two
        a = tl.where(under & second[None, :], l1[:, None], a)
        a_im = tl.where(under & second[None, :], l1_im[:, None], a_im)
        pivots = tl.where((rows >= k) & (rows <= last), tl.where(two, -(p + 1), p + 1), pivots)
        k = last + 1

    tl.store(pivots_ptr + batch * n + rows, pivots, mask=rows < n)
    offs = ld_ptr + batch * ld_stride_batch + rows[:, None] * ld_stride_row + cols[None, :] * ld_stride_col
    lower = rows[:, None] >= cols[None, :]
    tl.store(offs, tl.where(lower, a, 0.0), mask=mask)
    if COMPLEX:
        tl.store(offs + 1, tl.where(lower, a_im, 0.0), mask=mask)


def matrices(x):
    """A view with one batch dimension, of real numbers."""
    x = x.reshape(-1, x.shape[-2], x.shape[-1])
    return torch.view_as_real(x) if x.is_complex() else x


def ldl_factor(A, hermitian=False, out=None):
    n = A.shape[-1]
    if out is None:
        LD = torch.empty(A.shape, dtype=A.dtype, device=A.device)
        pivots = torch.empty(A.shape[:-1], dtype=torch.int32, device=A.device)
    else:
        LD, pivots = out
    a, y = matrices(A), matrices(LD)
    block = max(16, triton.next_power_of_2(n))
    ldl_kernel[(a.shape[0],)](
        a, y, pivots, n, a.stride(0), a.stride(1), a.stride(2), y.stride(0), y.stride(1), y.stride(2),
        COMPLEX=A.is_complex(), CONJ=-1 if hermitian and A.is_complex() else 1, BLOCK=block,
        num_warps=4 if block <= 32 else 8,
    )  # fmt: skip
    return LD, pivots
