import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "stride"])
def ends_kernel(repeats_ptr, ends_ptr, n, stride, BLOCK: tl.constexpr):
    """Where the copies of each element end."""
    total = tl.full((), 0, dtype=tl.int64)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        repeats = tl.load(repeats_ptr + offs.to(tl.int64) * stride, mask=mask, other=0)
        tl.store(ends_ptr + offs, total + tl.cumsum(repeats, axis=0), mask=mask)
        total += tl.sum(repeats, axis=0)


@triton.jit(do_not_specialize=["n", "length", "steps"])
def sources_kernel(ends_ptr, source_ptr, n, length, steps, BLOCK: tl.constexpr):
    """Of which element each place is a copy: the number of ends at or before it, by bisection."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < length
    low = tl.zeros((BLOCK,), tl.int32)
    high = low + n
    for _ in range(steps):
        middle = (low + high) // 2
        open_still = mask & (low < high)
        beyond = tl.load(ends_ptr + middle, mask=open_still, other=0) <= offs
        low = tl.where(open_still & beyond, middle + 1, low)
        high = tl.where(open_still & (beyond == 0), middle, high)
    tl.store(source_ptr + offs, low, mask=mask)


@triton.jit(do_not_specialize=["n", "inner", "copies", "stride_outer", "stride_repeat"])
def logsumexp_kernel(
    x_ptr, repeats_ptr, lse_ptr, n, inner, copies, stride_outer, stride_n, stride_inner, stride_repeat,
    TENSOR: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    """log(sum_i repeats[i] * exp(x[i])) of BLOCK_I slices."""
    ACC = lse_ptr.dtype.element_ty
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    cols = (tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)
    base = x_ptr + outer * stride_outer + cols[None, :].to(tl.int64) * stride_inner
    top = tl.full((BLOCK_I,), -float("inf"), ACC)
    total = tl.zeros((BLOCK_I,), ACC)
    pivot = tl.zeros((BLOCK_I,), ACC)
    for start in range(0, n, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        mask = (offs < n)[:, None] & (cols < inner)[None, :]
        weight = tl.zeros((BLOCK_N,), ACC) + copies
        if TENSOR:
            weight = tl.load(repeats_ptr + offs.to(tl.int64) * stride_repeat, mask=offs < n, other=0).to(ACC)
            mask = mask & (weight > 0)[:, None]
        x = tl.load(base + offs[:, None].to(tl.int64) * stride_n, mask=mask, other=-float("inf")).to(ACC)
        higher = tl.maximum(top, tl.max(x, axis=0))
        # while only -inf has been seen, subtracting the maximum would give NaN
        pivot = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(top - pivot) + tl.sum(tl.exp(x - pivot[None, :]) * weight[:, None], axis=0)
        top = higher
    tl.store(lse_ptr + outer * inner + cols, pivot + tl.log(total), mask=cols < inner)


@triton.jit(do_not_specialize=["total", "length", "inner", "copies", "stride_outer"])
def expand_kernel(
    x_ptr, source_ptr, lse_ptr, y_ptr, total, length, inner, copies, stride_outer, stride_n, stride_inner,
    TENSOR: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < total
    col = offs % inner
    place = (offs // inner) % length
    outer = offs // (inner * length)
    if TENSOR:
        source = tl.load(source_ptr + place, mask=mask, other=0).to(tl.int64)
    else:
        source = place // copies
    x = tl.load(x_ptr + outer * stride_outer + source * stride_n + col * stride_inner, mask=mask, other=0.0)
    lse = tl.load(lse_ptr + outer * inner + col, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x.to(lse.dtype) - lse, mask=mask)


def fused_repeat_interleave_log_softmax(input, repeats, dim=None, *, output_size=None, dtype=None, out=None):
    if dim is None:
        before, n, after = torch.Size(), input.numel(), torch.Size()
    else:
        dim = dim % input.dim()
        before, n, after = input.shape[:dim], input.shape[dim], input.shape[dim + 1 :]
    outer, inner = before.numel(), after.numel()
    try:
        x = input.view(outer, n, inner)
    except RuntimeError:
        x = input.contiguous().view(outer, n, inner)
    tensor = isinstance(repeats, torch.Tensor)
    copies = 1 if tensor else repeats
    length = copies * n
    source = stored = x
    if tensor:
        stored = repeats.expand(n)
        ends = torch.empty((n,), dtype=torch.int64, device=x.device)
        ends_kernel[(1,)](stored, ends, n, stored.stride(0), BLOCK=512)
        length = ends[n - 1].item() if output_size is None else output_size
        source = torch.empty((length,), dtype=torch.int32, device=x.device)
        sources_kernel[(triton.cdiv(length, 256),)](ends, source, n, length, n.bit_length(), BLOCK=256)
    kind = dtype or x.dtype
    y = torch.empty((*before, length, *after), dtype=kind, device=x.device) if out is None else out
    lse = torch.empty((outer, inner), dtype=kind, device=x.device)
    BLOCK_N, BLOCK_I = (1024, 1) if inner == 1 else (32, 32)
    logsumexp_kernel[(outer * triton.cdiv(inner, BLOCK_I),)](
        x, stored, lse, n, inner, copies, *x.stride(), stored.stride(0),
        TENSOR=tensor, BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I,
    )  # fmt: skip
    total = y.numel()
    expand_kernel[(triton.cdiv(total, 1024),)](
        x, source, lse, y, total, length, inner, copies, *x.stride(), TENSOR=tensor, BLOCK=1024
    )
    return y
