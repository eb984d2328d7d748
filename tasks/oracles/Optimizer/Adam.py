import math

import torch
import triton
import triton.language as tl


@triton.jit
def stepped(p, m, v, g, decay, beta1, rest1, beta2, rest2, step_size, root2, eps):
    """One step: the new parameter, first and second moment."""
    g = g + decay * p
    m = beta1 * m + rest1 * g
    v = beta2 * v + rest2 * g * g
    p = p - step_size * (m / (tl.sqrt(v) / root2 + eps))
    return p, m, v


@triton.jit
def two_steps_kernel(
    p_ptr, g0_ptr, g1_ptr, m_ptr, v_ptr, y_ptr, n, cols,
    p_stride_row, p_stride_col, g0_stride_row, g0_stride_col, g1_stride_row, g1_stride_col,
    decay, beta1, rest1, beta2, rest2, eps, step_size0, root0, step_size1, root1,
    FIRST: tl.constexpr, LAST: tl.constexpr, BOTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = offs // cols
    col = offs % cols
    p = tl.load(p_ptr + row * p_stride_row + col * p_stride_col, mask=mask, other=0.0)
    m = tl.zeros((BLOCK,), dtype=tl.float32)
    v = tl.zeros((BLOCK,), dtype=tl.float32)
    if not FIRST:
        m = tl.load(m_ptr + offs, mask=mask, other=0.0)
        v = tl.load(v_ptr + offs, mask=mask, other=0.0)
    g = tl.load(g0_ptr + row * g0_stride_row + col * g0_stride_col, mask=mask, other=0.0)
    p, m, v = stepped(p, m, v, g, decay, beta1, rest1, beta2, rest2, step_size0, root0, eps)
    if BOTH:
        g = tl.load(g1_ptr + row * g1_stride_row + col * g1_stride_col, mask=mask, other=0.0)
        p, m, v = stepped(p, m, v, g, decay, beta1, rest1, beta2, rest2, step_size1, root1, eps)
    tl.store(y_ptr + offs, p, mask=mask)
    if not LAST:
        tl.store(m_ptr + offs, m, mask=mask)
        tl.store(v_ptr + offs, v, mask=mask)


def as_matrix(x, cols):
    try:
        return x.view(-1, cols)
    except RuntimeError:
        return x.contiguous().view(-1, cols)


def Adam(params, lr=0.001, betas=(0.9, 0.999), eps=1e-08, weight_decay=0):
    beta1, beta2 = betas
    n = params[0].numel()
    cols = n if all(t.is_contiguous() for t in params) else params[0].shape[-1]
    y = torch.empty(params[0].shape, dtype=torch.float32, device=params[0].device)
    p, grads = as_matrix(params[0], cols), [as_matrix(g, cols) for g in params[1:]]
    steps = len(grads)
    m = torch.empty((n,), dtype=torch.float32, device=y.device) if steps > 2 else y
    v = torch.empty((n,), dtype=torch.float32, device=y.device) if steps > 2 else y
    sizes = [lr / (1 - beta1**t) for t in range(1, steps + 2)]
    roots = [math.sqrt(1 - beta2**t) for t in range(1, steps + 2)]
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    for t in range(0, steps, 2):
        g0, g1 = grads[t], grads[min(t + 1, steps - 1)]
        two_steps_kernel[grid](
            p, g0, g1, m, v, y, n, cols,
            p.stride(0), p.stride(1), g0.stride(0), g0.stride(1), g1.stride(0), g1.stride(1),
            float(weight_decay), beta1, 1 - beta1, beta2, 1 - beta2, eps,
            sizes[t], roots[t], sizes[t + 1], roots[t + 1],
            FIRST=t == 0, LAST=t + 2 >= steps, BOTH=t + 1 < steps, BLOCK=BLOCK,
        )  # fmt: skip
        p = as_matrix(y, cols)
    return y
