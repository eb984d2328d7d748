import random

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["seed", "p", "addend"])
def mul_add_logsoftmax_dropout_kernel(
    x_ptr, y_ptr, c_ptr, d_ptr, slices, n, inner, addend, N, K,
    stride_xb, stride_xn, stride_xk, stride_yb, stride_yn, stride_yk, stride_cb, stride_cn, stride_ck, seed, p,
    HAS_TENSOR: tl.constexpr, DROP: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Slices along one dimension of a (B, N, K) tensor: `inner` places lie between neighbours of a slice."""
    s = (tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)).to(tl.int64)
    mask_s = s < slices
    first = s // inner * inner * n + s % inner
    top = tl.full((BLOCK_S,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_S,), dtype=tl.float32)
    # the second and third rounds need z again: it waits in the workspace
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = mask_s[:, None] & (offs < n)[None, :]
        place = first[:, None] + offs[None, :] * inner
        b = place // (N * K)
        i = place // K % N
        k = place % K
        x = tl.load(x_ptr + b * stride_xb + i * stride_xn + k * stride_xk, mask=mask, other=0.0)
        y = tl.load(y_ptr + b * stride_yb + i * stride_yn + k * stride_yk, mask=mask, other=0.0)
        z = x * y + addend
        if HAS_TENSOR:
            z += tl.load(c_ptr + b * stride_cb + i * stride_cn + k * stride_ck, mask=mask, other=0.0)
        tl.store(d_ptr + place, z, mask=mask)
        z = tl.where(mask, z, -float("inf"))
        new = tl.maximum(top, tl.max(z, axis=1))
        # a slice whose values are all -inf so far keeps a total of 0
        base = tl.where(new == -float("inf"), 0.0, new)
        total = total * tl.exp(top - base) + tl.sum(tl.exp(z - base[:, None]), axis=1)
        top = new
    log_total = tl.log(total)
    tl.debug_barrier()
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = mask_s[:, None] & (offs < n)[None, :]
        place = first[:, None] + offs[None, :] * inner
        d = tl.load(d_ptr + place, mask=mask, other=0.0) - top[:, None] - log_total[:, None]
        if DROP:
            keep = tl.rand(seed, place) >= p
            d = tl.where(keep, d / (1.0 - p), 0.0)
        tl.store(d_ptr + place, d, mask=mask)


@triton.jit
def bmm_kernel(
    a_ptr, b_ptr, y_ptr, M, N, K, stride_bz, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(M, BLOCK_M)
    batch = (tl.program_id(0) // tiles_m).to(tl.int64)
    offs_m = ((tl.program_id(0) % tiles_m) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    offs_n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    mask_m = offs_m < M
    mask_n = offs_n < N
    a_row = a_ptr + (batch * M + offs_m)[:, None] * K
    b_col = b_ptr + batch * stride_bz + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        offs_k = (start + tl.arange(0, BLOCK_K)).to(tl.int64)
        mask_k = offs_k < K
        a = tl.load(a_row + offs_k[None, :], mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_col + offs_k[:, None] * stride_bk, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    out = (batch * M + offs_m)[:, None] * N + offs_n[None, :]
    tl.store(y_ptr + out, acc, mask=mask_m[:, None] & mask_n[None, :])


def fused_mul_add_logsoftmax_dropout_bmm(
    input1, input2, other, mat2, p=0.5, training=True, inplace=False, dim=-1, *, out=None
):
    B, N, K = input1.shape
    M = mat2.shape[2]
    n = input1.shape[dim]
    inner = (N * K, K, 1)[dim]
    x2 = input2.expand(B, N, K)
    has_tensor = isinstance(other, torch.Tensor)
    addend = 0.0 if has_tensor else float(other)
    c = other.expand(B, N, K) if has_tensor else x2
    d = torch.empty((B, N, K), dtype=torch.float32, device=input1.device)
    y = torch.empty((B, N, M), dtype=torch.float32, device=input1.device) if out is None else out
    slices = B * N * K // n
    grid = (triton.cdiv(slices, 8),)
    mul_add_logsoftmax_dropout_kernel[grid](
        input1, x2, c, d, slices, n, inner, addend, N, K,
        input1.stride(0), input1.stride(1), input1.stride(2), x2.stride(0), x2.stride(1), x2.stride(2),
        c.stride(0), c.stride(1), c.stride(2), random.getrandbits(31), float(p),
        HAS_TENSOR=has_tensor, DROP=bool(training), BLOCK_S=8, BLOCK=128,
    )  # fmt: skip
    tiles = (B * triton.cdiv(N, 64), triton.cdiv(M, 64))
    bmm_kernel[tiles](
        d, mat2, y, N, M, K, mat2.stride(0), mat2.stride(1), mat2.stride(2),
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=16, num_warps=8,
    )  # fmt: skip
    return y
