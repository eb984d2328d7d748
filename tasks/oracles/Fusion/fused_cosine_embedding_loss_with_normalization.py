import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["rows", "size", "stride_row", "other_stride_row", "target_stride"])
def loss_kernel(
    x_ptr, other_ptr, target_ptr, loss_ptr, rows, size, margin,
    stride_row, stride_col, other_stride_row, other_stride_col, target_stride,
    REDUCE: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Losses of BLOCK_R rows: one by one, or (REDUCE) their sum."""
    row = (tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)).to(tl.int64)
    here = row < rows
    dot = tl.zeros((BLOCK_R, BLOCK), tl.float32)
    square = tl.zeros((BLOCK_R, BLOCK), tl.float32)
    other_square = tl.zeros((BLOCK_R, BLOCK), tl.float32)
    for start in range(0, size, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = here[:, None] & (offs < size)[None, :]
        places = offs[None, :].to(tl.int64)
        a = tl.load(x_ptr + row[:, None] * stride_row + places * stride_col, mask=mask, other=0.0)
        b = tl.load(other_ptr + row[:, None] * other_stride_row + places * other_stride_col, mask=mask, other=0.0)
        dot += a * b
        square += a * a
        other_square += b * b
    norm = tl.sqrt(tl.sum(square, axis=1))
    other_norm = tl.sqrt(tl.sum(other_square, axis=1))
    # a maximum would turn NaN into the bound
    norm = tl.where(norm < 1e-12, 1e-12, norm)
    other_norm = tl.where(other_norm < 1e-12, 1e-12, other_norm)
    cosine = tl.sum(dot, axis=1) / norm / other_norm
    target = tl.load(target_ptr + row * target_stride, mask=here, other=1)
    excess = cosine - margin
    loss = tl.where(target == 1, 1.0 - cosine, tl.where(excess < 0.0, 0.0, excess))
    if REDUCE:
        tl.store(loss_ptr + tl.program_id(0), tl.sum(tl.where(here, loss, 0.0), axis=0))
    else:
        tl.store(loss_ptr + row, loss, mask=here)


@triton.jit(do_not_specialize=["n", "count"])
def reduce_kernel(loss_ptr, y_ptr, n, count, MEAN: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        total += tl.load(loss_ptr + offs, mask=mask, other=0.0)
    y = tl.sum(total, axis=0)
    if MEAN:
        y = y / count
    tl.store(y_ptr, y)


def fused_cosine_embedding_loss_with_normalization(input1, input2, target, margin=0, reduction="mean"):
    rows, size = input1.shape
    reduce = reduction != "none"
    BLOCK = min(512, triton.next_power_of_2(size))
    BLOCK_R = max(1, 1024 // BLOCK)
    programs = triton.cdiv(rows, BLOCK_R)
    losses = torch.empty((programs if reduce else rows,), dtype=torch.float32, device=input1.device)
    loss_kernel[(programs,)](
        input1, input2, target, losses, rows, size, float(margin), *input1.stride(), *input2.stride(),
        target.stride(0), REDUCE=reduce, BLOCK_R=BLOCK_R, BLOCK=BLOCK,
    )  # fmt: skip
    if not reduce:
        return losses
    y = torch.empty((), dtype=torch.float32, device=input1.device)
    reduce_kernel[(1,)](losses, y, programs, rows, MEAN=reduction == "mean", BLOCK=1024)
    return y
