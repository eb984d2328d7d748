"""The judges of the quantised tasks: honest arithmetic of several kinds passes, shortcuts and usual mistakes don't."""

import math
from functools import cache
from functools import partial as given

import pytest
import torch
from torch.nn.functional import conv2d, layer_norm

from tasks.calls import Observed, bound, copied
from tasks.catalog import load
from tasks.draw import Draw
from tasks.judges import compare, truth_of

TINY = 2.0**-23


def rint_of_low(x):
    return torch.round(x * (1 - TINY))  # an inexact division


def rint_of_high(x):
    return torch.round(x * (1 + TINY))


def int8(x, dims, rint=torch.round, top=127):
    scale = x.abs().amax(dims, keepdim=True) / top
    q = rint(x / torch.where(scale > 0, scale, 1))
    return torch.where(q > 127, q - 256, q), scale


def plain_sum(q, p):
    """An integer product."""
    return (q.double() @ p.double()).float()


def half_sum(q, p):
    """The product summed in float16, of values that are small enough for it."""
    total = torch.zeros(*q.shape[:-1], p.shape[-1], dtype=torch.float16)
    for k in range(q.shape[-1]):
        total = total + (q[..., k : k + 1] / 64).half() * (p[..., k : k + 1, :] / 64).half()
    return total.float() * 4096


def bmm(input, mat2, rint=torch.round, rows=2, cols=1, product=plain_sum, top=127):
    (q, s), (p, t) = int8(input, rows, rint, top), int8(mat2, cols, rint, top)
    return product(q, p) * s * t


def dequantised_bmm(input, mat2):
    (q, s), (p, t) = int8(input, 2), int8(mat2, 1)
    return (q * s) @ (p * t)


def attention(query, key, value, rint=torch.round, rows=-1, channels=-2, soft=lambda p: p, root=True, top=127):
    (q, s), (k, t), (v, u) = int8(query, rows, rint, top), int8(key, rows, rint, top), int8(value, channels, rint, top)
    scores = plain_sum(q, k.mT) * s * t.mT / (math.sqrt(query.shape[-1]) if root else 1)
    return soft(scores.softmax(-1)) @ (v * u)


def float_attention(query, key, value):
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1) @ value


def float_value_attention(query, key, value):
    (q, s), (k, t) = int8(query, -1), int8(key, -1)
    return ((q * s) @ (k * t).mT / math.sqrt(query.shape[-1])).softmax(-1) @ value


def online_attention(query, key, value):
    """Keys in blocks of 8 with a running maximum, as a fused kernel goes over them."""
    (q, s), (k, t), (v, u) = int8(query, -1), int8(key, -1), int8(value, -2)
    top, total, acc = torch.full_like(s, -math.inf), torch.zeros_like(s), torch.zeros_like(query)
    for start in range(0, key.shape[-2], 8):
        block = slice(start, start + 8)
        scores = plain_sum(q, k[..., block, :].mT) * (s / math.sqrt(query.shape[-1])) * t[..., block, :].mT
        new = torch.maximum(top, scores.amax(-1, keepdim=True))
        p = torch.exp(scores - new)
        shrink = torch.exp(top - new)
        total, acc, top = total * shrink + p.sum(-1, keepdim=True), acc * shrink + p @ v[..., block, :], new
    return acc / total * u


def conv(input, weight, bias, stride, padding, rint=torch.round, filters=(1, 2, 3), fill=None, shift=True, half=False):
    low, high = input.amin().clamp_max(0), input.amax().clamp_min(0)
    scale = (high - low) / 255 if high > low else torch.tensor(1.0)
    zero = -128 - rint(low / scale)
    q = (rint(input / scale) + zero).clamp(-128, 127)
    p, t = int8(weight, filters, rint)
    outside = zero if fill is None else fill
    q = torch.nn.functional.pad(q, (padding,) * 4, value=float(outside))
    acc = conv2d((q - (zero if shift else 0)).double(), p.double(), None, stride).float()
    y = acc * scale * t.reshape(-1, 1, 1)
    y = y.half().float() if half else y
    return y if bias is None else y + bias.view(-1, 1, 1)


def float_conv(input, weight, bias, stride, padding):
    return conv2d(input, weight, bias, stride, padding)


def symmetric_conv(input, weight, bias, stride, padding):
    (q, s), (p, t) = int8(input, (0, 1, 2, 3)), int8(weight, (1, 2, 3))
    return conv2d(q * s, p * t, bias, stride, padding)


def dequantised_conv(input, weight, bias, stride, padding):
    low, high = input.amin().clamp_max(0), input.amax().clamp_min(0)
    scale = (high - low) / 255 if high > low else torch.tensor(1.0)
    zero = -128 - torch.round(low / scale)
    q = (torch.round(input / scale) + zero).clamp(-128, 127) - zero
    p, t = int8(weight, (1, 2, 3))
    return conv2d(q * scale, p * t, bias, stride, padding)


def norm(input, normalized_shape, weight, bias, eps, rint=torch.round, dims=None, top=127, late=False, work=None):
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    own = list(range(-len(shape), 0))
    if work:
        input = input.to(work).float()
    y = layer_norm(input, shape, None if late else weight, None if late else bias, eps)
    q, s = int8(y, own if dims is None else dims, rint, top)
    y = q * s
    if late and weight is not None:
        y = y * weight
    return y + bias if late and bias is not None else y


def float_norm(input, normalized_shape, weight, bias, eps):
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    return layer_norm(input, shape, weight, bias, eps)


def one_pass_norm(input, normalized_shape, weight, bias, eps):
    """Honest but for E[x**2] - E[x]**2 in float32."""
    dims = [-1] if isinstance(normalized_shape, int) else list(range(-len(normalized_shape), 0))
    mean = input.mean(dims, keepdim=True)
    y = (input - mean) / ((input * input).mean(dims, keepdim=True) - mean * mean + eps).sqrt()
    y = y if weight is None else y * weight
    q, s = int8(y if bias is None else y + bias, dims)
    return q * s


def two_pass_norm(input, normalized_shape, weight, bias, eps):
    """In another order than PyTorch's: sums of columns, and a division by the root."""
    dims = [-1] if isinstance(normalized_shape, int) else list(range(-len(normalized_shape), 0))
    count = math.prod(input.shape[d] for d in dims)
    dev = input - input.flip(dims).sum(dims, keepdim=True) / count
    y = dev / ((dev * dev).flip(dims).sum(dims, keepdim=True) / count + eps).sqrt()
    y = y if weight is None else y * weight
    q, s = int8(y if bias is None else y + bias, dims)
    return q * s


def linear(input, weight, bias, rint=torch.round, dims=1, top=8, least=-8, most=7, product=None, rounded=False):
    scale = weight.float().abs().amax(dims, keepdim=True) / top
    q = rint(weight.float() / torch.where(scale > 0, scale, 1)).clamp(least, most)
    w = q * scale
    w = (w.half().float() if rounded else w).T
    y = (product or torch.matmul)(input.float(), w)
    return (y if bias is None else y + bias.float()).half()


def float_linear(input, weight, bias):
    y = input.float() @ weight.float().T
    return (y if bias is None else y + bias.float()).half()


def wrapped_linear(input, weight, bias):
    """No clamp: four bits hold +8 as -8."""
    return linear(input, weight, bias, rint=lambda x: torch.where(torch.round(x) == 8, -8.0, torch.round(x)))


def fma_half(x, w):
    """A running sum in float16."""
    total = torch.zeros(*x.shape[:-1], w.shape[1], dtype=torch.float16)
    for k in range(x.shape[-1]):
        total = (total.float() + x[..., k : k + 1] * w[k]).half()
    return total.float()


BMM, ATTENTION, CONV, NORM, LINEAR = (
    f"Quantization/{name}" for name in ("bmm_w8a8", "attention_w8a8", "conv2d_w8a8", "layernorm_w8a8", "linear_w4a16")
)
HONEST = {
    (BMM, "integer sums"): bmm,
    (BMM, "quotients too small"): given(bmm, rint=rint_of_low),
    (BMM, "quotients too large"): given(bmm, rint=rint_of_high),
    (BMM, "dequantised"): dequantised_bmm,
    (ATTENTION, "integer sums"): attention,
    (ATTENTION, "quotients too small"): given(attention, rint=rint_of_low),
    (ATTENTION, "quotients too large"): given(attention, rint=rint_of_high),
    (ATTENTION, "running maximum"): online_attention,
    (CONV, "integer sums"): conv,
    (CONV, "quotients too small"): given(conv, rint=rint_of_low),
    (CONV, "quotients too large"): given(conv, rint=rint_of_high),
    (CONV, "dequantised"): dequantised_conv,
    (NORM, "PyTorch's norm"): norm,
    (NORM, "quotients too small"): given(norm, rint=rint_of_low),
    (NORM, "two passes"): two_pass_norm,
    (LINEAR, "float32 weights"): linear,
    (LINEAR, "quotients too small"): given(linear, rint=rint_of_low),
    (LINEAR, "quotients too large"): given(linear, rint=rint_of_high),
    (LINEAR, "float16 weights"): given(linear, rounded=True),
}
WRONG = {
    (BMM, "float"): torch.bmm,
    (BMM, "mat2 not quantised"): lambda input, mat2: torch.mul(*int8(input, 2)) @ mat2,
    (BMM, "truncated"): given(bmm, rint=torch.trunc),
    (BMM, "one scale for a matrix"): given(bmm, rows=(1, 2), cols=(1, 2)),
    (BMM, "scales shared by the batch"): given(bmm, rows=(0, 2), cols=(0, 1)),
    (BMM, "no clamp"): given(bmm, top=128),
    (BMM, "sums in float16"): given(bmm, product=half_sum),
    (ATTENTION, "float"): float_attention,
    (ATTENTION, "value not quantised"): float_value_attention,
    (ATTENTION, "truncated"): given(attention, rint=torch.trunc),
    (ATTENTION, "one scale for a matrix"): given(attention, rows=(-1, -2), channels=(-1, -2)),
    (ATTENTION, "value by token"): given(attention, channels=-1),
    (ATTENTION, "scales shared by the batch"): given(attention, channels=(0, -2)),
    (ATTENTION, "no clamp"): given(attention, top=128),
    (ATTENTION, "probabilities in float16"): given(attention, soft=lambda p: p.half().float()),
    (ATTENTION, "probabilities in int8"): given(attention, soft=lambda p: torch.round(p * 127) / 127),
    (ATTENTION, "scores not divided"): given(attention, root=False),
    (CONV, "float"): float_conv,
    (CONV, "truncated"): given(conv, rint=torch.trunc),
    (CONV, "one scale for all filters"): given(conv, filters=(0, 1, 2, 3)),
    (CONV, "symmetric activations"): symmetric_conv,
    (CONV, "zero point left in"): given(conv, shift=False),
    (CONV, "padded with the number 0"): given(conv, fill=0),
    (CONV, "sums in float16"): given(conv, half=True),
    (NORM, "float"): float_norm,
    (NORM, "truncated"): given(norm, rint=torch.trunc),
    (NORM, "one scale for all rows"): lambda **a: norm(**a, dims=list(range(a["input"].dim()))),
    (NORM, "scales by column"): given(norm, dims=0),
    (NORM, "no clamp"): given(norm, top=128),
    (NORM, "quantised ahead of weight and bias"): given(norm, late=True),
    (NORM, "float16 input"): given(norm, work=torch.float16),
    (NORM, "one pass"): one_pass_norm,
    (LINEAR, "float"): float_linear,
    (LINEAR, "truncated"): given(linear, rint=torch.trunc),
    (LINEAR, "one scale for a matrix"): given(linear, dims=(0, 1)),
    (LINEAR, "scales by input channel"): given(linear, dims=0),
    (LINEAR, "clamp missing"): given(linear, most=8),
    (LINEAR, "clamp missing, wrapped"): wrapped_linear,
    (LINEAR, "largest on 7"): given(linear, top=7),
    (LINEAR, "eight bits"): given(linear, top=128, least=-128, most=127),
    (LINEAR, "sums in float16"): given(linear, product=fma_half),
}


@cache
def judged(name, seed):
    task = load(name)
    cases = [case for cases in (task.public, task.hidden) for case in cases(Draw(seed))]
    return task, [(case, truth_of(task, case)) for case in cases]


def refusals(name, seed, function):
    """Labels of the cases in which the values of `function` are refused, and of all."""
    task, cases = judged(name, seed)
    refused = []
    for case, truth in cases:
        values = function(**copied(bound(task, case)))
        if compare(task, case, Observed(values, {}), truth):
            refused.append(case.label)
    return refused, [case.label for case, _ in cases]


@pytest.mark.parametrize(("name", "way"), HONEST)
def test_honest_arithmetic_passes(name, way):
    for seed in range(4):
        assert refusals(name, seed, HONEST[name, way])[0] == []


@pytest.mark.parametrize(("name", "way"), WRONG)
def test_wrong_schemes_are_refused_whatever_the_seed(name, way):
    for seed in range(2):
        assert refusals(name, seed, WRONG[name, way])[0]


@pytest.mark.parametrize("name", [BMM, ATTENTION, CONV, NORM, LINEAR])
def test_no_quantisation_and_truncation_are_refused_in_most_cases(name):
    for way in ("float", "truncated"):
        refused, every = refusals(name, 1, WRONG[name, way])
        assert len(refused) >= 0.6 * len(every)


@pytest.mark.parametrize("name", [BMM, ATTENTION, CONV, NORM])
def test_few_decisions_are_in_doubt(name):
    """Else the room for them would hide wrong roundings."""
    task, cases = judged(name, 2)
    for case, truth in cases:
        size = task.judge.magnitude(**bound(task, case))
        exact = truth.exact.returned
        room = size * torch.finfo(torch.float32).eps
        loose = (room > 0.004 * exact.abs().amax()).double().mean()
        assert loose < 0.5, case.label
