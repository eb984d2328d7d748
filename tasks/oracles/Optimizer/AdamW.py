import math

import triton
import triton.language as tl


@triton.jit
def adamw_kernel(
    p_ptr, g_ptr, m_ptr, v_ptr, n, cols,
    p_stride_row, p_stride_col, g_stride_row, g_stride_col,
    m_stride_row, m_stride_col, v_stride_row, v_stride_col,
    decay, beta1, rest1, beta2, rest2, step_size, root2, eps,
    BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = offs // cols
    col = offs % cols
    p_ptrs = p_ptr + row * p_stride_row + col * p_stride_col
    m_ptrs = m_ptr + row * m_stride_row + col * m_stride_col
    v_ptrs = v_ptr + row * v_stride_row + col * v_stride_col
    g = tl.load(g_ptr + row * g_stride_row + col * g_stride_col, mask=mask, other=0.0)
    m = tl.load(m_ptrs, mask=mask, other=0.0)
    v = tl.load(v_ptrs, mask=mask, other=0.0)
    p = tl.load(p_ptrs, mask=mask, other=0.0)
    m = beta1 * m + rest1 * g
    v = beta2 * v + rest2 * g * g
    p = p * decay - step_size * (m / (tl.sqrt(v) / root2 + eps))
    tl.store(p_ptrs, p, mask=mask)
    tl.store(m_ptrs, m, mask=mask)
    tl.store(v_ptrs, v, mask=mask)


def adamw_step(param, grad, exp_avg, exp_avg_sq, step, lr=0.001, beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0.01):
    tensors = (param, grad, exp_avg, exp_avg_sq)
    n = param.numel()
    cols = n if all(t.is_contiguous() for t in tensors) else param.shape[-1]
    try:
        p, g, m, v = (t.view(-1, cols) for t in tensors)
    except RuntimeError:
        for parts in zip(*(t.unbind(0) for t in tensors), strict=True):
            adamw_step(*parts, step, lr, beta1, beta2, eps, weight_decay)
        return
    BLOCK = 2048
    grid = (triton.cdiv(n, BLOCK),)
    adamw_kernel[grid](
        p, g, m, v, n, cols,
        p.stride(0), p.stride(1), g.stride(0), g.stride(1), m.stride(0), m.stride(1), v.stride(0), v.stride(1),
        1 - lr * weight_decay, beta1, 1 - beta1, beta2, 1 - beta2,
        lr / (1 - beta1**step), math.sqrt(1 - beta2**step), eps,
        BLOCK=BLOCK,
    )  # fmt: skip
