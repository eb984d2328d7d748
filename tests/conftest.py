"""What many tests share: one evaluator for a whole process, since starting it is what costs, and hidden tasks."""

import os
from collections.abc import Callable, Iterator

import pytest

from evaluator.judge import Evaluator
from tasks.catalog import Row


def pytest_configure(config: pytest.Config) -> None:
    """Only the tests for a GPU see one: the others ask for what a machine without gives."""
    if "gpu" not in str(config.getoption("markexpr", "")):
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


@pytest.fixture(scope="session")
def evaluator() -> Iterator[Evaluator]:
    """A CPU-tier evaluator with one worker and fixed hidden cases."""
    with Evaluator(device="cpu", targets=("sm90",), workers=1, secret=b"a secret that tests may fix") as one:
        yield one


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes tasks of the suite, by id, such as are not built, until the test ends; the last call counts."""
    there = Row.built.fget
    assert there

    def hidden(*names: str) -> None:
        monkeypatch.setattr(Row, "built", property(lambda row: row.id not in names and there(row)))

    return hidden
