import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["turns", "ignore_index"])
def nll_kernel(
    x_ptr, target_ptr, weight_ptr, loss_ptr, norm_ptr, n, turns, inner, ignore_index,
    stride_outer, stride_class, stride_inner,
    HAS_WEIGHT: tl.constexpr, REDUCE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Weighted losses of the blocks of one program: one by one, or (REDUCE) their sum and the sum of their weights."""
    total = tl.zeros((BLOCK,), tl.float32)
    norm = tl.zeros((BLOCK,), tl.float32)
    for turn in range(0, turns):
        offs = (tl.program_id(0).to(tl.int64) * turns + turn) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        target = tl.load(target_ptr + offs, mask=mask, other=0)
        valid = mask & (target != ignore_index)
        label = tl.where(valid, target, 0)
        x_ptrs = x_ptr + (offs // inner) * stride_outer + label * stride_class + (offs % inner) * stride_inner
        picked = tl.load(x_ptrs, mask=valid, other=0.0)
        weight = tl.where(valid, 1.0, 0.0)
        if HAS_WEIGHT:
            weight = tl.load(weight_ptr + label, mask=valid, other=0.0)
        loss = tl.where(valid, -weight * picked, 0.0)
        if REDUCE:
            total += loss
            norm += weight
        else:
            tl.store(loss_ptr + offs, loss, mask=mask)
    if REDUCE:
        tl.store(loss_ptr + tl.program_id(0), tl.sum(total, axis=0))
        tl.store(norm_ptr + tl.program_id(0), tl.sum(norm, axis=0))


@triton.jit
def reduce_kernel(loss_ptr, norm_ptr, y_ptr, n, MEAN: tl.constexpr, BLOCK: tl.constexpr):
    """Adds all parts, of which there are at most BLOCK."""
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    y = tl.sum(tl.load(loss_ptr + offs, mask=mask, other=0.0), axis=0)
    if MEAN:
        y = y / tl.sum(tl.load(norm_ptr + offs, mask=mask, other=0.0), axis=0)
    tl.store(y_ptr, y)


def shares(n, block, reduce):
    """How many programs there are, and how many blocks each of them takes."""
    blocks = triton.cdiv(n, block)
    turns = triton.cdiv(blocks, min(triton.cdiv(n, 2 * block), 1024)) if reduce else 1
    return triton.cdiv(blocks, turns), turns


def nll_loss(input, target, weight=None, ignore_index=-100, reduction="mean"):
    samples, classes = input.shape[:2]
    inner = input.shape[2:].numel()
    try:
        x = input.view(samples, classes, inner)
    except RuntimeError:
        x = input.contiguous().view(samples, classes, inner)
    target = target.contiguous()
    n = target.numel()
    has_weight = weight is not None
    weight = weight.contiguous() if has_weight else x
    BLOCK = 512
    reduce = reduction != "none"
    programs, turns = shares(n, BLOCK, reduce)
    losses = torch.empty((programs,) if reduce else target.shape, dtype=torch.float32, device=x.device)
    norms = torch.empty((programs,), dtype=torch.float32, device=x.device) if reduce else losses
    nll_kernel[(programs,)](
        x, target, weight, losses, norms, n, turns, inner, ignore_index, x.stride(0), x.stride(1), x.stride(2),
        HAS_WEIGHT=has_weight, REDUCE=reduce, BLOCK=BLOCK,
    )  # fmt: skip
    if not reduce:
        return losses
    y = torch.empty((), dtype=torch.float32, device=x.device)
    reduce_kernel[(1,)](losses, norms, y, programs, MEAN=reduction == "mean", BLOCK=1024)
    return y
