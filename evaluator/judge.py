"""`Evaluator.evaluate(task, source)`: in process for its caller, never for the candidate."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from evaluator.cases import Drawn, cases_of, hands_of
from evaluator.conversation import Setting, Transcript, converse_all
from evaluator.diagnosis import diagnose, diagnose_load, diagnose_static
from evaluator.diagnosis_parts import CHARACTERS_MAX
from evaluator.gpu_tier import GpuTier, OnGpu, Stop
from evaluator.gpu_timing import Timed
from evaluator.layers import Layer
from evaluator.limits import Limits
from evaluator.pool import Child, Pool, WarmDied, WarmProcess
from evaluator.records import Evaluation
from evaluator.second_look import Look
from evaluator.seeds import hidden_seed, source_sha
from evaluator.settings import BASELINES, baselines_named, usable_device
from evaluator.static import StaticFinding, inspect_source
from evaluator.targets import targets_named
from evaluator.verdict import Verdict, judge, load_failure
from tasks.errors import UserError
from tasks.judges import Truth
from tasks.outcomes import Reason, Stage, Status
from tasks.task import Task

# more would compile the same specialisations again and again
CHILDREN_MAX = 4
CHARACTERS_LEAST = 200
BESIDE_MAX = 256  # waiting for their turn on the GPU, or for their end there


@dataclass(frozen=True)
class Judged:
    """A candidate with its cases; `truths` by index of the case, each computed once for all who judge."""

    task: Task
    source: str
    sha: str
    seed: int
    drawn: Sequence[Drawn]
    truths: dict[int, Truth] = field(default_factory=dict)


class Evaluator:
    """Judges candidates: compiled for each of `targets` and interpreted, and on the GPU tier run there besides, at the
    timed sizes too. Threads may share it.

    `workers` children run at once (default: one a core), each forked for one candidate alone; while some are idle, a
    candidate's cases are dealt out to several. `secret` seeds the hidden cases (default: drawn anew). `without` takes
    layers of defence away, to test the others; every evaluation's assurance says so. `baselines` are those of
    `BASELINES` that a correct kernel is timed beside on a GPU. Raises UserError for an unknown device, target or
    baseline. Close it, or use it as a context manager.
    """

    def __init__(
        self,
        device: str = "auto",
        targets: Sequence[str] = ("sm90",),
        workers: int | None = None,
        secret: bytes | None = None,
        limits: Limits | None = None,
        without: Collection[Layer] = (),
        diagnosis_chars: int = CHARACTERS_MAX,
        timing: bool = True,
        baselines: Sequence[str] = BASELINES[:2],
    ) -> None:
        if diagnosis_chars < CHARACTERS_LEAST:
            raise UserError(f"a diagnosis needs at least {CHARACTERS_LEAST} characters, not {diagnosis_chars}")
        self.diagnosis_chars = diagnosis_chars
        self.device = usable_device(device)
        self.targets = targets_named(targets)
        self.limits = limits or Limits()
        self.without = frozenset(without)
        self._secret = secret or secrets.token_bytes(32)
        self._setting = Setting(poison=None) if Layer.POISON in self.without else Setting()
        self._judged: dict[tuple[str, str], Evaluation] = {}
        self._pool = Pool(workers or os.cpu_count() or 1, self.targets, self.limits)
        self.timing = timing
        on_gpu = self.device == "cuda"
        beside = baselines_named(baselines) if timing else ()
        self._beside = ThreadPoolExecutor(BESIDE_MAX)
        self._gpu = GpuTier(self.targets, self.limits, self._secret, self.without, beside) if on_gpu else None

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the warm processes."""
        self._beside.shutdown()
        self._pool.close()
        if self._gpu:
            self._gpu.close()

    def describe(self) -> dict[str, Any]:
        """Device, targets, fences and versions, as JSON values for a run's record."""
        from importlib.metadata import version

        return {
            "device": self.device,
            "targets": [target.name for target in self.targets],
            "assurance": list(self._pool.fences()),
            "torch": version("torch"),
            "triton": version("triton"),
        }

    def evaluate(self, task: Task, source: str) -> Evaluation:
        """The verdict on one source. A candidate's failure is a status; INFRA_ERROR is this machine's failure.

        A source that this evaluator has judged before would meet the same cases again: it gets the same record.
        What a task's own file raises (a reference that fails on its own case) comes out: a bug, not an outcome.
        """
        sha = source_sha(source)
        known = self._judged.get((task.id, sha))
        if known is not None:
            return known
        evaluation = self._evaluate(task, source, sha)
        if evaluation.status not in (Status.INFRA_ERROR, Status.TIMEOUT):
            self._judged[task.id, sha] = evaluation
        return evaluation

    def loads(self, task: str, entries: Sequence[str], source: str) -> Evaluation | None:
        """Only the static checks and the load stage, for a task that is known by name: None when the module loads and
        defines one of `entries`, else the verdict."""
        start, sha = time.perf_counter(), source_sha(source)
        finding = self._static(source, entries)
        if finding.reason is not None:
            return self._refused(task, sha, finding, source, start)
        try:
            with self._pool.children(most=1) as children:
                fences = self._fences(children)
                transcripts = converse_all(children, source, entries, [[]], self.limits, self._setting)
        except WarmDied as error:
            return _infra(task, sha, str(error), time.perf_counter() - start)
        failure = load_failure(transcripts[0])
        if failure is None:
            return None
        return Evaluation(
            task,
            sha,
            failure.status,
            failure.stage,
            failure.reason,
            diagnose_load(entries[0], failure, source, self.diagnosis_chars),
            assurance=fences,
            total_s=time.perf_counter() - start,
        )

    def _fences(self, children: Sequence[Child]) -> tuple[str, ...]:
        return (*children[0].warm.ready(), *(f"without {layer}" for layer in sorted(self.without)))

    def _on_both(self, gpu: GpuTier, judged: Judged, start: float) -> Evaluation:
        """Interpreted and on the GPU at once: what the interpreter refuses is refused, and ends the GPU's part; the GPU
        decides the rest. A kernel that the interpreter can't run, or not in time, is judged by the GPU alone.
        """
        stop = Stop()
        on_gpu = self._beside.submit(gpu.judged, judged.task, judged.source, judged.drawn, judged.truths, stop)
        refused = True
        try:
            interpreted = self._interpreted(judged, start)
            refused = not (interpreted.correct or _undecided(interpreted))
        finally:
            if refused:
                stop()  # and it isn't waited for: a process that has started CUDA takes a while to end
        if refused:
            return replace(interpreted, device="cuda")
        try:
            seen = on_gpu.result()
            assert seen is not None
            if seen.verdict.failure is None and _undecided(interpreted):
                verdict = gpu.looked(judged.task, judged.source, judged.drawn, seen, judged.seed)
                seen = replace(seen, verdict=verdict)
            evaluation = self._joined(judged, interpreted, seen)
            if evaluation.correct and self.timing:
                evaluation = self._with_times(judged, evaluation, seen, gpu.timed(judged.task, judged.source))
        except WarmDied as error:
            return _infra(judged.task.id, judged.sha, str(error), time.perf_counter() - start)
        return replace(evaluation, total_s=time.perf_counter() - start)

    def _with_times(self, judged: Judged, evaluation: Evaluation, seen: OnGpu, timed: Timed) -> Evaluation:
        """A candidate that fails at a timed size is not correct; a time that can't be true gives no speedup."""
        failure, timing = timed.failure, timed.timing
        if failure is None:
            invalid = timing.failure
            warnings = (f"no speedup: {invalid.label}: {invalid.message}",) if invalid else ()
            warnings = (*evaluation.warnings, *warnings)
            return replace(evaluation, timing=timing, speedup=timing.speedup, warnings=warnings)
        verdict = replace(seen.verdict, failure=failure)
        return replace(
            evaluation,
            status=failure.status,
            stage=failure.stage,
            reason=failure.reason,
            diagnosis=diagnose(judged.task, verdict, judged.source, self.diagnosis_chars),
            numerically_right=False if failure.mismatch else None,
            timing=timing,
        )

    def _joined(self, judged: Judged, interpreted: Evaluation, seen: OnGpu) -> Evaluation:
        """What the GPU says, with what only the interpreter knows."""
        both = interpreted.correct and seen.verdict.failure is None
        told = interpreted.diagnosis
        if not both:
            told = diagnose(judged.task, seen.verdict, judged.source, self.diagnosis_chars)
        evaluation = _evaluation(judged.task, interpreted.source_sha, seen.verdict, told, seen.fences)
        return replace(
            evaluation,
            device="cuda",
            traffic=interpreted.traffic,
            targets=interpreted.targets,
            builds=evaluation.builds or interpreted.builds,
            torch_ops={**interpreted.torch_ops, **evaluation.torch_ops},
            warnings=(*interpreted.warnings, *evaluation.warnings),
        )

    def _evaluate(self, task: Task, source: str, sha: str) -> Evaluation:
        start = time.perf_counter()
        finding = self._static(source, task.entries)
        if finding.reason is not None:
            return self._refused(task.id, sha, finding, source, start)
        seed = hidden_seed(self._secret, task.id, sha)
        drawn = cases_of(task, seed, hidden=Layer.HIDDEN not in self.without, again=Layer.AGAIN not in self.without)
        judged = Judged(task, source, sha, seed, drawn)
        evaluation = self._on_both(self._gpu, judged, start) if self._gpu else self._interpreted(judged, start)
        return replace(evaluation, warnings=(*finding.warnings, *evaluation.warnings))

    def _interpreted(self, judged: Judged, start: float) -> Evaluation:
        """Compiled for the targets, and interpreted."""
        task, source, drawn = judged.task, judged.source, judged.drawn
        try:
            with self._pool.children(most=CHILDREN_MAX) as children:
                fences = self._fences(children)
                hands = hands_of(drawn, len(children))
                transcripts = converse_all(children, source, task.entries, hands, self.limits, self._setting)
                verdict = judge(task, drawn, transcripts, self.without, judged.truths)
                if verdict.failure is None:
                    verdict = self._second_look(judged, transcripts, verdict, children[0].warm)
        except WarmDied as error:
            return _infra(task.id, judged.sha, str(error), time.perf_counter() - start)
        told = diagnose(task, verdict, source, self.diagnosis_chars)
        evaluation = _evaluation(task, judged.sha, verdict, told, fences)
        return replace(evaluation, total_s=time.perf_counter() - start)

    def _second_look(
        self, judged: Judged, transcripts: Sequence[Transcript], verdict: Verdict, warm: WarmProcess
    ) -> Verdict:
        """The verdict on a candidate that passed so far, after its second look. Raises WarmDied."""
        answers = {index: answer for transcript in transcripts for index, answer in transcript.calls.items()}
        looked = Look(
            warm, judged.task, judged.source, judged.drawn, answers, judged.seed, self.limits, self.without
        ).take()
        return replace(verdict, failure=looked.failure, warnings=(*verdict.warnings, *looked.warnings))

    def _refused(self, task: str, sha: str, finding: StaticFinding, source: str, start: float) -> Evaluation:
        status = Status.COMPILE_ERROR if finding.reason is Reason.SYNTAX_ERROR else Status.REJECTED
        text = diagnose_static(finding, source, self.diagnosis_chars)
        total_s = time.perf_counter() - start
        return Evaluation(
            task, sha, status, Stage.STATIC, finding.reason, text, warnings=finding.warnings, total_s=total_s
        )

    def _static(self, source: str, entries: Sequence[str]) -> StaticFinding:
        if not source.strip():
            return StaticFinding(Reason.NO_CODE, "there is no code", None)
        if len(source.encode("utf-8", "surrogatepass")) > self.limits.source_bytes_max:
            return StaticFinding(Reason.ESCAPE, f"the source is over {self.limits.source_bytes_max} bytes", None)
        finding = inspect_source(source, entries)
        if finding.reason is Reason.ESCAPE and Layer.STATIC in self.without:
            return StaticFinding(None, "", None, (*finding.warnings, finding.message))
        return finding


def _undecided(interpreted: Evaluation) -> bool:
    """The interpreter can't run it, or not in time, though it compiles."""
    return interpreted.reason in (Reason.NOT_INTERPRETABLE, Reason.DEADLINE) and interpreted.compiled


def _infra(task: str, sha: str, message: str, total_s: float) -> Evaluation:
    return Evaluation(task, sha, Status.INFRA_ERROR, None, Reason.INFRASTRUCTURE, message[-2000:], total_s=total_s)


def _evaluation(task: Task, sha: str, verdict: Verdict, diagnosis: str, fences: tuple[str, ...]) -> Evaluation:
    failure = verdict.failure
    return Evaluation(
        task=task.id,
        source_sha=sha,
        status=failure.status if failure else Status.CORRECT,
        stage=failure.stage if failure else None,
        reason=failure.reason if failure else None,
        diagnosis=diagnosis,
        compiled=verdict.compiled,
        called=verdict.called,
        numerically_right=verdict.numerically_right,
        traffic=verdict.traffic,
        cases=verdict.rows,
        builds=verdict.builds,
        targets=verdict.targets,
        torch_ops=verdict.torch_ops,
        patterns=tuple(str(pattern.name) for pattern in failure.patterns) if failure else (),
        warnings=verdict.warnings,
        assurance=fences,
        compile_s=verdict.compile_s,
        run_s=verdict.run_s,
    )
