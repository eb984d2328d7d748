import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(
    x_ptr, y_ptr, n, inner, span, outers, stride_outer, stride_n, stride_inner,
    ACC: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    """Adds one span of the reduced dimension."""
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    cols = (tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)
    first = tl.program_id(1) * span
    last = tl.minimum(first + span, n)
    base = x_ptr + outer * stride_outer + cols[None, :].to(tl.int64) * stride_inner

    total = tl.zeros((BLOCK_N, BLOCK_I), ACC)
    for start in range(first, last, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        mask = (offs < last)[:, None] & (cols < inner)[None, :]
        x = tl.load(base + offs[:, None].to(tl.int64) * stride_n, mask=mask, other=0)
        total += x.to(ACC)
    out = (tl.program_id(1) * outers + outer) * inner + cols
    tl.store(y_ptr + out, tl.sum(total, axis=0).to(y_ptr.dtype.element_ty), mask=cols < inner)


def sum(input, dim, keepdim=False, dtype=None):
    dims, shape = reduced(input.shape, dim, keepdim)
    x = folded(input, dims)
    outer, n, inner = x.shape
    y = torch.empty(shape, dtype=dtype or input.dtype, device=x.device)
    ACC = {torch.float32: tl.float32, torch.float64: tl.float64, torch.int64: tl.int64}[y.dtype]

    BLOCK_N, BLOCK_I = (1024, 1) if inner == 1 else (32, 32)
    programs = outer * triton.cdiv(inner, BLOCK_I)
    # few results leave most of a GPU idle unless several programs share each of them
    parts = max(1, min(triton.cdiv(n, 2 * BLOCK_N), triton.cdiv(1024, programs)))
    span = max(1, triton.cdiv(triton.cdiv(n, parts), BLOCK_N)) * BLOCK_N
    parts = max(1, triton.cdiv(n, span))
    part = y
    if parts > 1:
        part = torch.empty((1, parts, outer * inner), dtype=y.dtype, device=x.device)
    sum_kernel[(programs, parts)](
        x, part, n, inner, span, outer, x.stride(0), x.stride(1), x.stride(2),
        ACC=ACC, BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I,
    )  # fmt: skip
    if parts > 1:
        count = outer * inner
        sum_kernel[(triton.cdiv(count, 16), 1)](
            part, y, parts, count, parts, 1, 0, count, 1, ACC=ACC, BLOCK_N=64, BLOCK_I=16
        )
    return y


def reduced(sizes, dim, keepdim):
    """The dimensions to reduce, in order, and the shape of the result."""
    if dim is None:
        dim = range(len(sizes))
    dims = sorted(d % len(sizes) for d in ([dim] if isinstance(dim, int) else dim))
    if keepdim:
        return dims, [1 if d in dims else size for d, size in enumerate(sizes)]
    return dims, [size for d, size in enumerate(sizes) if d not in dims]


def folded(input, dims):
    """`input` with three dimensions, the middle one to reduce: a view where the strides permit one."""
    first, last = dims[0], dims[-1]
    if last - first + 1 == len(dims):
        before, middle, after = input.shape[:first], input.shape[first : last + 1], input.shape[last + 1 :]
    else:
        kept = [d for d in range(input.dim()) if d not in dims]
        middle = torch.Size(input.shape[d] for d in dims)
        before, after = torch.Size(input.shape[d] for d in kept), torch.Size()
        input = input.permute(kept + dims)
    shape = (before.numel(), middle.numel(), after.numel())
    try:
        return input.view(shape)
    except RuntimeError:
        return input.contiguous().view(shape)
