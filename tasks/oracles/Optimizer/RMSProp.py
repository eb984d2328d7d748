import triton
import triton.language as tl


@triton.jit
def rmsprop_kernel(
    p_ptr, g_ptr, v_ptr, n, cols,
    p_stride_row, p_stride_col, g_stride_row, g_stride_col, v_stride_row, v_stride_col,
    lr, alpha, rest, eps, decay,
    BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = offs // cols
    col = offs % cols
    p_ptrs = p_ptr + row * p_stride_row + col * p_stride_col
    v_ptrs = v_ptr + row * v_stride_row + col * v_stride_col
    g = tl.load(g_ptr + row * g_stride_row + col * g_stride_col, mask=mask, other=0.0)
    v = tl.load(v_ptrs, mask=mask, other=0.0)
    p = tl.load(p_ptrs, mask=mask, other=0.0)
    g = g + decay * p
    v = alpha * v + rest * g * g
    p = p - lr * (g / (tl.sqrt(v) + eps))
    tl.store(p_ptrs, p, mask=mask)
    tl.store(v_ptrs, v, mask=mask)


def rmsprop_step(param, grad, square_avg, lr=0.01, alpha=0.99, eps=1e-08, weight_decay=0.0):
    tensors = (param, grad, square_avg)
    n = param.numel()
    cols = n if all(t.is_contiguous() for t in tensors) else param.shape[-1]
    try:
        p, g, v = (t.view(-1, cols) for t in tensors)
    except RuntimeError:
        for parts in zip(*(t.unbind(0) for t in tensors), strict=True):
            rmsprop_step(*parts, lr, alpha, eps, weight_decay)
        return
    BLOCK = 2048
    grid = (triton.cdiv(n, BLOCK),)
    rmsprop_kernel[grid](
        p, g, v, n, cols, p.stride(0), p.stride(1), g.stride(0), g.stride(1), v.stride(0), v.stride(1),
        lr, alpha, 1 - alpha, eps, weight_decay, BLOCK=BLOCK,
    )  # fmt: skip
