"""`python -m agents.run`: the main job. Everything is checked before anything is spent."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.config import RunConfig
from agents.flags import given, make_parser, resolve
from agents.platform_note import gpu_note, platform_note
from tasks.errors import UserError

if TYPE_CHECKING:
    from agents.loop import RunEnd
    from agents.protocol import Method, Model
    from agents.runfolder import Run
    from prompts.loader import Templates
    from tasks.task import Task

EXIT_DONE, EXIT_ERROR, EXIT_USER, EXIT_INTERRUPTED = 0, 1, 2, 130
BESIDE_RESUME = ("resume", "workers", "retry_errors")


@dataclass(frozen=True)
class Plan:
    """Checked settings with what they stand for; `rounds` is what the method really goes through."""

    config: RunConfig
    method: Method
    model: Model
    templates: Templates
    tasks: tuple[Task, ...]
    rounds: int

    @property
    def notes(self) -> list[str]:
        """What the user should know besides what was asked for."""
        notes = []
        if self.rounds != self.config.rounds:
            notes.append(f"{self.method.name} has {self.rounds} round(s) at most; {self.config.rounds} were asked for")
        if self.model.simulated:
            from agents.models.mutants import knows

            strange = [task.id for task in self.tasks if not knows(task.id)]
            if strange:
                notes.append(f"the simulation knows the suite's tasks only: nothing but prose for {', '.join(strange)}")
        return notes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it. Exit codes: 0 every task is done, 1 the machine or a provider failed some, 2 a user's mistake,
    130 interrupted."""
    try:
        return _main(arguments)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USER
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _main(arguments: Sequence[str] | None) -> int:
    args = make_parser().parse(arguments)
    if args.resume is not None:
        extra = sorted(set(given(args)) - set(BESIDE_RESUME))
        if extra:
            raise UserError(f"--{extra[0].replace('_', '-')} can't be changed by --resume, which takes it from the run")
        return _resume(args.resume, args.workers, only_errors=bool(args.retry_errors))
    config, folder = resolve(args)
    if args.dry_run:
        return _show(_plan(config))
    return _start(config, folder)


def _plan(config: RunConfig) -> Plan:
    """Everything that a run needs, found and checked. Imports the tasks, and so torch."""
    from agents.models import load_model
    from agents.registry import load_method
    from agents.templates import load_templates
    from tasks.catalog import load

    method = load_method(config.method, config.method_options)
    model = load_model(config.model, seed=config.seed, base_url=config.base_url)
    templates = load_templates(config.prompts)
    tasks = tuple(load(name) for name in config.tasks)
    _check_ids(tasks)
    most: int | None = getattr(method, "max_rounds", None)
    return Plan(config, method, model, templates, tasks, min(config.rounds, most or config.rounds))


def _check_ids(tasks: Sequence[Task]) -> None:
    """Raises UserError for an id that can't name a log, or that two tasks share."""
    from agents.newrun import TASK_ID

    ids = [task.id for task in tasks]
    for name in ids:
        if not TASK_ID.fullmatch(name):
            raise UserError(f"task id {name!r} can't name a log file; use letters, digits, _ . - and one / or more")
        if ids.count(name) > 1:
            raise UserError(f"two tasks have the id {name}; give the one in your own file another")


def _show(plan: Plan) -> int:
    """The dry run: what would be done, and the first prompt."""
    from agents.rehearsal import rehearse

    for name, value in plan.config.to_json().items():
        print(f"{name:15} {', '.join(value) if isinstance(value, (list, tuple)) else value}")
    for note in plan.notes:
        print(note)
    task = plan.tasks[0]
    found = rehearse(task, plan.method, plan.templates, rounds=plan.rounds, seed=plan.config.seed)
    total = found.requests * len(plan.tasks)
    print(f"{'requests':15} {found.requests} a task, {total} in all, when every attempt fails (asked of nobody now)")
    print(f"\nthe first prompt, for {task.id}:\n")
    for message in found.first:
        print(f"[{message.role}]\n{message.content}")
    return EXIT_DONE


def _start(config: RunConfig, folder: Path | None) -> int:
    from agents.newrun import create_run, held

    plan = _plan(config)
    secret = secrets.token_bytes(32)
    with _evaluator(config, secret) as evaluator:
        run = create_run(
            folder,
            config,
            [task.id for task in plan.tasks],
            secret=secret,
            method=plan.method.name,
            rounds=plan.rounds,
            simulated=plan.model.simulated,
            **_circumstances(plan, evaluator),
        )
        with held(run):
            return _drive(run, plan, evaluator)


def _resume(name: str, workers: int | None, *, only_errors: bool) -> int:
    from agents.newrun import amend, find_run, held, timestamp

    run = find_run(name)
    path = run.path
    if run.imported:
        raise UserError(
            f"{path} was imported: no method to go on with; judge it with: python -m experiments score {path}"
        )
    states = {task: run.state(task) for task in run.tasks}  # a damaged log is told before anything is started
    if set(states.values()) == {"done"} and run.record["state"] == "done":
        print(f"every task of {path} is done: python -m experiments table {path}")
        return EXIT_DONE
    config = run.config if workers is None else replace(run.config, workers=workers)
    plan = _plan(config)
    if only_errors:
        plan = replace(plan, tasks=tuple(task for task in plan.tasks if run.machine_failed(task.id)))
        if not plan.tasks:
            print(f"no task of {path} was failed by the machine or the provider")
            return EXIT_DONE
    with held(run), _evaluator(config, run.secret) as evaluator:
        now = _circumstances(plan, evaluator)
        changed = {name: value for name, value in now.items() if value != run.record.get(name)}
        resumed = [*run.record.get("resumed", []), {"at": timestamp(), "changed": changed}]
        run = amend(run, state="running", config=config.to_json(), resumed=resumed)
        return _drive(run, plan, evaluator)


def _circumstances(plan: Plan, evaluator: Any) -> dict[str, Any]:
    from agents.provenance import provenance

    return {**provenance(), "evaluator": evaluator.describe(), "prompts": plan.templates.hashes()}


def _evaluator(config: RunConfig, secret: bytes) -> Any:
    note = platform_note()
    if note:
        raise UserError(note)
    from evaluator.judge import Evaluator

    # more than one candidate a CPU only makes deadlines tighter
    workers = min(config.workers, os.cpu_count() or 1)
    return Evaluator(device=config.device, targets=config.targets, workers=workers, secret=secret)


def _drive(run: Run, plan: Plan, evaluator: Any) -> int:
    """The loop, with the screen around it and the end recorded."""
    from rich.console import Console

    from agents.loop import Parts, run_tasks
    from agents.newrun import finish
    from agents.screen import Screen

    # a scheduler's SIGTERM stops a run as Ctrl-C does
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    described = evaluator.describe()
    screen = Screen(run, Console())
    note = gpu_note(str(described.get("device", "")))
    screen.banner(described, [*plan.notes, *([note] if note else [])])
    try:
        with screen:
            parts = Parts(plan.method, plan.model, evaluator, plan.templates)
            end = run_tasks(run, plan.tasks, parts, screen.observe, screen.stopping)
    except KeyboardInterrupt:
        screen.how_to_resume()
        sys.stdout.flush()
        os._exit(EXIT_INTERRUPTED)  # threads that wait for a reply would keep the process alive
    finally:
        signal.signal(signal.SIGTERM, before)
    others = set(run.tasks) - {task.id for task in plan.tasks}  # with --retry-errors
    left = any(run.state(task) != "done" for task in others)
    finish(run, "stopped" if left and end.state == "done" else end.state)
    screen.final(end)
    return _exit_code(end)


def _exit_code(end: RunEnd) -> int:
    if end.state == "done":
        return EXIT_DONE
    return EXIT_INTERRUPTED if end.interrupted else EXIT_ERROR


if __name__ == "__main__":
    sys.exit(main())
