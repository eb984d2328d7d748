"""What a task's text says, followed to the letter in plain Python, agrees with its reference."""

import inspect
import math
import re
from fractions import Fraction

import pytest
import torch

from tasks.calls import bound, call_exact, call_reference
from tasks.catalog import built, index, load
from tasks.draw import Draw

SEEDS = range(3)
every_task = pytest.mark.parametrize("name", built())


def cases_of(name):
    task = load(name)
    return [(task, case) for seed in SEEDS for cases in (task.public, task.hidden) for case in cases(Draw(seed))]


def interpolated_weights(length, size, factor, mode, align_corners):
    """The matrix (out, in) by which one spatial dimension is multiplied, from the formulas of the text."""
    out = size if size is not None else math.floor(length * factor)
    step = Fraction(length, out) if size is not None else 1 / Fraction(factor)
    weights = torch.zeros(out, length, dtype=torch.float64)
    for d in range(out):
        if mode == "nearest":
            weights[d, min(math.floor(d * step), length - 1)] = 1
            continue
        corner = Fraction(d * (length - 1), out - 1) if out > 1 else 0
        t = corner if align_corners else max((d + Fraction(1, 2)) * step - Fraction(1, 2), 0)
        i = math.floor(t)
        weights[d, i] += float(1 - (t - i))
        weights[d, min(i + 1, length - 1)] += float(t - i)
    return weights


@pytest.mark.parametrize(("task", "case"), cases_of("SpatialOps/interpolate"), ids=lambda x: getattr(x, "label", ""))
def test_interpolate(task, case):
    given = bound(task, case)
    x, dims = given["input"].double(), given["input"].dim() - 2
    expected = call_exact(task, case).returned
    for i in range(dims):
        size, factor = (v[i] if isinstance(v, tuple) else v for v in (given["size"], given["scale_factor"]))
        weights = interpolated_weights(x.shape[2 + i], size, factor, given["mode"], given["align_corners"])
        if given["mode"] == "nearest":
            x = x.index_select(2 + i, weights.argmax(1))
        else:
            x = torch.movedim(torch.tensordot(weights, x, dims=([1], [2 + i])), 0, 2 + i)
    torch.testing.assert_close(expected, x, rtol=1e-9, atol=1e-9, equal_nan=True)
    if given["mode"] == "nearest":
        native = call_reference(task, case).returned
        torch.testing.assert_close(native.double(), expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(("task", "case"), cases_of("SpatialOps/interpolate"), ids=lambda x: getattr(x, "label", ""))
def test_float32_rounding_cannot_change_a_nearest_neighbour(task, case):
    given = bound(task, case)
    if given["mode"] != "nearest":
        return
    for i, length in enumerate(given["input"].shape[2:]):
        size, factor = (v[i] if isinstance(v, tuple) else v for v in (given["size"], given["scale_factor"]))
        out = size if size is not None else math.floor(length * factor)
        step = Fraction(length, out) if size is not None else 1 / Fraction(factor)
        exact_in_float32 = step.denominator & (step.denominator - 1) == 0
        margins = [abs(d * step - round(d * step)) for d in range(1, out)]
        assert exact_in_float32 or min(margins, default=1) > Fraction(1, 1000)


@pytest.mark.parametrize(("task", "case"), cases_of("Optimizer/AdamW"), ids=lambda x: getattr(x, "label", ""))
def test_adamw(task, case):
    a = bound(task, case)
    after = call_exact(task, case).mutated
    lr, beta1, beta2, step = a["lr"], a["beta1"], a["beta2"], a["step"]
    p, g, m, v = (a[name].double() for name in ("param", "grad", "exp_avg", "exp_avg_sq"))
    p = p * (1 - lr * a["weight_decay"])
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    p = p - lr / (1 - beta1**step) * m / (v.sqrt() / math.sqrt(1 - beta2**step) + a["eps"])
    for expected, name in ((p, "param"), (m, "exp_avg"), (v, "exp_avg_sq")):
        torch.testing.assert_close(after[name], expected, rtol=1e-12, atol=1e-14, equal_nan=True)


KINDS = ("public", "hidden")


def tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def drawn(task, kinds=KINDS):
    """Every case of two seeds, with its tensors."""
    for seed in (7, 8):
        for kind in kinds:
            for case in getattr(task, kind)(Draw(seed)):
                yield case, list(tensors([*case.args, *case.kwargs.values()]))


@every_task
def test_the_text_says_that_tensors_may_be_empty(name):
    """In so many words: that an input is drawn without elements is nothing that a model should have to guess."""
    task = load(name)
    text = " ".join(task.text.split())
    empty = [case.label for case, held in drawn(task) if any(t.numel() == 0 for t in held)]
    told = re.search(r"may be empty|an empty tensor gives an empty|an empty one may occur|is empty then", text)
    assert not empty or told, f"empty tensors in {empty}"


@every_task
def test_the_text_says_that_tensors_may_be_views(name):
    """One that isn't contiguous: "with any strides", or "a strided view"."""
    task = load(name)
    text = " ".join(task.text.split())
    views = [case.label for case, held in drawn(task) if any(not t.is_contiguous() for t in held)]
    told = re.search(r"\b(any|own) strides?\b|strides of (its|their) own|strided view|stored by columns", text)
    assert not views or told, f"views in {views}"


@every_task
def test_no_text_asks_for_a_contiguous_result(name):
    """Nothing judges it, so no text demands it; what is passed may be said to be contiguous."""
    text = " ".join(load(name).text.split())
    assert not re.search(r"new contiguous|[Rr]esult is [^.`]*\bcontiguous", text)


def after_the_mark(signature):
    """The parameters with a default behind the bare `*` of a signature."""
    marked = signature[signature.index("(") :].partition("*,")[2]
    return set(re.findall(r"(\w+)\s*(?::[^,=]*)?=", marked))


def keyword_only(task):
    """Options that must be named: by the `*` of torch's schema of a function in the entry's name (`add` and `gelu` in
    `fused_add_gelu`), or by that of a signature of the same category."""
    words = [word for word in task.entry.lower().split("_") if word]
    spans = {"_".join(words[i : j + 1]) for i in range(len(words)) for j in range(i, len(words))}
    found = set()
    for span in spans | {task.entry}:
        for prefix in ("", "linalg_", "special_", "fft_"):
            for schema in torch._C._jit_get_schemas_for_operator(f"aten::{prefix}{span}"):
                found |= {argument.name for argument in schema.arguments if argument.kwarg_only}
    rows = [row for row in index().values() if row.category == task.category]
    return found.union(*(after_the_mark(row.signature) for row in rows))


@every_task
def test_options_that_torch_has_by_keyword_only_are_passed_by_keyword(name):
    """Who writes `def add(input, other, *, alpha=1)`, as torch does, is called in a way that works."""
    task = load(name)
    parameters = inspect.signature(task.reference).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    named = keyword_only(task)
    by_position = {
        (case.label, p.name)
        for case, _ in drawn(task, (*KINDS, "stand_ins"))
        for p in list(parameters)[: len(case.args)]
        if p.name in named and p.default is not p.empty
    }
    assert not by_position


def test_the_marks_are_found():
    assert {"alpha", "out"} <= keyword_only(load("Math/add"))
    assert "dim" not in keyword_only(load("Math/softmax"))
    assert {"beta", "alpha"} <= keyword_only(load("MatrixMultiply/addmm"))
    assert {"correction", "keepdim"} <= keyword_only(load("Reduce/std"))
    assert {"pivot", "full_matrices"} <= keyword_only(load("LinearAlgebra/lu"))
    assert after_the_mark("f(x, *, alpha: float=1, out=None)") == {"alpha", "out"}
    assert after_the_mark("f(*size, out=None)") == set()
