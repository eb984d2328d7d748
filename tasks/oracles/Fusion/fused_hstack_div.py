import torch
import triton
import triton.language as tl

MODES = {None: 0, "trunc": 1, "floor": 2}
PLAIN = ["n", "cols", "stride_row", "start", "y_stride_row", "divisor_stride_row"]


@triton.jit(do_not_specialize=PLAIN)
def divide_kernel(
    x_ptr, divisor_ptr, y_ptr, n, cols, number, start, stride_row, stride_col, y_stride_row,
    divisor_stride_row, divisor_stride_col, TENSOR: tl.constexpr, MODE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The quotients of one of the tensors, whose columns begin at `start` of the result's."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = (offs // cols).to(tl.int64)
    col = (offs % cols).to(tl.int64)
    x = tl.load(x_ptr + row * stride_row + col * stride_col, mask=mask, other=0.0).to(tl.float32)
    divisor = number
    if TENSOR:
        place = row * divisor_stride_row + (start + col) * divisor_stride_col
        divisor = tl.load(divisor_ptr + place, mask=mask, other=1.0).to(tl.float32)
    y = x / divisor
    if MODE == 1:
        y = tl.where(y < 0, tl.ceil(y), tl.floor(y))
    if MODE == 2:
        y = tl.floor(y)
    tl.store(y_ptr + row * y_stride_row + start + col, y, mask=mask)


def fused_hstack_div(tensors, divisor, *, rounding_mode=None, out=None):
    first = tensors[0]
    dim = 0 if first.dim() == 1 else 1
    shape = list(first.shape)
    shape[dim] = sum(t.shape[dim] for t in tensors)
    y = torch.empty(shape, dtype=torch.float32, device=first.device) if out is None else out
    rows, inner = first.shape[:dim].numel(), first.shape[dim + 1 :].numel()
    width = shape[dim] * inner
    tensor = isinstance(divisor, torch.Tensor)
    divisors = as_rows(divisor.expand(shape), rows, width) if tensor else y.view(rows, width)
    start = 0
    for part in tensors:
        cols = part.shape[dim] * inner
        x = as_rows(part, rows, cols)
        n = x.numel()
        grid = (triton.cdiv(n, 1024),)
        divide_kernel[grid](
            x, divisors, y, n, cols, 1.0 if tensor else float(divisor), start, *x.stride(), width, *divisors.stride(),
            TENSOR=tensor, MODE=MODES[rounding_mode], BLOCK=1024,
        )  # fmt: skip
        start += cols
    return y


def as_rows(x, rows, cols):
    try:
        return x.view(rows, cols)
    except RuntimeError:
        return x.contiguous().view(rows, cols)
