import torch
import triton
import triton.language as tl


@triton.jit
def element(x, rows, cols, i, j):
    return tl.sum(tl.where((rows[:, None] == i) & (cols[None, :] == j), x, 0.0))


@triton.jit
def product(a_re, a_im, b_re, b_im):
    re = tl.dot(a_re, b_re, input_precision="ieee") - tl.dot(a_im, b_im, input_precision="ieee")
    im = tl.dot(a_re, b_im, input_precision="ieee") + tl.dot(a_im, b_re, input_precision="ieee")
    return re, im


@triton.jit(do_not_specialize=range(3, 8))
def eig_kernel(a_ptr, w_ptr, v_ptr, n, eps, a_stride_batch, a_stride_row, a_stride_col, BLOCK: tl.constexpr):
    batch = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    mask = (rows[:, None] < n) & (cols[None, :] < n)
    offs = rows[:, None] * a_stride_row + cols[None, :] * a_stride_col
    h = tl.load(a_ptr + batch * a_stride_batch + offs, mask=mask, other=0.0)
    z = tl.where(rows[:, None] == cols[None, :], 1.0, 0.0).to(h.dtype)
    small = eps * tl.sqrt(tl.sum(h * h))

    # Householder reflections to Hessenberg form: a = z h z^H, here and from now on
    for k in range(n - 2):
        x = tl.where(rows > k, tl.sum(tl.where(cols[None, :] == k, h, 0.0), axis=1), 0.0)
        head = tl.sum(tl.where(rows == k + 1, x, 0.0), axis=0)
        size = tl.sqrt(tl.sum(x * x, axis=0))
        x = tl.where(rows == k + 1, x + size * tl.where(head < 0, -1.0, 1.0), x)
        square = tl.sum(x * x, axis=0)
        y = x * (2.0 / tl.where(square > 0, square, 1.0))
        h -= y[:, None] * tl.sum(x[:, None] * h, axis=0)[None, :]
        h -= tl.sum(h * x[None, :], axis=1)[:, None] * y[None, :]
        z -= tl.sum(z * x[None, :], axis=1)[:, None] * y[None, :]

    # complex QR steps with implicit shifts, until h is triangular
    h_im = tl.zeros_like(h)
    z_im = tl.zeros_like(h)
    last = n - 1
    step = 0
    stalled = 0
    while (last > 0) & (step < 40 * n):
        below = tl.sum(tl.where(rows[:, None] == cols[None, :] + 1, tl.abs(h) + tl.abs(h_im), 0.0), axis=1)
        first = tl.max(tl.where((rows <= last) & (below <= small), rows, 0), axis=0)
        shift_re, shift_im = wilkinson(h, h_im, rows, cols, last)
        # now and then another shift, for matrices that the usual one leaves as they are
        odd = tl.where(stalled % 10 == 9, tl.sum(tl.where(rows == last, below, 0.0), axis=0), 0.0)
        f_re = element(h, rows, cols, first, first) - shift_re - odd
        f_im = element(h_im, rows, cols, first, first) - shift_im
        g_re, g_im = element(h, rows, cols, first + 1, first), element(h_im, rows, cols, first + 1, first)
        for k in range(first, last):
            # the rotation [[conj f, conj g], [-g, f]] / size of rows k and k + 1 takes (f, g) to (size, 0)
            size = tl.sqrt(f_re * f_re + f_im * f_im + g_re * g_re + g_im * g_im)
            none = size == 0
            scale = 1.0 / tl.where(none, 1.0, size)
            f_re, f_im, g_re, g_im = tl.where(none, 1.0, f_re * scale), f_im * scale, g_re * scale, g_im * scale
            upper = rows == k
            pair = upper | (rows == k + 1)
            own_re = tl.where(pair, f_re, 1.0)
            own_im = tl.where(pair, tl.where(upper, -f_im, f_im), 0.0)
            other_re = tl.where(pair, tl.where(upper, g_re, -g_re), 0.0)
            other_im = tl.where(pair, -g_im, 0.0)
            partner = tl.where(pair, 2 * k + 1 - rows, rows)

            index = tl.broadcast_to(partner[:, None], (BLOCK, BLOCK))
            x, x_im = tl.gather(h, index, 0), tl.gather(h_im, index, 0)
            c, c_im, s, s_im = own_re[:, None], own_im[:, None], other_re[:, None], other_im[:, None]
            h, h_im = c * h - c_im * h_im + s * x - s_im * x_im, c * h_im + c_im * h + s * x_im + s_im * x
            index = tl.broadcast_to(partner[None, :], (BLOCK, BLOCK))
            x, x_im = tl.gather(h, index, 1), tl.gather(h_im, index, 1)
            c, c_im, s, s_im = own_re[None, :], own_im[None, :], other_re[None, :], other_im[None, :]
            h, h_im = c * h + c_im * h_im + s * x + s_im * x_im, c * h_im - c_im * h + s * x_im - s_im * x
            x, x_im = tl.gather(z, index, 1), tl.gather(z_im, index, 1)
            z, z_im = c * z + c_im * z_im + s * x + s_im * x_im, c * z_im - c_im * z + s * x_im - s_im * x

            f_re, f_im = element(h, rows, cols, k + 1, k), element(h_im, rows, cols, k + 1, k)
            g_re, g_im = element(h, rows, cols, k + 2, k), element(h_im, rows, cols, k + 2, k)
        stalled = tl.where(first == last, 0, stalled + 1)
        last = tl.where(first == last, last - 1, last)
        step += 1

    diagonal = rows[:, None] == cols[None, :]
    w, w_im = tl.sum(tl.where(diagonal, h, 0.0), axis=0), tl.sum(tl.where(diagonal, h_im, 0.0), axis=0)
    tl.store(w_ptr + (batch * n + cols) * 2, w, mask=cols < n)
    tl.store(w_ptr + (batch * n + cols) * 2 + 1, w_im, mask=cols < n)

    # eigenvectors of the triangular matrix by back substitution, all columns at once
    y = tl.where(diagonal, 1.0, 0.0).to(h.dtype)
    y_im = tl.zeros_like(h)
    for back in range(1, n):
        i = n - 1 - back
        row, row_im = (
            tl.sum(tl.where((rows[:, None] == i) & (cols[None, :] > i), h, 0.0), axis=0)[:, None],
            tl.sum(tl.where((rows[:, None] == i) & (cols[None, :] > i), h_im, 0.0), axis=0)[:, None],
        )
        x, x_im = tl.sum(row * y - row_im * y_im, axis=0), tl.sum(row * y_im + row_im * y, axis=0)
        d = w - tl.sum(tl.where(cols == i, w, 0.0), axis=0)
        d_im = w_im - tl.sum(tl.where(cols == i, w_im, 0.0), axis=0)
        close = tl.abs(d) + tl.abs(d_im) <= small
        d, d_im = tl.where(close, tl.where(small > 0, small, 1.0), d), tl.where(close, 0.0, d_im)
        size = d * d + d_im * d_im
        here = (rows[:, None] == i) & (cols[None, :] > i)
        y = tl.where(here, ((x * d + x_im * d_im) / size)[None, :], y)
        y_im = tl.where(here, ((x_im * d - x * d_im) / size)[None, :], y_im)
    v, v_im = product(z, z_im, y, y_im)
    size = tl.sqrt(tl.sum(v * v + v_im * v_im, axis=0))[None, :]
    v_offs = v_ptr + (batch * n * n + rows[:, None] * n + cols[None, :]) * 2
    tl.store(v_offs, v / size, mask=mask)
    tl.store(v_offs + 1, v_im / size, mask=mask)


@triton.jit
def root(re, im):
    """The complex square root with a real part that is not negative."""
    size = tl.sqrt(re * re + im * im)
    larger = tl.sqrt((size + tl.abs(re)) / 2)
    smaller = im / tl.where(larger > 0, 2 * larger, 1.0)
    turned = tl.where(im < 0, -larger, larger)
    return tl.where(re < 0, tl.abs(smaller), larger), tl.where(re < 0, turned, smaller)


@triton.jit
def wilkinson(re, im, rows, cols, last):
    """The eigenvalue of the trailing 2 x 2 block that lies next to its last element."""
    a_re, a_im = element(re, rows, cols, last - 1, last - 1), element(im, rows, cols, last - 1, last - 1)
    b_re, b_im = element(re, rows, cols, last - 1, last), element(im, rows, cols, last - 1, last)
    c_re, c_im = element(re, rows, cols, last, last - 1), element(im, rows, cols, last, last - 1)
    d_re, d_im = element(re, rows, cols, last, last), element(im, rows, cols, last, last)
    p_re, p_im = (a_re - d_re) / 2, (a_im - d_im) / 2
    bc_re, bc_im = b_re * c_re - b_im * c_im, b_re * c_im + b_im * c_re
    q_re, q_im = root(p_re * p_re - p_im * p_im + bc_re, 2 * p_re * p_im + bc_im)
    side = tl.where(p_re * q_re + p_im * q_im < 0, -1.0, 1.0)
    p_re += side * q_re
    p_im += side * q_im
    size = p_re * p_re + p_im * p_im
    size = tl.where(size > 0, size, 1.0)
    return d_re - (bc_re * p_re + bc_im * p_im) / size, d_im - (bc_im * p_re - bc_re * p_im) / size


def eig(A):
    n = A.shape[-1]
    dtype = torch.complex128 if A.dtype == torch.float64 else torch.complex64
    w = torch.empty(A.shape[:-1], dtype=dtype, device=A.device)
    v = torch.empty(A.shape, dtype=dtype, device=A.device)
    a = A.reshape(-1, n, n)
    block = max(16, triton.next_power_of_2(n))
    eig_kernel[(a.shape[0],)](
        a, torch.view_as_real(w), torch.view_as_real(v), n, torch.finfo(A.dtype).eps / 4,
        a.stride(0), a.stride(1), a.stride(2), BLOCK=block, num_warps=4,
    )  # fmt: skip
    return w, v
