import torch
import triton
import triton.language as tl


@triton.jit
def argmax_kernel(
    x_ptr, y_ptr, n, inner, stride_outer, stride_n, stride_inner, LOWEST: tl.constexpr,
    BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    cols = (tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)
    rows = tl.arange(0, BLOCK_N)
    base = x_ptr + outer * stride_outer + cols[None, :].to(tl.int64) * stride_inner

    best = tl.full((BLOCK_N, BLOCK_I), LOWEST, x_ptr.dtype.element_ty)
    place = tl.zeros((BLOCK_N, BLOCK_I), tl.int32) + rows[:, None]
    for start in range(0, n, BLOCK_N):
        offs = start + rows[:, None]
        mask = (offs < n) & (cols[None, :] < inner)
        x = tl.load(base + offs.to(tl.int64) * stride_n, mask=mask, other=LOWEST)
        # strictly greater keeps the first of equal values; the first NaN beats every number and stays
        better = (x > best) | ((x != x) & (best == best))
        best = tl.where(better, x, best)
        place = tl.where(better, offs, place)

    nan = best != best
    any_nan = tl.max(nan.to(tl.int32), axis=0)
    top = tl.max(tl.where(nan, LOWEST, best), axis=0)
    hit = tl.where(any_nan[None, :] > 0, nan, best == top[None, :])
    first = tl.min(tl.where(hit, place, n), axis=0)
    tl.store(y_ptr + outer * inner + cols, first.to(tl.int64), mask=cols < inner)


def argmax(input_tensor: torch.Tensor, dim: int, keepdim: bool = False) -> torch.Tensor:
    if dim is None:
        x = input_tensor.contiguous().view(1, -1, 1)
        shape = [1] * input_tensor.dim() if keepdim else []
    else:
        dim = dim % input_tensor.dim()
        n = input_tensor.shape[dim]
        before, after = list(input_tensor.shape[:dim]), list(input_tensor.shape[dim + 1 :])
        shape = before + [1] * keepdim + after
        folded = (torch.Size(before).numel(), n, torch.Size(after).numel())
        try:
            x = input_tensor.view(folded)
        except RuntimeError:
            x = input_tensor.contiguous().view(folded)
    y = torch.empty(shape, dtype=torch.int64, device=x.device)
    outer, n, inner = x.shape
    lowest = float("-inf") if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
    BLOCK_N, BLOCK_I = (1024, 1) if inner == 1 else (32, 32)
    grid = (outer * triton.cdiv(inner, BLOCK_I),)
    argmax_kernel[grid](
        x, y, n, inner, x.stride(0), x.stride(1), x.stride(2), LOWEST=lowest, BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I
    )
    return y
