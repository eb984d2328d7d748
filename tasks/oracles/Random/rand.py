import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["seed", "first"])
def rand_kernel(y_ptr, seed, first, n, cols, stride_row, stride_col, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    y = tl.rand(seed, first + offs)
    tl.store(y_ptr + (offs // cols) * stride_row + (offs % cols) * stride_col, y, mask=mask)


@triton.jit(do_not_specialize=["seed", "first"])
def rand64_kernel(y_ptr, seed, first, n, cols, stride_row, stride_col, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    high, low, _, _ = tl.randint4x(seed, first + offs)
    high = (high.to(tl.uint32) >> 5).to(tl.float64)
    low = (low.to(tl.uint32) >> 6).to(tl.float64)
    y = (high * 67108864.0 + low) * (1.0 / 9007199254740992.0)
    tl.store(y_ptr + (offs // cols) * stride_row + (offs % cols) * stride_col, y, mask=mask)


def fill(y, seed, first):
    n = y.numel()
    cols = n if y.is_contiguous() else y.shape[-1]
    try:
        flat = y.view(-1, cols)
    except RuntimeError:
        for i, part in enumerate(y.unbind(0)):
            fill(part, seed, first + i * part.numel())
        return
    BLOCK = 2048
    grid = (triton.cdiv(n, BLOCK),)
    kernel = rand64_kernel if y.dtype == torch.float64 else rand_kernel
    kernel[grid](flat, seed, first, n, cols, flat.stride(0), flat.stride(1), BLOCK=BLOCK, num_warps=8)


def rand(
    *size,
    generator=None,
    out=None,
    dtype=None,
    layout=torch.strided,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    if out is None:
        shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        out = torch.empty(shape, dtype=dtype or torch.float32, device=device)
    seed = generator.initial_seed() if generator is not None else 20240229
    fill(out, seed, 0)
    return out
