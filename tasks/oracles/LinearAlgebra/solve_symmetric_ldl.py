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


@triton.jit
def row(x, rows, i):
    return tl.sum(tl.where(rows[:, None] == i, x, 0.0), axis=0)[None, :]


@triton.jit(do_not_specialize=range(3, 14))
def solve_kernel(
    a_ptr, b_ptr, x_ptr, n, sides,
    a_stride_batch, a_stride_row, a_stride_col, b_stride_batch, b_stride_row, b_stride_col,
    x_stride_batch, x_stride_row, x_stride_col,
    COMPLEX: tl.constexpr, CONJ: tl.constexpr, BLOCK: tl.constexpr, SIDES: tl.constexpr,
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
    side = tl.program_id(1) * SIDES + tl.arange(0, SIDES)
    b_mask = (rows[:, None] < n) & (side[None, :] < sides)
    offs = b_ptr + batch * b_stride_batch + rows[:, None] * b_stride_row + side[None, :] * b_stride_col
    b = tl.load(offs, mask=b_mask, other=0.0)
    b_im = tl.zeros_like(b)
    if COMPLEX:
        b_im = tl.load(offs + 1, mask=b_mask, other=0.0)
    lower = tl.zeros_like(a)
    lower_im = tl.zeros_like(a)
    first = rows
    other = rows

    # a = l d l^H while it is taken apart, and b becomes d^-1 l^-1 b
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

        lower = tl.where((cols == k)[None, :], l0[:, None], tl.where((cols == k + 1)[None, :], l1[:, None], lower))
        lower_im = tl.where(
            (cols == k)[None, :], l0_im[:, None], tl.where((cols == k + 1)[None, :], l1_im[:, None], lower_im)
        )
        first = tl.where(rows == k, last, first)
        other = tl.where(rows == k, p, other)
        down = tl.broadcast_to(perm[:, None], (BLOCK, SIDES))
        b, b_im = tl.gather(b, down, 0), tl.gather(b_im, down, 0)
        u, u_im, v, v_im = row(b, rows, k), row(b_im, rows, k), row(b, rows, k + 1), row(b_im, rows, k + 1)
        x, x_im = times(l0[:, None], l0_im[:, None], u, u_im)
        y, y_im = times(l1[:, None], l1_im[:, None], v, v_im)
        b -= x + y
        b_im -= x_im + y_im
        x, x_im = times(i0, i0_im, u, u_im)
        y, y_im = times(i3, i3_im, v, v_im)
        b, b_im = tl.where((rows == k)[:, None], x + y, b), tl.where((rows == k)[:, None], x_im + y_im, b_im)
        x, x_im = times(i2, i2_im, u, u_im)
        y, y_im = times(i1, i1_im, v, v_im)
        second = ((rows == k + 1) & two)[:, None]
        b, b_im = tl.where(second, x + y, b), tl.where(second, x_im + y_im, b_im)
        k = last + 1

    for back in range(n):
        k = n - 1 - back
        l0, l0_im = column(lower, cols, k)[:, None], CONJ * column(lower_im, cols, k)[:, None]
        x, x_im = times(l0, l0_im, b, b_im)
        here = rows[:, None] == k
        b = tl.where(here, b - tl.sum(x, axis=0)[None, :], b)
        b_im = tl.where(here, b_im - tl.sum(x_im, axis=0)[None, :], b_im)
        last = tl.sum(tl.where(rows == k, first, 0), axis=0)
        p = tl.sum(tl.where(rows == k, other, 0), axis=0)
        perm = tl.where(rows == last, p, tl.where(rows == p, last, rows))
        down = tl.broadcast_to(perm[:, None], (BLOCK, SIDES))
        b, b_im = tl.gather(b, down, 0), tl.gather(b_im, down, 0)

    offs = x_ptr + batch * x_stride_batch + rows[:, None] * x_stride_row + side[None, :] * x_stride_col
    tl.store(offs, b, mask=b_mask)
    if COMPLEX:
        tl.store(offs + 1, b_im, mask=b_mask)


def matrices(x):
    """A view with one batch dimension, of real numbers."""
    x = x.reshape(-1, x.shape[-2], x.shape[-1])
    return torch.view_as_real(x) if x.is_complex() else x


def solve_symmetric_ldl(A, b, hermitian=False, out=None):
    if out is None:
        out = torch.empty(b.shape, dtype=b.dtype, device=b.device)
    single = b.dim() == A.dim() - 1
    a, rhs, x = matrices(A), matrices(b.unsqueeze(-1) if single else b), matrices(out.unsqueeze(-1) if single else out)
    n, sides = rhs.shape[1], rhs.shape[2]
    block = max(16, triton.next_power_of_2(n))
    grid = (a.shape[0], triton.cdiv(sides, 16))
    solve_kernel[grid](
        a, rhs, x, n, sides, a.stride(0), a.stride(1), a.stride(2), rhs.stride(0), rhs.stride(1), rhs.stride(2),
        x.stride(0), x.stride(1), x.stride(2),
        COMPLEX=A.is_complex(), CONJ=-1 if hermitian and A.is_complex() else 1, BLOCK=block, SIDES=16,
        num_warps=4 if block <= 32 else 8,
    )  # fmt: skip
    return out
