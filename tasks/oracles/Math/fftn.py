import torch
import triton
import triton.language as tl


# one build for all shapes: a transform has several passes, and lengths are rarely multiples of 16
@triton.jit(do_not_specialize=["columns", "radix", "spread", "inner", "line", "length"])
def pass_kernel(
    x_ptr, y_ptr, columns, radix, spread, inner, line, length, scale,
    REAL: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """One pass of Stockham's mixed-radix transform. In memory:

        y[p, c, k] = sum_q exp(-2 pi i q (k + spread c) / (spread radix)) x[q, p, k]

    k runs over spread * inner places and (p, k) over `line`; along the dimension x has `length` elements, then zeros.
    """
    col = tl.program_id(0).to(tl.int64) * BLOCK_C + tl.arange(0, BLOCK_C)
    here = col < columns
    batch = col // line
    place = (col % line).to(tl.int32)
    step = place // inner % spread
    c = tl.program_id(1) * BLOCK_R + tl.arange(0, BLOCK_R)
    turn = 6.283185307179586 / radix
    small = 6.283185307179586 / (spread * radix)

    real = tl.zeros((BLOCK_R, BLOCK_C), tl.float32)
    imag = tl.zeros((BLOCK_R, BLOCK_C), tl.float32)
    for start in range(0, radix, BLOCK_R):
        q = start + tl.arange(0, BLOCK_R)
        # the element's own index along the dimension decides whether it exists
        element = q[:, None] * (line // inner) + place[None, :] // inner
        mask = here[None, :] & (element < length)
        at = batch[None, :] * length * inner + q[:, None].to(tl.int64) * line + place[None, :]
        angle = (c[:, None] * q[None, :] % radix).to(tl.float32) * turn
        cos, sin = tl.cos(angle), tl.sin(angle)
        if REAL:
            # always a first pass, without twiddle factors
            x = tl.load(x_ptr + at, mask=mask, other=0.0)
            real += tl.dot(cos, x, input_precision="ieee")
            imag -= tl.dot(sin, x, input_precision="ieee")
        else:
            x = tl.load(x_ptr + 2 * at, mask=mask, other=0.0)
            w = tl.load(x_ptr + 2 * at + 1, mask=mask, other=0.0)
            twist = (q[:, None] * step[None, :]).to(tl.float32) * small
            u = x * tl.cos(twist) + w * tl.sin(twist)
            v = w * tl.cos(twist) - x * tl.sin(twist)
            real += tl.dot(cos, u, input_precision="ieee") + tl.dot(sin, v, input_precision="ieee")
            imag += tl.dot(cos, v, input_precision="ieee") - tl.dot(sin, u, input_precision="ieee")

    group = spread * inner
    first = (place // group) * radix
    at = batch[None, :] * (line * radix) + (first[None, :] + c[:, None]) * group + (place % group)[None, :]
    mask = (c < radix)[:, None] & here[None, :]
    tl.store(y_ptr + 2 * at, real * scale, mask=mask)
    tl.store(y_ptr + 2 * at + 1, imag * scale, mask=mask)


def radices(n):
    """Factors of n, as few and as even as its primes permit if they are to be 16 or less; [1] for n = 1."""
    primes, p, rest = [], 2, n
    while rest > 1:
        if p * p > rest:
            p = rest
        while rest % p == 0:
            primes.append(p)
            rest //= p
        p += 1
    count = 1
    while 16**count < n:
        count += 1
    found = [1] * count
    for p in reversed(primes):
        found[found.index(min(found))] *= p
    return [r for r in found if r > 1] or [1]


def transform(x, n, d, scale, last):
    """The transform of length n along dimension d of contiguous x; written into `last` if given."""
    outer, inner = x.shape[:d].numel(), x.shape[d + 1 :].numel()
    real = not x.is_complex()
    length, spread = x.shape[d], 1
    shape = (*x.shape[:d], n, *x.shape[d + 1 :])
    factors = radices(n)
    for i, radix in enumerate(factors):
        final = i == len(factors) - 1
        y = last if final and last is not None else torch.empty(shape, dtype=torch.complex64, device=x.device)
        line = n // radix * inner
        columns = outer * line
        # larger tiles are no faster without tensor cores, which have no float32
        BLOCK_R, BLOCK_C = 16, 64
        grid = (triton.cdiv(columns, BLOCK_C), triton.cdiv(radix, BLOCK_R))
        source = x if real else torch.view_as_real(x)
        pass_kernel[grid](
            source, torch.view_as_real(y), columns, radix, spread, inner, line, length, scale if final else 1.0,
            REAL=real, BLOCK_R=BLOCK_R, BLOCK_C=BLOCK_C,
        )  # fmt: skip
        x, real, length, spread = y, False, n, spread * radix
    return x


def fftn(input, s=None, dim=None, norm=None, out=None):
    lengths = [s] if isinstance(s, int) else s
    if dim is None:
        dims = list(range(input.dim()) if lengths is None else range(input.dim() - len(lengths), input.dim()))
    else:
        dims = [d % input.dim() for d in ([dim] if isinstance(dim, int) else dim)]
    if lengths is None:
        lengths = [input.shape[d] for d in dims]
    x = input
    total = 1
    for d, n in zip(dims, lengths, strict=True):
        x = x.narrow(d, 0, min(n, x.shape[d]))
        total *= n
    x = x.contiguous()
    scale = {None: 1.0, "backward": 1.0, "ortho": total**-0.5, "forward": 1.0 / total}[norm]
    # last dimension first: it needs no padding of the others
    order = sorted(zip(dims, lengths, strict=True), reverse=True)
    for i, (d, n) in enumerate(order):
        final = i == len(order) - 1
        x = transform(x, n, d, scale if final else 1.0, out if final else None)
    return x
