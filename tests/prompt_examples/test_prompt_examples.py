"""The examples that models are shown are right: the evaluator judges each by a small task file of the same name."""

from pathlib import Path

import pytest

from evaluator.judge import Evaluator
from prompts.loader import HERE, Templates
from tasks.catalog import load

TASKS = Path(__file__).parent
EXAMPLES = sorted((HERE / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_correct(evaluator: Evaluator, path: Path) -> None:
    evaluation = evaluator.evaluate(load(str(TASKS / path.name)), path.read_text())
    assert evaluation.correct, evaluation.diagnosis


def test_every_example_is_shown_and_solves_no_task_of_the_suite() -> None:
    from tasks.catalog import index

    shown = Templates().render("_examples.j2")
    assert len(EXAMPLES) >= 3
    for path in EXAMPLES:
        assert path.read_text() in shown
        assert not {f"def {row.entry}(" for row in index().values()} & {
            line.partition("(")[0] + "(" for line in path.read_text().split("\n")
        }
