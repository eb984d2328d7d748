import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["turns"])
def smooth_l1_kernel(
    x_ptr, t_ptr, y_ptr, beta, n, turns, HAS_BETA: tl.constexpr, REDUCE: tl.constexpr, BLOCK: tl.constexpr
):
    """Losses of the blocks of one program, or (REDUCE) their sum."""
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for turn in range(0, turns):
        offs = (tl.program_id(0).to(tl.int64) * turns + turn) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        t = tl.load(t_ptr + offs, mask=mask, other=0.0)
        size = tl.abs(x - t)
        loss = size
        if HAS_BETA:
            loss = tl.where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta)
        if REDUCE:
            total += loss
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


def shares(n, block, reduce):
    """How many programs there are, and how many blocks each of them takes."""
    blocks = triton.cdiv(n, block)
    turns = triton.cdiv(blocks, min(triton.cdiv(n, 2 * block), 1024)) if reduce else 1
    return triton.cdiv(blocks, turns), turns


def smooth_l1_loss(input, target, beta=1.0, reduction="mean"):
    x, t = input.contiguous(), target.contiguous()
    n = x.numel()
    BLOCK = 1024
    reduce = reduction != "none"
    programs, turns = shares(n, BLOCK, reduce)
    losses = torch.empty((programs,) if reduce else x.shape, dtype=torch.float32, device=x.device)
    smooth_l1_kernel[(programs,)](x, t, losses, float(beta), n, turns, HAS_BETA=beta > 0, REDUCE=reduce, BLOCK=BLOCK)
    if not reduce:
        return losses
    y = torch.empty((), dtype=torch.float32, device=x.device)
    sum_kernel[(1,)](losses, y, programs, float(n) if reduction == "mean" else 1.0, BLOCK=1024)
    return y
