import torch
import triton
import triton.language as tl

STRIDES_PLAIN = [
    "L",
    "S",
    "D",
    "E",
    "scale",
    "stride_qz",
    "stride_qh",
    "stride_kz",
    "stride_kh",
    "stride_vz",
    "stride_vh",
]


# the softmax runs over the keys tile by tile, with a running maximum (Milakov and Gimelshein 2018; Dao et al. 2022)
@triton.jit(do_not_specialize=STRIDES_PLAIN)
def attention_kernel(
    q_ptr, k_ptr, v_ptr, y_ptr, H, L, S, D, E, scale,
    stride_qz, stride_qh, stride_ql, stride_qd, stride_kz, stride_kh, stride_ks, stride_kd,
    stride_vz, stride_vh, stride_vs, stride_ve,
    CAUSAL: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_E: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    z = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    offs_e = tl.arange(0, BLOCK_E)
    mask_m = offs_m < L
    mask_d = offs_d < D
    mask_e = offs_e < E
    q_offs = z * stride_qz + h * stride_qh + offs_m.to(tl.int64)[:, None] * stride_ql + offs_d[None, :] * stride_qd
    q = tl.load(q_ptr + q_offs, mask=mask_m[:, None] & mask_d[None, :], other=0.0)
    k_base = k_ptr + z * stride_kz + h * stride_kh + offs_d[:, None] * stride_kd
    v_base = v_ptr + z * stride_vz + h * stride_vh + offs_e[None, :] * stride_ve
    top = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_E), dtype=tl.float32)
    last = S
    if CAUSAL:
        last = tl.minimum(S, (tl.program_id(0) + 1) * BLOCK_M)
    for start in range(0, last, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < S
        far = offs_n.to(tl.int64)
        k = tl.load(k_base + far[None, :] * stride_ks, mask=mask_d[:, None] & mask_n[None, :], other=0.0)
        v = tl.load(v_base + far[:, None] * stride_vs, mask=mask_n[:, None] & mask_e[None, :], other=0.0)
        s = tl.dot(q, k, input_precision="ieee") * scale
        seen = mask_n[None, :]
        if CAUSAL:
            seen = seen & (offs_n[None, :] <= offs_m[:, None])
        s = tl.where(seen, s, -float("inf"))
        new = tl.maximum(top, tl.max(s, axis=1))
        # the first tile holds key 0, which every query may see: `new` is finite
        p = tl.exp(s - new[:, None])
        rescale = tl.exp(top - new)
        total = total * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        top = new
    y = acc / total[:, None]
    y_offs = (tl.program_id(1).to(tl.int64) * L + offs_m)[:, None] * E + offs_e[None, :]
    tl.store(y_ptr + y_offs, y.to(y_ptr.dtype.element_ty), mask=mask_m[:, None] & mask_e[None, :])


def with_heads(x):
    """Four dimensions: batch and heads ahead of the last two."""
    return x if x.dim() == 4 else x.reshape(-1, 1, *x.shape[-2:])


def attention(q, k, v, causal: bool = False, softmax_scale=None, *, out=None):
    L, D = q.shape[-2:]
    S, E = v.shape[-2:]
    y = torch.empty((*q.shape[:-1], E), dtype=q.dtype, device=q.device) if out is None else out
    scale = D**-0.5 if softmax_scale is None else float(softmax_scale)
    q, k, v = with_heads(q), with_heads(k), with_heads(v)
    Z, H = q.shape[:2]
    BLOCK_D = max(32, triton.next_power_of_2(D))
    BLOCK_E = max(32, triton.next_power_of_2(E))
    grid = (triton.cdiv(L, 64), Z * H)
    attention_kernel[grid](
        q, k, v, y, H, L, S, D, E, scale,
        q.stride(0), q.stride(1), q.stride(2), q.stride(3), k.stride(0), k.stride(1), k.stride(2), k.stride(3),
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
        CAUSAL=bool(causal), BLOCK_D=BLOCK_D, BLOCK_E=BLOCK_E, BLOCK_M=64, BLOCK_N=32,
    )  # fmt: skip
    return y
