"""What became of imported sources, counted: by outcome, and against what their origin said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from agents.log import Event
from agents.runfolder import ImportedSource, Run, candidates_of, imported_of
from agents.verdicts import Recorded
from evaluator.records import Evaluation
from tasks.outcomes import Status

LOADS = "loads"


@dataclass(frozen=True)
class Outcome:
    """One imported source with this machine's verdict.

    `evaluation` is None where it was not judged; `stage_only` says that its task is not built, so that only the static
    checks and the load stage were gone through: then None means that it loads.
    """

    source: ImportedSource
    evaluation: Evaluation | None
    stage_only: bool

    @property
    def name(self) -> str:
        """The outcome in one or two words: a status and its reason, `loads`, or `not judged`."""
        if self.evaluation is None:
            return LOADS if self.stage_only else "not judged"
        return self.evaluation.outcome


def outcomes_of(run: Run) -> list[Outcome]:
    """Every imported source of a run, task by task, with what became of it here. Raises UserError for a damaged log."""
    found: list[Outcome] = []
    for task in run.tasks:
        events = run.events(task)
        judged = {one.index: one.evaluation for one in candidates_of(task, events)}
        loaded = {event["index"]: _load_verdict(task, event) for event in events if event["type"] == "load"}
        for source in imported_of(task, events):
            stage_only = source.index not in judged and source.index in loaded
            evaluation = judged.get(source.index) or loaded.get(source.index)
            found.append(Outcome(source, evaluation, stage_only))
    return found


def _load_verdict(task: str, event: Event) -> Evaluation | None:
    said = event["evaluation"]
    return Evaluation.from_json({**said, "task": task, "source_sha": ""}) if said else None


def counts_of(outcomes: list[Outcome]) -> tuple[Counter[str], Counter[str]]:
    """How often each outcome came: of sources that were evaluated, and of those that only went through loading."""
    evaluated = Counter(one.name for one in outcomes if not one.stage_only)
    return evaluated, Counter(one.name for one in outcomes if one.stage_only)


@dataclass(frozen=True)
class Disagreement:
    """A source that its origin judged otherwise."""

    source: ImportedSource
    theirs: str
    ours: str


def compared(outcomes: list[Outcome]) -> tuple[Counter[tuple[str, str]], list[Disagreement]]:
    """Pairs of (the origin's verdict, ours) with how often they came, and the sources where the two differ.

    Only sources that were evaluated here, and of which the origin said something. An origin knows `correct`, `wrong`
    (it returned, and its outputs were not right) and `failed`; a refusal of ours for how right values came about is
    `right, refused`.
    """
    pairs: Counter[tuple[str, str]] = Counter()
    differing: list[Disagreement] = []
    for one in outcomes:
        if one.evaluation is None or one.stage_only or one.source.recorded is None:
            continue
        theirs, ours = _theirs(one.source.recorded), _ours(one.evaluation)
        pairs[theirs, ours] += 1
        if theirs != ours:
            differing.append(Disagreement(one.source, theirs, one.name))
    return pairs, differing


def _theirs(recorded: Recorded) -> str:
    return "correct" if recorded.correct else "wrong" if recorded.called else "failed"


def _ours(evaluation: Evaluation) -> str:
    if evaluation.correct:
        return "correct"
    if evaluation.status is Status.INFRA_ERROR:
        return "not judged"
    if evaluation.status is Status.REJECTED and evaluation.numerically_right:
        return "right, refused"
    return "wrong" if evaluation.called else "failed"
