import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x, mask=mask)


SIZES = ["n", "size1", "size2", "size3"]
STRIDES = [f"{name}{d}" for name in "isy" for d in range(4)]


# places come from divisions and from the index, so that knowing more of strides would not vectorise accesses
@triton.jit(do_not_specialize=SIZES + STRIDES)
def scatter_kernel(
    index_ptr, src_ptr, y_ptr, n, size1, size2, size3, i0, i1, i2, i3, s0, s1, s2, s3, y0, y1, y2, y3,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Four dimensions, the first of which is the one that the index replaces."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    d = (offs % size3).to(tl.int64)
    rest = offs // size3
    c = (rest % size2).to(tl.int64)
    rest = rest // size2
    b = (rest % size1).to(tl.int64)
    a = (rest // size1).to(tl.int64)
    to = tl.load(index_ptr + a * i0 + b * i1 + c * i2 + d * i3, mask=mask, other=0)
    x = tl.load(src_ptr + a * s0 + b * s1 + c * s2 + d * s3, mask=mask, other=0.0)
    tl.store(y_ptr + to * y0 + b * y1 + c * y2 + d * y3, x, mask=mask)


def scatter(input, dim, index, src):
    x = input.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    BLOCK = 1024
    copy_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK)
    # the named dimension goes first and ones follow it, so that the others stay in order
    views = [t.movedim(dim, 0) for t in (index, src, y)]
    i, s, v = (t[(slice(None),) + (None,) * (4 - t.dim())] for t in views)
    n = index.numel()
    grid = (triton.cdiv(n, BLOCK),)
    scatter_kernel[grid](i, s, y, n, *i.shape[1:], *i.stride(), *s.stride(), *v.stride(), BLOCK=BLOCK)
    return y
