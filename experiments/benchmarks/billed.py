"""What stands for model and evaluator in `kills`: instant, fixed by what is asked, and billed outside the run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from agents.log import sha_of
from agents.protocol import Reply, Request, Usage
from evaluator.records import CaseRow, Evaluation
from tasks.catalog import oracle_path
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task

MODEL = "benchmark/billed"


@dataclass(frozen=True)
class Bill:
    """A file outside the run with a line for each reply and verdict, written before it is given."""

    path: Path

    def add(self, line: str) -> None:
        with self.path.open("a") as file:
            file.write(line + "\n")

    def lines(self) -> Counter[str]:
        return Counter(self.path.read_text().splitlines() if self.path.exists() else ())


@dataclass
class BilledModel:
    """The oracle under a comment that `story` and the request fix; every seventh reply has no code."""

    bill: Bill
    story: int
    name: str = MODEL
    simulated: bool = True

    def complete(self, request: Request) -> Reply:
        self.bill.add(f"reply {request.task} {request.lane} {request.attempt}")
        mark = sha_of(f"{self.story} {request.task} {request.lane} {request.attempt}")
        usage = Usage(int(mark[:3], 16), 0, int(mark[3:6], 16), 0, 0.25)
        if int(mark, 16) % 7 == 0:
            return Reply(f"Nothing comes to mind. {mark}", None, "stop", usage)
        source = oracle_path(request.task).read_text(encoding="utf-8")
        return Reply(f"Another attempt.\n\n```python\n# {mark}\n{source}```\n", None, "stop", usage)


@dataclass(frozen=True)
class BilledEvaluator:
    """A verdict that the source fixes: a third is correct, the others are wrong in one of three ways."""

    bill: Bill

    def evaluate(self, task: Task, source: str) -> Evaluation:
        sha = sha_of(source)
        self.bill.add(f"verdict {task.id} {sha}")
        drawn = int(sha, 16)
        if drawn % 3 == 0:
            rows = (CaseRow("one column", "hidden", True, None, 1, 1320, 1320, 0.01),)
            traffic = 1.1 + drawn % 97 / 50
            return Evaluation(
                task.id, sha, Status.CORRECT, None, None, "", compiled=True, called=True, traffic=traffic, cases=rows
            )
        said = f"{drawn % 7} of 7 elements differ in {('the last tile', 'a row', 'a column')[drawn // 3 % 3]}"
        return Evaluation(task.id, sha, Status.WRONG, Stage.COMPARE, Reason.MISMATCH, said, compiled=True, called=True)
