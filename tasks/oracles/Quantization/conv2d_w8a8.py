import torch
import triton
import triton.language as tl

# small whole numbers differ from layer to layer: one compiled kernel serves them all
GEOMETRY = ["pixels", "C", "H", "W", "OH", "OW", "R", "S", "filters", "stride", "padding"]


@triton.jit(do_not_specialize=GEOMETRY)
def int8_conv2d_kernel(
    qx_ptr, qw_ptr, sx_ptr, zero_ptr, sw_ptr, sum_ptr, bias_ptr, y_ptr,
    pixels, C, H, W, OH, OW, R, S, filters, stride, padding,
    HAS_BIAS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m = offs_m < pixels
    mask_n = offs_n < filters
    image = (offs_m // (OH * OW)).to(tl.int64)
    place = offs_m % (OH * OW)
    top = (place // OW) * stride - padding
    left = (place % OW) * stride - padding
    depth = C * R * S
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for start in range(0, depth, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        mask_k = offs_k < depth
        c = offs_k // (R * S)
        h = top[:, None] + ((offs_k // S) % R)[None, :]
        w = left[:, None] + (offs_k % S)[None, :]
        inside = (h >= 0) & (h < H) & (w >= 0) & (w < W) & mask_m[:, None] & mask_k[None, :]
        x_offs = ((image * C)[:, None] + c[None, :]) * (H * W) + h * W + w
        # outside the image stands what means 0
        zero = tl.load(zero_ptr)
        a = tl.load(qx_ptr + x_offs, mask=inside, other=zero)
        b = tl.load(
            qw_ptr + offs_n.to(tl.int64)[None, :] * depth + offs_k[:, None],
            mask=mask_k[:, None] & mask_n[None, :],
            other=0,
        )
        acc += tl.dot(a, b, out_dtype=tl.int32)
    sw = tl.load(sw_ptr + offs_n, mask=mask_n, other=0.0)
    qw_sum = tl.load(sum_ptr + offs_n, mask=mask_n, other=0)
    # sum (qx - zero) * qw, of which the loop left out the zero point
    acc -= (tl.load(zero_ptr).to(tl.int32) * qw_sum)[None, :]
    y = acc.to(tl.float32) * tl.load(sx_ptr) * sw[None, :]
    if HAS_BIAS:
        y += tl.load(bias_ptr + offs_n, mask=mask_n, other=0.0)[None, :]
    y_offs = ((image * filters)[:, None] + offs_n[None, :]) * (OH * OW) + place[:, None]
    tl.store(y_ptr + y_offs, y, mask=mask_m[:, None] & mask_n[None, :])


@triton.jit
def rounded(x):
    # adding 1.5 * 2**23 leaves no bits for a fraction, so the sum is rounded half to even
    return (x + 12582912.0) - 12582912.0


@triton.jit(do_not_specialize=["depth"])
def quantise_weight_kernel(w_ptr, q_ptr, scale_ptr, sum_ptr, depth, BLOCK: tl.constexpr):
    """One filter: its int8 values, their scale and their sum."""
    filter_id = tl.program_id(0)
    base = filter_id.to(tl.int64) * depth
    amax = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, depth, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        w = tl.load(w_ptr + base + offs, mask=offs < depth, other=0.0)
        amax = tl.maximum(amax, tl.abs(w))
    scale = tl.div_rn(tl.max(amax, axis=0), 127.0)
    divisor = tl.where(scale > 0, scale, 1.0)
    total = tl.zeros((BLOCK,), dtype=tl.int32)
    for start in range(0, depth, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        w = tl.load(w_ptr + base + offs, mask=offs < depth, other=0.0)
        q = rounded(tl.div_rn(w, divisor)).to(tl.int8)
        tl.store(q_ptr + base + offs, q, mask=offs < depth)
        total += q.to(tl.int32)
    tl.store(scale_ptr + filter_id, scale)
    tl.store(sum_ptr + filter_id, tl.sum(total, axis=0))


@triton.jit(do_not_specialize=["n"])
def extremes_kernel(x_ptr, low_ptr, high_ptr, n, BLOCK: tl.constexpr):
    """The least and the greatest value of one block of the input, or 0."""
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(low_ptr + tl.program_id(0), tl.minimum(tl.min(x, axis=0), 0.0))
    tl.store(high_ptr + tl.program_id(0), tl.maximum(tl.max(x, axis=0), 0.0))


@triton.jit(do_not_specialize=["parts"])
def scale_kernel(low_ptr, high_ptr, scale_ptr, zero_ptr, parts, BLOCK: tl.constexpr):
    """Scale and zero point of the whole input."""
    low = tl.zeros((BLOCK,), dtype=tl.float32)
    high = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, parts, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        low = tl.minimum(low, tl.load(low_ptr + offs, mask=offs < parts, other=0.0))
        high = tl.maximum(high, tl.load(high_ptr + offs, mask=offs < parts, other=0.0))
    least = tl.min(low, axis=0)
    scale = tl.div_rn(tl.max(high, axis=0) - least, 255.0)
    divisor = tl.where(scale > 0, scale, 1.0)
    tl.store(scale_ptr, scale)
    tl.store(zero_ptr, (-128.0 - rounded(tl.div_rn(least, divisor))).to(tl.int8))


@triton.jit(do_not_specialize=["n"])
def quantise_input_kernel(x_ptr, q_ptr, scale_ptr, zero_ptr, n, BLOCK: tl.constexpr):
    scale = tl.load(scale_ptr)
    divisor = tl.where(scale > 0, scale, 1.0)
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    q = rounded(tl.div_rn(x, divisor)) + tl.load(zero_ptr).to(tl.float32)
    q = tl.minimum(tl.maximum(q, -128.0), 127.0)
    tl.store(q_ptr + offs, q.to(tl.int8), mask=offs < n)


def quantise_input(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    n = x.numel()
    parts = triton.cdiv(n, 2048)
    low = torch.empty((parts,), dtype=torch.float32, device=x.device)
    high = torch.empty((parts,), dtype=torch.float32, device=x.device)
    extremes_kernel[(parts,)](x, low, high, n, BLOCK=2048)
    scale = torch.empty((1,), dtype=torch.float32, device=x.device)
    zero = torch.empty((1,), dtype=torch.int8, device=x.device)
    scale_kernel[(1,)](low, high, scale, zero, parts, BLOCK=1024)
    q = torch.empty(x.shape, dtype=torch.int8, device=x.device)
    quantise_input_kernel[(triton.cdiv(n, 1024),)](x, q, scale, zero, n, BLOCK=1024)
    return q, scale, zero


def conv2d_w8a8(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor = None, stride: int = 1, padding: int = 0
) -> torch.Tensor:
    N, C, H, W = input.shape
    F, _, R, S = weight.shape
    OH = (H + 2 * padding - R) // stride + 1
    OW = (W + 2 * padding - S) // stride + 1
    qx, sx, zero = quantise_input(input.contiguous())
    qw = torch.empty((F, C, R, S), dtype=torch.int8, device=weight.device)
    sw = torch.empty((F,), dtype=torch.float32, device=weight.device)
    qw_sum = torch.empty((F,), dtype=torch.int32, device=weight.device)
    quantise_weight_kernel[(F,)](weight.contiguous(), qw, sw, qw_sum, C * R * S, BLOCK=128)
    y = torch.empty((N, F, OH, OW), dtype=torch.float32, device=input.device)
    has_bias = bias is not None
    pixels = N * OH * OW
    grid = (triton.cdiv(pixels, 64), triton.cdiv(F, 32))
    int8_conv2d_kernel[grid](
        qx, qw, sx, zero, sw, qw_sum, bias.contiguous() if has_bias else sw, y,
        pixels, C, H, W, OH, OW, R, S, F, stride, padding,
        HAS_BIAS=has_bias, BLOCK_M=64, BLOCK_N=32, BLOCK_K=64,
    )  # fmt: skip
    return y
