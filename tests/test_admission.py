"""Every built task keeps the suite's contract, and refuses wrong values."""

import ast
import inspect

import pytest
import torch

from tasks.calls import call_reference
from tasks.catalog import built, index, load, oracle_path
from tasks.controls import admit
from tasks.draw import Draw
from tasks.judges import numerically_right
from tasks.task import Cost

SEEDS = range(101, 106)
every_task = pytest.mark.parametrize("name", built())


def hidden_digests(task, seed):
    return [(case.label, _plain(case.args), _plain(dict(case.kwargs))) for case in task.hidden(Draw(seed))]


def _plain(value):
    """Something that compares equal only for equal arguments, bit by bit."""
    if isinstance(value, torch.Tensor):
        room = value.detach().contiguous().flatten().view(torch.uint8) if value.numel() else value
        return str(value.dtype), tuple(value.shape), value.stride(), room.numpy().tobytes()
    if isinstance(value, torch.Generator):
        return "generator", value.initial_seed()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return repr(value)


@every_task
def test_every_negative_control_is_refused(name):
    findings = admit(load(name), seed=SEEDS[0])
    assert [f"{f.control}: {f.detail}" for f in findings if f.refused is False] == []
    assert {"zeros", "constant mean", "half-precision reference"} & {f.control for f in findings if f.refused}


@every_task
@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_passes(name, seed):
    task = load(name)
    for cases in (task.public, task.hidden, task.stand_ins) if seed == SEEDS[0] else (task.public, task.hidden):
        for case in cases(Draw(seed)):
            assert numerically_right(task, case, call_reference(task, case)), case.label


@every_task
def test_id_entry_and_signature_are_those_of_the_index(name):
    task, row = load(name), index()[name]
    assert (task.id, task.signature) == (row.id, row.signature)
    assert task.entry == row.entry
    assert task.signature.split("(")[0] == task.entry


@every_task
def test_the_reference_has_the_parameters_of_the_signature(name):
    task = load(name)
    (function,) = ast.parse(f"def {task.signature}: ...").body
    namespace = {"torch": torch}
    exec(compile(ast.Module([ast.FunctionDef(**_without_annotations(function))], []), name, "exec"), namespace)
    theirs = inspect.signature(namespace[task.entry]).parameters
    ours = inspect.signature(task.reference).parameters
    assert [(p.name, p.kind, p.default) for p in ours.values()] == [
        (p.name, p.kind, p.default) for p in theirs.values()
    ]


def _without_annotations(function):
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = None
    return {field: getattr(function, field, None) for field in function._fields} | {
        "returns": None,
        "lineno": 1,
        "col_offset": 0,
    }


@every_task
def test_named_parameters_exist(name):
    task = load(name)
    parameters = inspect.signature(task.reference).parameters
    assert set(task.mutates) <= set(parameters)
    assert task.writes_to is None or task.writes_to in parameters
    assert task.returns or task.mutates


@every_task
def test_there_is_an_oracle_that_defines_the_entry(name):
    module = ast.parse(oracle_path(name).read_text())
    assert load(name).entry in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}


@every_task
def test_hidden_cases_follow_the_seed(name):
    task = load(name)
    draws = [hidden_digests(task, seed) for seed in SEEDS]
    assert draws[0] == hidden_digests(task, SEEDS[0])
    assert all(a != b for i, a in enumerate(draws) for b in draws[:i])


@every_task
def test_case_families_are_the_ones_promised(name):
    task = load(name)
    families = {kind: list(getattr(task, kind)(Draw(1))) for kind in ("public", "hidden", "stand_ins")}
    assert all(len(cases) >= 2 for cases in families.values())
    for cases in families.values():
        labels = [case.label for case in cases]
        assert len(set(labels)) == len(labels)


@every_task
def test_sizes_are_not_all_round_and_some_view_is_not_contiguous(name):
    task = load(name)
    cases = list(task.hidden(Draw(1)))
    values = [v for case in cases for v in (*case.args, *case.kwargs.values())]
    tensors = [t for v in values for t in (v if isinstance(v, (list, tuple)) else [v]) if isinstance(t, torch.Tensor)]
    if not tensors:  # it gets numbers only, so the sizes are those of what it returns
        assert any(size % 16 for case in cases for size in call_reference(task, case).returned.shape)
        return
    assert any(size % 16 for t in tensors for size in t.shape)
    assert any(not t.is_contiguous() for t in tensors)


@every_task
def test_the_cost_is_that_of_a_real_call(name):
    task = load(name)
    for case in (*task.public(Draw(1)), *task.stand_ins(Draw(1))):
        cost = task.cost(*case.args, **case.kwargs)
        assert isinstance(cost, Cost)
        assert (
            isinstance(cost.bytes_min, int) and cost.bytes_min > 0 and isinstance(cost.flops, int) and cost.flops >= 0
        )
