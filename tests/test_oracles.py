"""Every oracle of the suite is correct by the real evaluator, and nearly all of them are pure Triton."""

import contextlib

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from evaluator.judge import Evaluator
from tasks.catalog import built, index, load, oracle_path
from tasks.draw import Draw
from tasks.outcomes import Status


class Elsewhere(TorchDispatchMode):
    """Notes what is made on the CPU; a single number may be."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = func(*args, **(kwargs or {}))
        for one in out if isinstance(out, (list, tuple)) else (out,):
            if isinstance(one, torch.Tensor) and one.device.type == "cpu" and one.dim():
                self.made.append(str(func))
        return out


@pytest.mark.parametrize("name", built())
def test_the_oracle_is_correct(evaluator: Evaluator, name: str) -> None:
    said = evaluator.evaluate(load(name), oracle_path(name).read_text())
    assert said.status is Status.CORRECT, said.diagnosis


def test_all_tasks_are_built_and_at_least_150_oracles_are_pure() -> None:
    assert built() == list(index()) and len(built()) == 176
    assert sum(not load(name).allow for name in built()) >= 150


@pytest.mark.parametrize("name", built())
def test_the_reference_makes_nothing_on_another_device(name: str) -> None:
    """On tensors without values, as far as it goes with such: on a GPU it is timed as it is."""
    task = load(name)
    for case in task.public(Draw(1)):
        args, kwargs = meta(case.args), {key: meta(value) for key, value in case.kwargs.items()}
        if not any(isinstance(value, torch.Tensor) for value in (*args, *kwargs.values())):
            continue  # it is told its device by name
        with Elsewhere() as elsewhere, contextlib.suppress(RuntimeError, NotImplementedError, ValueError, TypeError):
            task.reference(*args, **kwargs)
        assert elsewhere.made == [], case.label


def meta(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return value.to("meta")
    if isinstance(value, (list, tuple)):
        return type(value)(meta(item) for item in value)
    return value
