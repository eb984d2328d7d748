import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["turns"])
def bce_kernel(
    x_ptr, t_ptr, w_ptr, y_ptr, cols, stride_wrow, stride_wcol, n, turns,
    HAS_WEIGHT: tl.constexpr, REDUCE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Losses of the blocks of one program, or (REDUCE) their sum."""
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for turn in range(0, turns):
        offs = (tl.program_id(0).to(tl.int64) * turns + turn) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        x = tl.load(x_ptr + offs, mask=mask, other=0.5)
        t = tl.load(t_ptr + offs, mask=mask, other=0.0)
        loss = -(t * tl.maximum(tl.log(x), -100.0) + (1.0 - t) * tl.maximum(tl.log(1.0 - x), -100.0))
        if HAS_WEIGHT:
            w_ptrs = w_ptr + (offs // cols) * stride_wrow + (offs % cols) * stride_wcol
            loss *= tl.load(w_ptrs, mask=mask, other=0.0)
        if REDUCE:
            total += tl.where(mask, loss, 0.0)
        else:
            tl.store(y_ptr + offs, loss, mask=mask)
    if REDUCE:
        tl.store(y_ptr + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def sum_kernel(part_ptr, y_ptr, n, count, BLOCK: tl.constexpr):
    """The sum of all parts, of which there are at most BLOCK, divided by `count`."""
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    part = tl.load(part_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr, tl.sum(part, axis=0) / count)


def as_matrix(weight, shape):
    """The weight broadcast to `shape`, as a matrix of its last dimension."""
    weight = weight.expand(shape)
    try:
        return weight.view(-1, shape[-1])
    except RuntimeError:
        return weight.contiguous().view(-1, shape[-1])


def shares(n, block, reduce):
    """How many programs there are, and how many blocks each of them takes."""
    blocks = triton.cdiv(n, block)
    turns = triton.cdiv(blocks, min(triton.cdiv(n, 2 * block), 1024)) if reduce else 1
    return triton.cdiv(blocks, turns), turns


def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    x, t = input.contiguous(), target.contiguous()
    n = x.numel()
    w = x.view(-1, 1) if weight is None else as_matrix(weight, x.shape)
    BLOCK = 1024
    reduce = reduction != "none"
    programs, turns = shares(n, BLOCK, reduce)
    losses = torch.empty((programs,) if reduce else x.shape, dtype=torch.float32, device=x.device)
    bce_kernel[(programs,)](
        x, t, w, losses, w.shape[1], w.stride(0), w.stride(1), n, turns,
        HAS_WEIGHT=weight is not None, REDUCE=reduce, BLOCK=BLOCK,
    )  # fmt: skip
    if not reduce:
        return losses
    y = torch.empty((), dtype=torch.float32, device=x.device)
    sum_kernel[(1,)](losses, y, programs, float(n) if reduction == "mean" else 1.0, BLOCK=1024)
    return y
