import triton
import triton.language as tl


@triton.jit
def sgd_kernel(
    p_ptr, g_ptr, b_ptr, n, cols,
    p_stride_row, p_stride_col, g_stride_row, g_stride_col, b_stride_row, b_stride_col,
    lr, momentum, decay, undamped,
    HAS_BUFFER: tl.constexpr, HAS_MOMENTUM: tl.constexpr, NESTEROV: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = offs // cols
    col = offs % cols
    p_ptrs = p_ptr + row * p_stride_row + col * p_stride_col
    g = tl.load(g_ptr + row * g_stride_row + col * g_stride_col, mask=mask, other=0.0)
    p = tl.load(p_ptrs, mask=mask, other=0.0)
    g = g + decay * p
    held = g
    if HAS_BUFFER:
        b_ptrs = b_ptr + row * b_stride_row + col * b_stride_col
        b = tl.load(b_ptrs, mask=mask, other=0.0)
        held = momentum * b + undamped * g
        tl.store(b_ptrs, held, mask=mask)
    update = g
    if HAS_MOMENTUM:
        update = held
        if NESTEROV:
            update = g + momentum * held
    tl.store(p_ptrs, p - lr * update, mask=mask)


def sgd_step(
    param, grad, momentum_buffer=None, lr=0.1, momentum=0.9, weight_decay=0.0, dampening=0.0, nesterov=False
):  # fmt: skip
    has_buffer = momentum_buffer is not None and momentum != 0
    tensors = (param, grad, momentum_buffer) if has_buffer else (param, grad, grad)
    n = param.numel()
    cols = n if all(t.is_contiguous() for t in tensors) else param.shape[-1]
    try:
        p, g, b = (t.view(-1, cols) for t in tensors)
    except RuntimeError:
        for p, g, b in zip(*(t.unbind(0) for t in tensors), strict=True):
            sgd_step(p, g, b if has_buffer else None, lr, momentum, weight_decay, dampening, nesterov)
        return
    BLOCK = 2048
    grid = (triton.cdiv(n, BLOCK),)
    sgd_kernel[grid](
        p, g, b, n, cols, p.stride(0), p.stride(1), g.stride(0), g.stride(1), b.stride(0), b.stride(1),
        float(lr), float(momentum), float(weight_decay), 1.0 - dampening,
        HAS_BUFFER=has_buffer, HAS_MOMENTUM=momentum != 0, NESTEROV=nesterov, BLOCK=BLOCK,
    )  # fmt: skip
