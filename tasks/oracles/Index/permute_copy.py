import torch
import triton
import triton.language as tl


@triton.jit
def permute_kernel(
    x_ptr, y_ptr, rows, cols, size1, size2,
    x0, x1, x2, x_row, x_col, y0, y1, y2, y_row, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    """A tile of the result's last dimension and of that along which the input is contiguous."""
    row_blocks = tl.cdiv(rows, BLOCK_R)
    col_blocks = tl.cdiv(cols, BLOCK_C)
    pid = tl.program_id(0)
    c = (pid % col_blocks) * BLOCK_C + tl.arange(0, BLOCK_C)
    pid = pid // col_blocks
    r = (pid % row_blocks) * BLOCK_R + tl.arange(0, BLOCK_R)
    pid = (pid // row_blocks).to(tl.int64)
    i2 = pid % size2
    i1 = pid // size2 % size1
    i0 = pid // (size1 * size2)
    mask = (r < rows)[:, None] & (c < cols)[None, :]
    x_at = r[:, None].to(tl.int64) * x_row + c[None, :].to(tl.int64) * x_col
    x = tl.load(x_ptr + i0 * x0 + i1 * x1 + i2 * x2 + x_at, mask=mask)
    y_at = r[:, None].to(tl.int64) * y_row + c[None, :]
    tl.store(y_ptr + i0 * y0 + i1 * y1 + i2 * y2 + y_at, x, mask=mask)


def folded(shape, x_strides, y_strides):
    """Neighbouring dimensions made one where both tensors permit it, sizes of 1 left out: (size, stride, stride)."""
    dims = []
    for size, xs, ys in zip(shape, x_strides, y_strides, strict=True):
        if dims and dims[-1][1] == xs * size and dims[-1][2] == ys * size:
            dims[-1] = (dims[-1][0] * size, xs, ys)
        elif size != 1:
            dims.append((size, xs, ys))
    return dims or [(1, 1, 1)]


def permute_copy(input: torch.Tensor, dims: list) -> torch.Tensor:
    x = input.permute(*dims)
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    sides = folded(x.shape, x.stride(), y.stride())
    cols, x_col, _ = sides.pop()
    # rows: the dimension that is contiguous in the input, or else the one next to the last
    near = min(range(len(sides)), key=lambda d: (sides[d][1], -d), default=None)
    if near is not None and sides[near][1] > x_col:
        near = len(sides) - 1
    rows, x_row, y_row = sides.pop(near) if near is not None else (1, 0, 0)
    sides = [(1, 0, 0)] * (3 - len(sides)) + sides
    (s0, x0, y0), (s1, x1, y1), (s2, x2, y2) = sides
    BLOCK_C = min(1024 if x_col == 1 else 64, triton.next_power_of_2(max(cols, 1)))
    BLOCK_R = min(2048 // BLOCK_C, triton.next_power_of_2(max(rows, 1)))
    grid = (triton.cdiv(rows, BLOCK_R) * triton.cdiv(cols, BLOCK_C) * s0 * s1 * s2,)
    permute_kernel[grid](
        x, y, rows, cols, s1, s2, x0, x1, x2, x_row, x_col, y0, y1, y2, y_row, BLOCK_R=BLOCK_R, BLOCK_C=BLOCK_C
    )
    return y
