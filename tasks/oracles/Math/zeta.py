import torch
import triton
import triton.language as tl

PLAIN = ["n", "size1", "size2", "stride_s0", "stride_s1", "stride_s2", "stride_q0", "stride_q1", "stride_q2"]


# places come from divisions, so that knowing more of strides would not vectorise loads: one build serves all shapes
@triton.jit(do_not_specialize=PLAIN)
def zeta_kernel(
    s_ptr, q_ptr, y_ptr, n, size1, size2, stride_s0, stride_s1, stride_s2, stride_q0, stride_q1, stride_q2,
    BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    i0 = offs // (size1 * size2)
    i1 = offs // size2 % size1
    i2 = offs % size2
    s = tl.load(s_ptr + i0 * stride_s0 + i1 * stride_s1 + i2 * stride_s2, mask=mask, other=2.0)
    q = tl.load(q_ptr + i0 * stride_q0 + i1 * stride_q1 + i2 * stride_q2, mask=mask, other=1.0)

    total = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(10):
        total += tl.exp2(-s * tl.log2(q + k))
    # Euler and Maclaurin for the rest of the sum
    a = q + 10.0
    over = 1.0 / a
    w = over * over
    tail = 1.0 - (s + 5.0) * (s + 6.0) * w * (1.0 / 40)
    tail = 1.0 - (s + 3.0) * (s + 4.0) * w * (1.0 / 42) * tail
    tail = 1.0 - (s + 1.0) * (s + 2.0) * w * (1.0 / 60) * tail
    rest = a / (s - 1.0) + 0.5 + s * over * (1.0 / 12) * tail
    y = total + tl.exp2(-s * tl.log2(a)) * rest
    y = tl.where(s > 1.0, y, tl.where(s == 1.0, float("inf"), float("nan")))
    tl.store(y_ptr + offs, tl.where(q == q, y, q), mask=mask)


def zeta(input: torch.Tensor, other: torch.Tensor, out: torch.Tensor = None) -> torch.Tensor:
    s, q = torch.broadcast_tensors(input, other)
    y = torch.empty(s.shape, dtype=s.dtype, device=s.device) if out is None else out
    if s.is_contiguous() and q.is_contiguous():
        s, q = s.view(1, 1, -1), q.view(1, 1, -1)
    else:
        s, q = (t.reshape(t.shape[0], -1, t.shape[-1]) if t.dim() > 3 else t for t in (s, q))
        s, q = (t[(None,) * (3 - t.dim())] for t in (s, q))
    n = s.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    zeta_kernel[grid](s, q, y, n, s.shape[1], s.shape[2], *s.stride(), *q.stride(), BLOCK=BLOCK)
    return y
