import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "inner", "span", "stride_outer"])
def gelu_min_kernel(
    x_ptr, y_ptr, index_ptr, n, inner, span, stride_outer, stride_n, stride_inner,
    GELU: tl.constexpr, TANH: tl.constexpr, INDEX: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_I: tl.constexpr,
):  # fmt: skip
    """The minimum over one span of the reduced dimension; spans are used where one minimum of all is wanted."""
    blocks = tl.cdiv(inner, BLOCK_I)
    outer = (tl.program_id(0) // blocks).to(tl.int64)
    cols = (tl.program_id(0) % blocks) * BLOCK_I + tl.arange(0, BLOCK_I)
    first = tl.program_id(1) * span
    last = tl.minimum(first + span, n)
    rows = tl.arange(0, BLOCK_N)
    base = x_ptr + outer * stride_outer + cols[None, :].to(tl.int64) * stride_inner

    best = tl.full((BLOCK_N, BLOCK_I), float("inf"), tl.float32)
    place = tl.zeros((BLOCK_N, BLOCK_I), tl.int32) + first + rows[:, None]
    for start in range(first, last, BLOCK_N):
        offs = start + rows[:, None]
        mask = (offs < last) & (cols[None, :] < inner)
        x = tl.load(base + offs.to(tl.int64) * stride_n, mask=mask, other=float("inf"))
        g = x
        if GELU:
            if TANH:
                # (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), which can't overflow into NaN
                u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
                g = x / (1.0 + tl.exp(-2.0 * u))
            else:
                g = 0.5 * x * (1.0 + tl.erf(0.7071067811865476 * x))
        # the first NaN beats every number and stays
        better = (g < best) | ((g != g) & (best == best))
        best = tl.where(better, g, best)
        place = tl.where(better, offs, place)

    nan = best != best
    any_nan = tl.max(nan.to(tl.int32), axis=0) > 0
    low = tl.min(tl.where(nan, float("inf"), best), axis=0)
    least = tl.where(any_nan, float("nan"), low)
    out = outer * inner + cols
    if INDEX:
        hit = tl.where(any_nan[None, :], nan, best == low[None, :])
        spot = tl.min(tl.where(hit, place, n), axis=0)
        tl.store(index_ptr + out, spot.to(tl.int64), mask=cols < inner)
    tl.store(y_ptr + tl.program_id(1) + out, least, mask=cols < inner)


def fused_gelu_min(input, approximate="none", dim=None, keepdim=False, out=None):
    tanh = approximate == "tanh"
    if dim is None:
        x = input.contiguous().view(-1)
        n = x.numel()
        parts = min(triton.cdiv(n, 2048), 1024)
        span = triton.cdiv(triton.cdiv(n, parts), 1024) * 1024
        parts = triton.cdiv(n, span)
        y = torch.empty((), dtype=x.dtype, device=x.device) if out is None else out
        least = torch.empty((parts,), dtype=x.dtype, device=x.device)
        options = {"INDEX": False, "BLOCK_N": 1024, "BLOCK_I": 1}
        gelu_min_kernel[(1, parts)](x, least, least, n, 1, span, n, 1, 1, GELU=True, TANH=tanh, **options)
        gelu_min_kernel[(1, 1)](least, y, y, parts, 1, parts, parts, 1, 1, GELU=False, TANH=tanh, **options)
        return y
    dim = dim % input.dim()
    n = input.shape[dim]
    before, after = input.shape[:dim], input.shape[dim + 1 :]
    try:
        x = input.view(before.numel(), n, after.numel())
    except RuntimeError:
        x = input.contiguous().view(before.numel(), n, after.numel())
    shape = [*before, 1, *after] if keepdim else [*before, *after]
    values = torch.empty(shape, dtype=x.dtype, device=x.device)
    indices = torch.empty(shape, dtype=torch.int64, device=x.device)
    outer, n, inner = x.shape
    BLOCK_N, BLOCK_I = (1024, 1) if inner == 1 else (32, 32)
    gelu_min_kernel[(outer * triton.cdiv(inner, BLOCK_I), 1)](
        x, values, indices, n, inner, n, *x.stride(),
        GELU=True, TANH=tanh, INDEX=True, BLOCK_N=BLOCK_N, BLOCK_I=BLOCK_I,
    )  # fmt: skip
    return values, indices
