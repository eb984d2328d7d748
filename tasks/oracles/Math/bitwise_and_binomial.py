import torch
import triton
import triton.language as tl


@triton.jit
def and_kernel(x_ptr, other_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0)
    other = tl.load(other_ptr + offs, mask=mask, other=0)
    tl.store(y_ptr + offs, x & other, mask=mask)


@triton.jit
def binomial_kernel(count_ptr, p_ptr, y_ptr, n, seed, LOGITS: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    count = tl.load(count_ptr + offs, mask=mask, other=0.0)
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    if LOGITS:
        p = 1.0 / (1.0 + tl.exp(-p))
    trials = tl.where((p > 0.0) & (p < 1.0), count, 0.0)
    most = tl.max(trials, axis=0).to(tl.int32)
    hits = tl.zeros((BLOCK,), tl.float32)
    counter = offs
    for first in range(0, most, 4):
        # four trials for each number of the counter
        a, b, c, d = tl.rand4x(seed, counter)
        hits += tl.where((a < p) & (first < trials), 1.0, 0.0)
        hits += tl.where((b < p) & (first + 1 < trials), 1.0, 0.0)
        hits += tl.where((c < p) & (first + 2 < trials), 1.0, 0.0)
        hits += tl.where((d < p) & (first + 3 < trials), 1.0, 0.0)
        counter += n
    tl.store(y_ptr + offs, tl.where(p >= 1.0, count, hits), mask=mask)


def bitwise_and_binomial(
    input: torch.Tensor,
    other: torch.Tensor,
    total_count: torch.Tensor,
    probs: torch.Tensor = None,
    logits: torch.Tensor = None,
):
    BLOCK = 1024
    x, other = (t.contiguous() for t in torch.broadcast_tensors(input, other))
    bits = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = bits.numel()
    and_kernel[(triton.cdiv(n, BLOCK),)](x, other, bits, n, BLOCK=BLOCK)

    p = probs if logits is None else logits
    count, p = (t.contiguous() for t in torch.broadcast_tensors(total_count, p))
    samples = torch.empty(count.shape, dtype=torch.float32, device=count.device)
    n = samples.numel()
    grid = (triton.cdiv(n, BLOCK),)
    binomial_kernel[grid](count, p, samples, n, 20240229, LOGITS=logits is not None, BLOCK=BLOCK)
    return bits, samples
