import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["ignore_index", "classes", "inner"])
def cross_entropy_kernel(
    x_ptr, target_ptr, weight_ptr, loss_ptr, norm_ptr, classes, inner, ignore_index, smoothing,
    stride_outer, stride_class, stride_inner, target_stride_outer, target_stride_inner,
    HAS_WEIGHT: tl.constexpr, SMOOTH: tl.constexpr, REDUCE: tl.constexpr, BLOCK_C: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    """Losses of BLOCK_I positions: one by one, or (REDUCE) their sum and the sum of their weights."""
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    cols = (tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)
    here = cols < inner
    base = x_ptr + outer * stride_outer + cols.to(tl.int64) * stride_inner

    top = tl.full((BLOCK_I,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_I,), tl.float32)
    pivot = tl.zeros((BLOCK_I,), tl.float32)
    spread = tl.zeros((BLOCK_I,), tl.float32)
    weights = tl.zeros((BLOCK_I,), tl.float32)
    for start in range(0, classes, BLOCK_C):
        offs = start + tl.arange(0, BLOCK_C)
        mask = (offs < classes)[:, None] & here[None, :]
        x = tl.load(base[None, :] + offs[:, None].to(tl.int64) * stride_class, mask=mask, other=-float("inf"))
        higher = tl.maximum(top, tl.max(x, axis=0))
        # while only -inf has been seen, subtracting the maximum would give NaN
        pivot = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(top - pivot) + tl.sum(tl.exp(x - pivot[None, :]), axis=0)
        top = higher
        if SMOOTH:
            w = tl.where(offs < classes, 1.0, 0.0)
            if HAS_WEIGHT:
                w = tl.load(weight_ptr + offs, mask=offs < classes, other=0.0)
            spread += tl.sum(tl.where(mask, w[:, None] * x, 0.0), axis=0)
            weights += tl.sum(w, axis=0)

    target_place = target_ptr + outer * target_stride_outer + cols.to(tl.int64) * target_stride_inner
    target = tl.load(target_place, mask=here, other=0)
    valid = here & (target != ignore_index)
    label = tl.where(valid, target, 0)
    picked = tl.load(base + label * stride_class, mask=valid, other=0.0)
    weight = tl.where(valid, 1.0, 0.0)
    if HAS_WEIGHT:
        weight = tl.load(weight_ptr + label, mask=valid, other=0.0)
    log_total = tl.log(total)
    loss = weight * (pivot - picked + log_total)
    if SMOOTH:
        loss = (1.0 - smoothing) * loss + smoothing / classes * ((pivot + log_total) * weights - spread)
    loss = tl.where(valid, loss, 0.0)
    if REDUCE:
        tl.store(loss_ptr + tl.program_id(0), tl.sum(loss, axis=0))
        tl.store(norm_ptr + tl.program_id(0), tl.sum(weight, axis=0))
    else:
        tl.store(loss_ptr + outer * inner + cols, loss, mask=here)


@triton.jit(do_not_specialize=["n"])
def reduce_kernel(loss_ptr, norm_ptr, y_ptr, n, MEAN: tl.constexpr, BLOCK: tl.constexpr):
    loss = tl.zeros((BLOCK,), tl.float32)
    norm = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        loss += tl.load(loss_ptr + offs, mask=mask, other=0.0)
        if MEAN:
            norm += tl.load(norm_ptr + offs, mask=mask, other=0.0)
    y = tl.sum(loss, axis=0)
    if MEAN:
        y = y / tl.sum(norm, axis=0)
    tl.store(y_ptr, y)


def fused_cross_entropy_log_softmax(
    input, target, dim=1, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0
):
    x = input.movedim(dim, 1)
    samples, classes = x.shape[:2]
    inner = x.shape[2:].numel()
    x = folded(x, (samples, classes, inner))
    labels = folded(target, (samples, inner))
    has_weight = weight is not None
    weight = weight.contiguous() if has_weight else x

    BLOCK_C, BLOCK_I = (1024, 1) if inner == 1 or x.stride(1) == 1 else (32, 32)
    programs = samples * triton.cdiv(inner, BLOCK_I)
    reduce = reduction != "none"
    losses = torch.empty((programs,) if reduce else target.shape, dtype=x.dtype, device=x.device)
    norms = torch.empty((programs,), dtype=x.dtype, device=x.device) if reduce else losses
    cross_entropy_kernel[(programs,)](
        x, labels, weight, losses, norms, classes, inner, ignore_index, label_smoothing, *x.stride(), *labels.stride(),
        HAS_WEIGHT=has_weight, SMOOTH=label_smoothing > 0, REDUCE=reduce, BLOCK_C=BLOCK_C, BLOCK_I=BLOCK_I,
    )  # fmt: skip
    if not reduce:
        return losses
    y = torch.empty((), dtype=x.dtype, device=x.device)
    reduce_kernel[(1,)](losses, norms, y, programs, MEAN=reduction == "mean", BLOCK=1024)
    return y


def folded(x, shape):
    try:
        return x.view(shape)
    except RuntimeError:
        return x.contiguous().view(shape)
