import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["turns"])
def mse_kernel(x_ptr, t_ptr, y_ptr, n, turns, EACH: tl.constexpr, BLOCK: tl.constexpr):
    """The losses of one program's blocks: one by one (EACH), or their sum."""
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for turn in range(0, turns):
        offs = (tl.program_id(0).to(tl.int64) * turns + turn) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        t = tl.load(t_ptr + offs, mask=mask, other=0.0)
        diff = x - t
        loss = diff * diff
        total += loss
        if EACH:
            tl.store(y_ptr + offs, loss, mask=mask)
    if not EACH:
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


def mse_loss(input, target, reduction="mean"):
    x, t = input.contiguous(), target.contiguous()
    n = x.numel()
    BLOCK = 1024
    reduce = reduction != "none"
    programs, turns = shares(n, BLOCK, reduce)
    losses = torch.empty((programs,) if reduce else x.shape, dtype=torch.float32, device=x.device)
    mse_kernel[(programs,)](x, t, losses, n, turns, EACH=not reduce, BLOCK=BLOCK)
    if not reduce:
        return losses
    y = torch.empty((), dtype=torch.float32, device=x.device)
    sum_kernel[(1,)](losses, y, programs, float(n) if reduction == "mean" else 1.0, BLOCK=1024)
    return y
