"""`python -m tasks new`: a task file to be filled in, and a test of it that fails until it is."""

from __future__ import annotations

import ast
from pathlib import Path

from tasks.catalog import HERE, index
from tasks.errors import UserError

TASK = '''\
"""{id}: (what it computes, in one line)."""

from collections.abc import Iterator

import torch

from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task

# what a model reads: words and mathematics, dtypes, precision, strides, NaN and infinity, sizes of 1, effects in place
TEXT = """\\
"""


def reference({parameters}):  # type: ignore[no-untyped-def]
    raise NotImplementedError("plain PyTorch that does what the text says")


def public(draw: Draw) -> Iterator[Case]:
    """Two or three small cases, which a model sees in kind."""
    yield Case("small", (draw.normal(7, 33),))


def hidden(draw: Draw) -> Iterator[Case]:
    """Families whose shapes and values follow the seed: odd sizes, 1, views, every parameter away from its default."""
    yield Case("strided view", (draw.strided(draw.normal(draw.size(2, 9), 35)),))


def timed(draw: Draw) -> Iterator[Case]:
    """Sizes for a GPU."""
    yield Case("8192 x 4000", (draw.normal(8192, 4000),))


def stand_ins(draw: Draw) -> Iterator[Case]:
    """Small ones of several programs each, on which the CPU tier counts traffic."""
    yield Case("24 x 600", (draw.normal(24, 600),))


def cost({parameters}) -> Cost:  # type: ignore[no-untyped-def]
    raise NotImplementedError("the fewest bytes and operations of a call")


TASK = Task(
    id="{id}",
    entry="{entry}",
    signature={signature!r},
    text=TEXT,
    reference=reference,
    public=public,
    hidden=hidden,
    timed=timed,
    stand_ins=stand_ins,
    judge=Elementwise(),
    cost=cost,
)
'''

TEST = '''\
"""Whether the task in {file} says what it wants, passes its own judge, and refuses wrong answers."""

import inspect
from pathlib import Path

from tasks.calls import bound, call_reference
from tasks.catalog import load
from tasks.controls import admit
from tasks.draw import Draw
from tasks.judges import numerically_right

TASK = load(str(Path(__file__).with_name("{file}")))


def test_it_says_what_it_wants():
    assert len(TASK.text.split()) > 20


def test_the_reference_passes():
    for cases in (TASK.public, TASK.hidden, TASK.stand_ins):
        for case in cases(Draw(1)):
            assert numerically_right(TASK, case, call_reference(TASK, case)), case.label
            assert TASK.cost(*case.args, **case.kwargs).bytes_min > 0


def test_every_parameter_is_given_another_value_than_its_default():
    parameters = inspect.signature(TASK.reference).parameters
    given = [case for cases in (TASK.public, TASK.hidden) for case in cases(Draw(1))]
    for name, parameter in parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            values = [bound(TASK, case)[name] for case in given]
            assert any(value is not parameter.default and value != parameter.default for value in values), name


def test_wrong_answers_are_refused():
    assert [finding for finding in admit(TASK, seed=1) if finding.refused is False] == []
'''


def write(name: str, signature: str | None, folder: Path) -> list[Path]:
    """The files written: a task of the suite that isn't built goes to its place, which the suite's own tests watch;
    any other into `folder`, with a test. Raises UserError for a name or signature that won't do, and for a file that
    is there."""
    category, _, base = name.partition("/")
    if not (category.isidentifier() and base.isidentifier()):
        raise UserError(f"a task's id is Category/name, not {name!r}")
    known = index().get(name)
    signature = signature or (known.signature if known else f"{base}(x: torch.Tensor)")
    parameters = _parameters(signature)
    text = TASK.format(id=name, entry=signature.split("(")[0].strip(), signature=signature, parameters=parameters)
    if known:
        return [_new(HERE / f"{name}.py", text)]
    return [_new(folder / f"{base}.py", text), _new(folder / f"test_{base}.py", TEST.format(file=f"{base}.py"))]


def _parameters(signature: str) -> str:
    """The parameters of a signature without their annotations, as Python writes them. Raises UserError."""
    try:
        (function,) = ast.parse(f"def {signature}: ...").body
    except (SyntaxError, ValueError) as error:
        raise UserError(f"no signature of a function: {signature!r}") from error
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if one is not None:
            one.annotation = None
    return ast.unparse(arguments)


def _new(path: Path, text: str) -> Path:
    if path.exists():
        raise UserError(f"{path} is there already")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
