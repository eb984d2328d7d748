import triton
import triton.language as tl


@triton.jit
def lion_kernel(
    p_ptr, g_ptr, m_ptr, n, cols,
    p_stride_row, p_stride_col, g_stride_row, g_stride_col, m_stride_row, m_stride_col,
    decay, lr, beta1, rest1, beta2, rest2,
    BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = offs // cols
    col = offs % cols
    p_ptrs = p_ptr + row * p_stride_row + col * p_stride_col
    m_ptrs = m_ptr + row * m_stride_row + col * m_stride_col
    g = tl.load(g_ptr + row * g_stride_row + col * g_stride_col, mask=mask, other=0.0)
    m = tl.load(m_ptrs, mask=mask, other=0.0)
    p = tl.load(p_ptrs, mask=mask, other=0.0)
    c = beta1 * m + rest1 * g
    sign = tl.where(c > 0, 1.0, tl.where(c < 0, -1.0, 0.0))
    tl.store(p_ptrs, p * decay - lr * sign, mask=mask)
    tl.store(m_ptrs, beta2 * m + rest2 * g, mask=mask)


def lion_step(param, grad, exp_avg, lr=0.0001, beta1=0.9, beta2=0.99, weight_decay=0.0):
    tensors = (param, grad, exp_avg)
    n = param.numel()
    cols = n if all(t.is_contiguous() for t in tensors) else param.shape[-1]
    try:
        p, g, m = (t.view(-1, cols) for t in tensors)
    except RuntimeError:
        for parts in zip(*(t.unbind(0) for t in tensors), strict=True):
            lion_step(*parts, lr, beta1, beta2, weight_decay)
        return
    BLOCK = 2048
    grid = (triton.cdiv(n, BLOCK),)
    lion_kernel[grid](
        p, g, m, n, cols, p.stride(0), p.stride(1), g.stride(0), g.stride(1), m.stride(0), m.stride(1),
        1 - lr * weight_decay, lr, beta1, 1 - beta1, beta2, 1 - beta2, BLOCK=BLOCK,
    )  # fmt: skip
