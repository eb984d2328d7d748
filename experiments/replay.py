"""The replay of a recorded run, told in lines: the method as it was, or another one over the same answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agents.report_table import many
from agents.runfolder import Run
from tasks.errors import UserError

if TYPE_CHECKING:
    from agents.replay import Replayed
    from agents.rerun import Rerun

MOST_SHOWN = 5


def replay(
    run: Run,
    *,
    method: str | None = None,
    method_options: Mapping[str, Any] | None = None,
    prompts: str | None = None,
    until: int | None = None,
) -> int:
    """Prints whether the method reproduces its log, task by task. Returns 0 if it does for every event, else 1.

    With a method, options or a folder of prompts other than the run's: prints how far these get on the recorded
    answers. Options without a method are those of the run's method, beside what the run set. Returns 1 only where the
    method itself fails. `until` takes rounds 1 to that one. Raises UserError, also for a damaged log.
    """
    if run.imported:
        raise UserError(
            f"{run.path} holds imported kernels, so there is no method to replay; "
            "judge them again by --re-evaluate, or read them by --task ID"
        )
    changed = method is not None or bool(method_options) or prompts is not None
    check_until(until, run.config.rounds if changed else run.rounds)
    if changed:
        return tell_rerun(run, _rerun(run, method, method_options or {}, prompts, until))
    from agents.replay import replay_run

    replayed = replay_run(run, until)
    code = tell_replay(replayed)
    _tell_left_out(run, [one.task for one in replayed])
    return code


def check_until(until: int | None, rounds: int) -> None:
    """Raises UserError for a last round that a run of `rounds` does not have."""
    if until is not None and not 1 <= until <= rounds:
        raise UserError(f"--until counts rounds from 1, and the run has {rounds}; there is no round {until}")


def tell_replay(replayed: Sequence[Replayed]) -> int:
    """Prints what replays found. Returns the exit code of `replay`."""
    for one in replayed:
        extent = "" if one.complete else ", as far as the unfinished log goes"
        verdict = f"DIVERGES in {many(len(one.divergences), 'place')}" if one.divergences else "reproduced"
        print(f"{one.task}: {verdict}, {many(one.events, 'event')} the same{extent}")
        for divergence in one.divergences[:MOST_SHOWN]:
            print(f"    {divergence}")
            _print_diff(divergence.diff)
    same = not any(one.divergences for one in replayed)
    events = sum(one.events for one in replayed)
    print(
        f"{many(len(replayed), 'task')}, {many(events, 'event')}: "
        + ("the log is reproduced event for event, with no live call" if same else "the replay differs from the log")
    )
    return 0 if same else 1


def tell_rerun(run: Run, reruns: Sequence[Rerun]) -> int:
    """Prints how far reruns got; the prompts are shown side by side for the first task that has both. Returns the exit
    code of `replay`."""
    if run.simulation_notice:
        print(run.simulation_notice)
    for one in reruns:
        ended = "followed to its end" if one.end.state == "done" else f"{one.end.state}: {one.end.reason}"
        print(f"{one.task}: {_shares([one])}; {ended}; best: {_best_text(one)}")
    shown = next((one for one in reruns if one.diff), None)
    if shown:
        print(f"\n{shown.task}, the first request without a recorded reply:")
        _print_diff(shown.diff)
        print()
    states = Counter(one.end.state for one in reruns)
    best = Counter(str(one.best.evaluation.status) if one.best else "nothing judged" for one in reruns)
    ends = f"{states['done']} followed to the end, {states['stopped']} stopped, {states['error']} failed"
    print(f"{many(len(reruns), 'task')}: {_shares(reruns)}; {ends}")
    print(f"best of what could be followed: {', '.join(f'{count} {status}' for status, count in best.most_common())}")
    _tell_left_out(run, [one.task for one in reruns])
    print("nothing live was called: every reply and verdict is the log's")
    return 1 if states["error"] else 0


def _rerun(
    run: Run, method: str | None, options: Mapping[str, Any], prompts: str | None, until: int | None
) -> list[Rerun]:
    from agents.registry import load_method
    from agents.replay import begun
    from agents.rerun import rerun_task
    from agents.templates import load_templates

    mine = options if method else {**run.config.method_options, **options}
    chosen = load_method(method or run.config.method, mine)
    templates = load_templates(prompts or run.config.prompts)
    return [rerun_task(run, task, chosen, templates, until) for task in begun(run)]


def _shares(reruns: Sequence[Rerun]) -> str:
    requests, matched = sum(one.requests for one in reruns), sum(one.matched for one in reruns)
    sources, judged = sum(one.sources for one in reruns), sum(one.judged for one in reruns)
    replies = f"{matched} of {many(requests, 'request')} with a recorded reply"
    return f"{replies}, {judged} of {many(sources, 'source')} with a recorded verdict"


def _tell_left_out(run: Run, begun: Sequence[str]) -> None:
    """Says what was not gone through: the unfinished last line of a log, and tasks without a log."""
    for task in begun:
        torn = len(run.log_path(task).read_bytes().rpartition(b"\n")[2])
        if torn:
            print(f"{task}: the log's unfinished last line, {many(torn, 'byte')}, was left out")
    waiting = [task for task in run.tasks if task not in begun]
    if waiting:
        print(f"not begun, so not replayed: {', '.join(waiting)}")


def _best_text(one: Rerun) -> str:
    if one.best is None:
        return "nothing judged"
    verdict = one.best.evaluation
    reason = f": {verdict.reason}" if verdict.reason else ""
    traffic = f", traffic {verdict.traffic:.2f}x" if verdict.correct and verdict.traffic is not None else ""
    return f"{verdict.status}{reason}{traffic}, round {one.best.round}"


def _print_diff(diff: str) -> None:
    for line in diff.splitlines():
        print(f"        {line}")
