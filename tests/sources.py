"""Candidates for the task of `examples/double_task.py`: one good kernel, and ways to break it by replacing text."""

from pathlib import Path

from tasks.catalog import load
from tasks.task import Task

GOOD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, 2 * x, mask=mask)


def double(x):
    y = torch.empty_like(x)
    n = x.numel()
    double_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y
"""


def double_task() -> Task:
    return load(str(Path(__file__).parent / "examples" / "double_task.py"))


def changed(*pairs: tuple[str, str]) -> str:
    """GOOD with each first text replaced by its second, which must be there."""
    source = GOOD
    for old, new in pairs:
        assert old in source, old
        source = source.replace(old, new)
    return source
