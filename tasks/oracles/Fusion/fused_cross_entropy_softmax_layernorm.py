import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["ignore_index", "cols", "target_stride"])
def loss_and_norm_kernel(
    x_ptr, target_ptr, weight_ptr, y_ptr, loss_ptr, norm_ptr, cols, ignore_index, smoothing, eps,
    stride_row, stride_col, target_stride,
    HAS_WEIGHT: tl.constexpr, SMOOTH: tl.constexpr, REDUCE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK)
    mask = offs < cols
    base = x_ptr + row * stride_row
    x = tl.load(base + offs.to(tl.int64) * stride_col, mask=mask, other=-float("inf"))
    top = tl.max(x, axis=0)
    e = tl.exp(x - top)
    total = tl.sum(e, axis=0)

    p = e / total
    mean = tl.sum(p, axis=0) / cols
    dev = tl.where(mask, p - mean, 0.0)
    var = tl.sum(dev * dev, axis=0) / cols
    tl.store(y_ptr + row * cols + offs, dev / tl.sqrt(var + eps), mask=mask)

    target = tl.load(target_ptr + row * target_stride)
    valid = target != ignore_index
    label = tl.where(valid, target, 0)
    weight = tl.where(valid, 1.0, 0.0)
    if HAS_WEIGHT:
        weight *= tl.load(weight_ptr + label)
    log_total = tl.log(total)
    picked = tl.load(base + label * stride_col)
    loss = weight * (top - picked + log_total)
    if SMOOTH:
        w = tl.where(mask, 1.0, 0.0)
        if HAS_WEIGHT:
            w = tl.load(weight_ptr + offs, mask=mask, other=0.0)
        spread = tl.sum(w * tl.where(mask, top - x + log_total, 0.0), axis=0)
        loss = (1.0 - smoothing) * loss + smoothing / cols * spread
    tl.store(loss_ptr + row, tl.where(valid, loss, 0.0))
    if REDUCE:
        tl.store(norm_ptr + row, weight)


@triton.jit(do_not_specialize=["n"])
def reduce_kernel(loss_ptr, norm_ptr, y_ptr, n, MEAN: tl.constexpr, BLOCK: tl.constexpr):
    loss = tl.zeros((BLOCK,), tl.float32)
    norm = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        loss += tl.load(loss_ptr + offs, mask=mask, other=0.0)
        norm += tl.load(norm_ptr + offs, mask=mask, other=0.0)
    y = tl.sum(loss, axis=0)
    if MEAN:
        y = y / tl.sum(norm, axis=0)
    tl.store(y_ptr, y)


def fused_cross_entropy_softmax_layernorm(
    logits, targets, normalized_shape, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0, eps=1e-05,
    *, out=None,
):  # fmt: skip
    x = logits
    rows, cols = x.shape
    y = torch.empty((rows, cols), dtype=x.dtype, device=x.device) if out is None else out
    has_weight = weight is not None
    weight = weight.contiguous() if has_weight else x
    reduce = reduction != "none"
    losses = torch.empty((rows,), dtype=x.dtype, device=x.device)
    norms = torch.empty((rows,), dtype=x.dtype, device=x.device) if reduce else losses
    BLOCK = triton.next_power_of_2(cols)
    loss_and_norm_kernel[(rows,)](
        x, targets, weight, y, losses, norms, cols, ignore_index, label_smoothing, eps,
        x.stride(0), x.stride(1), targets.stride(0),
        HAS_WEIGHT=has_weight, SMOOTH=label_smoothing > 0, REDUCE=reduce, BLOCK=BLOCK,
        num_warps=4 if BLOCK < 4096 else 8 if BLOCK < 16384 else 16,
    )  # fmt: skip
    if not reduce:
        return losses, y
    loss = torch.empty((), dtype=x.dtype, device=x.device)
    reduce_kernel[(1,)](losses, norms, loss, rows, MEAN=reduction == "mean", BLOCK=256)
    return loss, y
