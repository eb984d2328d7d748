import torch
import triton
import triton.language as tl

PLAIN = ["n", "channels", "height", "width", "stride_n", "stride_c", "stride_h"]
OTHER_PLAIN = ["other_stride_n", "other_stride_c", "other_stride_h"]


@triton.jit(do_not_specialize=PLAIN + OTHER_PLAIN)
def similarity_kernel(
    x_ptr, other_ptr, sim_ptr, n, channels, height, width, eps, stride_n, stride_c, stride_h, stride_w,
    other_stride_n, other_stride_c, other_stride_h, other_stride_w, BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    w = (offs % width).to(tl.int64)
    h = ((offs // width) % height).to(tl.int64)
    sample = (offs // (width * height)).to(tl.int64)
    x_place = x_ptr + sample * stride_n + h * stride_h + w * stride_w
    other_place = other_ptr + sample * other_stride_n + h * other_stride_h + w * other_stride_w
    dot = tl.zeros((BLOCK,), dtype=tl.float32)
    square = tl.zeros((BLOCK,), dtype=tl.float32)
    other_square = tl.zeros((BLOCK,), dtype=tl.float32)
    for _ in range(channels):
        x = tl.load(x_place, mask=mask, other=0.0)
        other = tl.load(other_place, mask=mask, other=0.0)
        dot += x * other
        square += x * x
        other_square += other * other
        x_place += stride_c
        other_place += other_stride_c
    norm = tl.sqrt(square)
    other_norm = tl.sqrt(other_square)
    # a maximum would turn NaN into eps
    norm = tl.where(norm < eps, eps, norm)
    other_norm = tl.where(other_norm < eps, eps, other_norm)
    tl.store(sim_ptr + offs, dot / norm / other_norm, mask=mask)


@triton.jit(do_not_specialize=["n", "height", "width", "out_height", "out_width", "kernel_size", "stride", "padding"])
def pool_kernel(
    sim_ptr, y_ptr, n, height, width, out_height, out_width, kernel_size, stride, padding, BLOCK: tl.constexpr
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    left = (offs % out_width) * stride - padding
    top = ((offs // out_width) % out_height) * stride - padding
    image = (offs // (out_width * out_height)) * height * width
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for a in range(kernel_size):
        for b in range(kernel_size):
            h = top + a
            w = left + b
            inside = mask & (h >= 0) & (h < height) & (w >= 0) & (w < width)
            total += tl.load(sim_ptr + image + h * width + w, mask=inside, other=0.0)
    tl.store(y_ptr + offs, total / (kernel_size * kernel_size), mask=mask)


def fused_avg_pool2d_cosine_similarity(x1, x2, kernel_size, stride=None, padding=0, eps=1e-08):
    stride = kernel_size if stride is None else stride
    samples, channels, height, width = x1.shape
    out_height, out_width = ((size + 2 * padding - kernel_size) // stride + 1 for size in (height, width))
    sim = torch.empty((samples, height, width), dtype=torch.float32, device=x1.device)
    y = torch.empty((samples, 1, out_height, out_width), dtype=torch.float32, device=x1.device)
    similarity_kernel[(triton.cdiv(sim.numel(), 256),)](
        x1, x2, sim, sim.numel(), channels, height, width, eps, *x1.stride(), *x2.stride(), BLOCK=256
    )
    n = y.numel()
    pool_kernel[(triton.cdiv(n, 256),)](
        sim, y, n, height, width, out_height, out_width, kernel_size, stride, padding, BLOCK=256
    )
    return y
