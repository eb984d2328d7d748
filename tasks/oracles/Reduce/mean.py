import torch
import triton
import triton.language as tl


@triton.jit
def mean_kernel(
    x_ptr, y_ptr, n, divisor, inner, span, outers, stride_outer, stride_n, stride_inner,
    ACC: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    """The sum over one span of the reduced dimension, divided."""
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
    mean = tl.sum(total, axis=0) / divisor
    out = (tl.program_id(1) * outers + outer) * inner + cols
    tl.store(y_ptr + out, mean.to(y_ptr.dtype.element_ty), mask=cols < inner)


def mean(input_tensor, dim, keepdim=False, dtype=None, out=None):
    dims, shape = reduced(input_tensor.shape, dim, keepdim)
    x = folded(input_tensor, dims)
    outer, n, inner = x.shape
    y = torch.empty(shape, dtype=dtype or torch.float32, device=x.device) if out is None else out
    ACC = tl.float64 if y.dtype == torch.float64 else tl.float32

    BLOCK_N, BLOCK_I = (1024, 1) if inner == 1 else (32, 32)
    programs = outer * triton.cdiv(inner, BLOCK_I)
    # few results leave most of a GPU idle unless several programs share each of them
    parts = min(triton.cdiv(n, 2 * BLOCK_N), triton.cdiv(1024, programs))
    span = triton.cdiv(triton.cdiv(n, parts), BLOCK_N) * BLOCK_N
    parts = triton.cdiv(n, span)
    part = y
    if parts > 1:
        part = torch.empty((1, parts, outer * inner), dtype=y.dtype, device=x.device)
    mean_kernel[(programs, parts)](
        x, part, n, n if parts == 1 else 1, inner, span, outer, x.stride(0), x.stride(1), x.stride(2),
        ACC=ACC, BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I,
    )  # fmt: skip
    if parts > 1:
        count = outer * inner
        mean_kernel[(triton.cdiv(count, 16), 1)](
            part, y, parts, n, count, parts, 1, 0, count, 1, ACC=ACC, BLOCK_N=64, BLOCK_I=16
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
        before, after = input.shape[:first], input.shape[last + 1 :]
    else:
        kept = [d for d in range(input.dim()) if d not in dims]
        before, after = torch.Size(input.shape[d] for d in kept), torch.Size()
        input = input.permute(kept + dims)
    try:
        return input.view(before.numel(), -1, after.numel())
    except RuntimeError:
        return input.contiguous().view(before.numel(), -1, after.numel())
