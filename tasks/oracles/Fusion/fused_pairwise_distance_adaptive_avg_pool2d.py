import torch
import triton
import triton.language as tl

PLAIN = [
    *("n", "blocks", "height", "width", "out_height", "out_width", "window_height", "window_width"),
    *("stride_n", "stride_c", "stride_h", "other_stride_n", "other_stride_c", "other_stride_h"),
]


@triton.jit(do_not_specialize=PLAIN)
def powers_kernel(
    x_ptr, other_ptr, part_ptr, n, blocks, height, width, out_height, out_width, window_height, window_width, p, eps,
    stride_n, stride_c, stride_h, stride_w, other_stride_n, other_stride_c, other_stride_h, other_stride_w,
    KIND: tl.constexpr, BLOCK: tl.constexpr, BLOCK_W: tl.constexpr,
):  # fmt: skip
    """The sum of |d| ** p over BLOCK of the n pooled pixels of a sample."""
    sample = (tl.program_id(0) // blocks).to(tl.int64)
    offs = (tl.program_id(0) % blocks) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    j = offs % out_width
    i = (offs // out_width) % out_height
    channel = (offs // (out_width * out_height)).to(tl.int64)
    place = x_ptr + sample * stride_n + channel * stride_c
    other_place = other_ptr + sample * other_stride_n + channel * other_stride_c

    top = i * height // out_height
    bottom = ((i + 1) * height + out_height - 1) // out_height
    left = j * width // out_width
    right = ((j + 1) * width + out_width - 1) // out_width
    total = tl.zeros((BLOCK, BLOCK_W), dtype=tl.float32)
    for a in range(window_height):
        row = (top + a).to(tl.int64)
        line = place + row * stride_h
        other_line = other_place + row * other_stride_h
        for start in range(0, window_width, BLOCK_W):
            col = left[:, None] + start + tl.arange(0, BLOCK_W)[None, :]
            inside = (mask & (row < bottom))[:, None] & (col < right[:, None])
            x = tl.load(line[:, None] + col.to(tl.int64) * stride_w, mask=inside, other=0.0)
            other = tl.load(other_line[:, None] + col.to(tl.int64) * other_stride_w, mask=inside, other=0.0)
            total += x - other
    d = tl.abs(tl.sum(total, axis=1) / ((bottom - top) * (right - left)) + eps)
    power = d
    if KIND == 2:
        power = d * d
    elif KIND != 1:
        power = tl.exp2(p * tl.log2(d))
    tl.store(part_ptr + tl.program_id(0), tl.sum(tl.where(mask, power, 0.0), axis=0))


@triton.jit(do_not_specialize=["blocks"])
def root_kernel(part_ptr, y_ptr, blocks, p, KIND: tl.constexpr, BLOCK: tl.constexpr):
    sample = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, blocks, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < blocks
        total += tl.load(part_ptr + sample * blocks + offs, mask=mask, other=0.0)
    y = tl.sum(total, axis=0)
    if KIND == 2:
        y = tl.sqrt(y)
    elif KIND != 1:
        y = tl.exp2(tl.log2(y) / p)
    tl.store(y_ptr + sample, y)


def fused_pairwise_distance_adaptive_avg_pool2d(x1, x2, output_size, p=2.0, eps=1e-06, keepdim=False):
    out_height, out_width = (output_size, output_size) if isinstance(output_size, int) else output_size
    samples, channels, height, width = x1.shape
    # no window is longer than this
    window_height, window_width = triton.cdiv(height, out_height) + 1, triton.cdiv(width, out_width) + 1
    BLOCK_W = min(triton.next_power_of_2(window_width), 64)
    BLOCK = 1024 // BLOCK_W
    kind = int(p) if p in (1, 2) else 0
    n = channels * out_height * out_width
    blocks = triton.cdiv(n, BLOCK)
    part = torch.empty((samples, blocks), dtype=torch.float32, device=x1.device)
    y = torch.empty((samples, 1, 1, 1) if keepdim else (samples,), dtype=torch.float32, device=x1.device)
    powers_kernel[(samples * blocks,)](
        x1, x2, part, n, blocks, height, width, out_height, out_width, window_height, window_width,
        float(p), float(eps), *x1.stride(), *x2.stride(), KIND=kind, BLOCK=BLOCK, BLOCK_W=BLOCK_W,
    )  # fmt: skip
    root_kernel[(samples,)](part, y, blocks, float(p), KIND=kind, BLOCK=1024)
    return y
