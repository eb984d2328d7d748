"""One evaluator for a whole test process: starting the warm program is what costs."""

from collections.abc import Iterator

import pytest

from evaluator.judge import Evaluator


@pytest.fixture(scope="session")
def evaluator() -> Iterator[Evaluator]:
    """A CPU-tier evaluator with one worker and fixed hidden cases."""
    with Evaluator(device="cpu", targets=("sm90",), workers=1, secret=b"a secret that tests may fix") as one:
        yield one
