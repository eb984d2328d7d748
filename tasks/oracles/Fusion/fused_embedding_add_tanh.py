import torch
import triton
import triton.language as tl


@triton.jit
def rows_of(index_ptr, weight_ptr, token, index_stride, stride_row, here):
    return weight_ptr + tl.load(index_ptr + token * index_stride, mask=here, other=0) * stride_row


@triton.jit(do_not_specialize=["tokens", "size", "index_stride", "stride_row", "other_stride_row"])
def embedding_tanh_kernel(
    index_ptr, weight_ptr, other_ptr, y_ptr, tokens, size, max_norm, p, index_stride, stride_row, stride_col,
    other_stride_row, other_stride_col,
    LIMIT: tl.constexpr, KIND: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    token = (tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)).to(tl.int64)
    here = token < tokens
    row = rows_of(index_ptr, weight_ptr, token, index_stride, stride_row, here)
    scale = tl.full((BLOCK_R,), 1.0, tl.float32)
    if LIMIT:
        total = tl.zeros((BLOCK_R, BLOCK), tl.float32)
        for start in range(0, size, BLOCK):
            offs = start + tl.arange(0, BLOCK)
            mask = here[:, None] & (offs < size)[None, :]
            w = tl.abs(tl.load(row[:, None] + offs[None, :].to(tl.int64) * stride_col, mask=mask, other=0.0))
            if KIND == 2:
                w = w * w
            elif KIND != 1:
                w = tl.exp2(p * tl.log2(w))
            total += w
        norm = tl.sum(total, axis=1)
        if KIND == 2:
            norm = tl.sqrt(norm)
        elif KIND != 1:
            norm = tl.exp2(tl.log2(norm) / p)
        scale = tl.where(norm > max_norm, max_norm / (norm + 1e-7), 1.0)
    for start in range(0, size, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = here[:, None] & (offs < size)[None, :]
        w = tl.load(row[:, None] + offs[None, :].to(tl.int64) * stride_col, mask=mask, other=0.0)
        place = token[:, None] * other_stride_row + offs[None, :].to(tl.int64) * other_stride_col
        other = tl.load(other_ptr + place, mask=mask, other=0.0)
        u = w * scale[:, None] + other
        # of tanh's two exponentials the one that can't overflow
        e = tl.exp(-2.0 * tl.abs(u))
        y = (1.0 - e) / (1.0 + e)
        tl.store(y_ptr + token[:, None] * size + offs[None, :], tl.where(u < 0, -y, y), mask=mask)


def fused_embedding_add_tanh(
    input_indices, weight, other, *, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
    sparse=False, out=None,
):  # fmt: skip
    size = weight.shape[1]
    shape = (*input_indices.shape, size)
    y = torch.empty(shape, dtype=weight.dtype, device=weight.device) if out is None else out
    indices = folded(input_indices, (-1,))
    added = folded(other.expand(shape), (-1, size))
    tokens = indices.numel()
    BLOCK = min(1024, triton.next_power_of_2(size))
    BLOCK_R = 1024 // BLOCK
    embedding_tanh_kernel[(triton.cdiv(tokens, BLOCK_R),)](
        indices, weight, added, y, tokens, size, max_norm or 0.0, float(norm_type), indices.stride(0),
        *weight.stride(), *added.stride(), LIMIT=max_norm is not None,
        KIND=int(norm_type) if norm_type in (1, 2) else 0, BLOCK_R=BLOCK_R, BLOCK=BLOCK,
    )  # fmt: skip
    return y


def folded(x, shape):
    try:
        return x.view(shape)
    except RuntimeError:
        return x.contiguous().view(shape)
