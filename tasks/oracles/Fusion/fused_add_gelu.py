import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["number", "alpha"])
def add_gelu_kernel(
    x_ptr, other_ptr, y_ptr, n, A, B, C, number, alpha,
    stride_xz, stride_xa, stride_xb, stride_xc, stride_oz, stride_oa, stride_ob, stride_oc,
    FLAT: tl.constexpr, HAS_TENSOR: tl.constexpr, TANH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x_offs = offs
    other_offs = offs
    if not FLAT:
        c = offs % C
        b = offs // C % B
        a = offs // (B * C) % A
        z = offs // (A * B * C)
        x_offs = z * stride_xz + a * stride_xa + b * stride_xb + c * stride_xc
        other_offs = z * stride_oz + a * stride_oa + b * stride_ob + c * stride_oc
    x = tl.load(x_ptr + x_offs, mask=mask, other=0.0)
    addend = number
    if HAS_TENSOR:
        addend = tl.load(other_ptr + other_offs, mask=mask, other=0.0)
    x = x + alpha * addend
    if TANH:
        # (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), which can't overflow into NaN
        u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        y = x / (1.0 + tl.exp(-2.0 * u))
    else:
        y = 0.5 * x * (1.0 + tl.erf(0.7071067811865476 * x))
    tl.store(y_ptr + offs, y, mask=mask)


def four(x, shape):
    """`x` with exactly four dimensions: a view of at most four, a copy of more."""
    x = x.expand(shape)
    if x.dim() > 4:
        x = x.contiguous().view(-1, *shape[-3:])
    return x.expand((1,) * (4 - x.dim()) + tuple(x.shape))


def fused_add_gelu(input, other, alpha=1, approximate="none", out=None):
    has_tensor = isinstance(other, torch.Tensor)
    number = 0.0 if has_tensor else float(other)
    shape = torch.broadcast_shapes(input.shape, other.shape) if has_tensor else input.shape
    y = torch.empty(shape, dtype=torch.float32, device=input.device) if out is None else out
    x = four(input, shape)
    other = four(other, shape) if has_tensor else x
    flat = x.is_contiguous() and other.is_contiguous()
    n = y.numel()
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    add_gelu_kernel[grid](
        x, other, y, n, x.shape[1], x.shape[2], x.shape[3], number, float(alpha),
        x.stride(0), x.stride(1), x.stride(2), x.stride(3),
        other.stride(0), other.stride(1), other.stride(2), other.stride(3),
        FLAT=flat, HAS_TENSOR=has_tensor, TANH=approximate == "tanh", BLOCK=BLOCK,
    )  # fmt: skip
    return y
