"""`python -m agents.run`: the main job. Everything is checked before anything is spent."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.config import RunConfig
from agents.flags import given, make_parser, resettled, resolve
from agents.limits_flags import NAMES as LIMITS
from agents.platform_note import gpu_note, platform_note
from tasks.errors import UserError

if TYPE_CHECKING:
    from agents.loop import RunEnd
    from agents.models.prices import Price
    from agents.protocol import Method, Model
    from agents.runfolder import Run
    from prompts.loader import Templates
    from tasks.task import Task

EXIT_DONE, EXIT_ERROR, EXIT_USER, EXIT_INTERRUPTED = 0, 1, 2, 130
BESIDE_RESUME = ("resume", "workers", "retry_errors", *LIMITS)

COUNTED = (
    "Counted by sending the method through every task twice, with replies as long as allowed: all kernels wrong, all\n"
    "correct; the larger sum counts, and a byte counts as a token. A real run mostly takes far less."
)


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
    def price(self) -> Price | None:
        """What the model's tokens cost; None where that is not known, or nothing is asked of a provider."""
        from agents.models.prices import price_of

        return None if self.model.simulated else price_of(self.config.model, self.config.base_url, self.config.price)

    @property
    def _cost_note(self) -> str:
        budgets = ", ".join(f"{name.replace('_', '-')} {value:g}" for name, value in self.config.budgets.items())
        price = f"price {self.price}" if self.price else "price unknown: costs show as ?"
        return f"{price} · budget: {budgets or 'none'}"

    @property
    def notes(self) -> list[str]:
        """What the user should know besides what was asked for."""
        notes = [self._cost_note] if not self.model.simulated else []
        if self.rounds != self.config.rounds:
            notes.append(f"{self.method.name} has {self.rounds} round(s) at most; {self.config.rounds} were asked for")
        if self.model.simulated:
            from agents.models.mutants import knows

            strange = [task.id for task in self.tasks if not knows(task.id)]
            if strange:
                notes.append(f"the simulation knows the suite's tasks only: nothing but prose for {', '.join(strange)}")
        return notes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it. Exit codes: 0 every task is done, 1 some are not (the machine or a provider failed, or a budget ended),
    2 a user's mistake, 130 interrupted."""
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
        return _resume(args.resume, given(args))
    config, folder = resolve(args)
    if args.dry_run:
        return _show(plan_of(config), folder)
    return _start(config, folder)


def plan_of(config: RunConfig) -> Plan:
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
    plan = Plan(config, method, model, templates, tasks, min(config.rounds, most or config.rounds))
    if config.max_usd is not None and plan.price is None and not model.simulated:
        raise UserError(f"--max-usd needs to know what {config.model} costs: add --price IN,OUT (dollars per million)")
    return plan


def _check_ids(tasks: Sequence[Task]) -> None:
    """Raises UserError for an id that can't name a log, or that two tasks share."""
    from agents.newrun import TASK_ID

    ids = [task.id for task in tasks]
    for name in ids:
        if not TASK_ID.fullmatch(name):
            raise UserError(f"task id {name!r} can't name a log file; use letters, digits, _ . - and one / or more")
        if ids.count(name) > 1:
            raise UserError(f"two tasks have the id {name}; give the one in your own file another")


def _show(plan: Plan, folder: Path | None) -> int:
    """The dry run: what would be done, counted; the first prompts, in a folder."""
    from agents.newrun import dry_folder
    from agents.rehearsal import rehearse, write_prompt

    config, totals = plan.config, [0, 0, 0]
    prompts = dry_folder(folder, config, plan.method.name)
    for task in plan.tasks:
        found = rehearse(task, plan.method, plan.templates, rounds=plan.rounds, seed=config.seed, params=config.params)
        write_prompt(prompts, task.id, found.first)
        totals = [total + more for total, more in zip(totals, found.counts, strict=True)]
    for name, value in config.to_json().items():
        if value not in (None, {}, ()):
            print(f"{name:19} {', '.join(map(str, value)) if isinstance(value, (list, tuple)) else value}")
    for note in plan.notes:
        print(note)
    requests, read, written = totals
    cost = f"${plan.price.most(read, written):.2f}" if plan.price else "?"
    print(f"{'first prompts':19} {prompts}")
    print(f"{'requests':19} at most {requests:,} in all, {requests / len(plan.tasks):g} a task")
    print(f"{'tokens':19} at most {read:,} in, {written:,} out")
    print(f"{'cost':19} at most {cost}")
    print(COUNTED)
    return EXIT_DONE


def _start(config: RunConfig, folder: Path | None) -> int:
    from agents.newrun import create_run, held

    secret = secrets.token_bytes(32)
    if sys.stdout.isatty():  # torch takes seconds, here and in the evaluator's own process
        print("loading torch and starting the evaluator ...", flush=True)
    with evaluator_of(config, secret) as evaluator:
        plan = plan_of(config)  # while the evaluator's own process starts
        run = create_run(
            folder,
            config,
            [task.id for task in plan.tasks],
            secret=secret,
            method=plan.method.name,
            rounds=plan.rounds,
            simulated=plan.model.simulated,
            **circumstances(plan, evaluator),
        )
        with held(run):
            return _drive(run, plan, evaluator)


def _resume(name: str, flags: Mapping[str, Any]) -> int:
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
    config = resettled(run.config, flags)
    plan = plan_of(config)
    if "retry_errors" in flags:
        plan = replace(plan, tasks=tuple(task for task in plan.tasks if run.machine_failed(task.id)))
        if not plan.tasks:
            print(f"no task of {path} was failed by the machine or the provider")
            return EXIT_DONE
    with held(run), evaluator_of(config, run.secret) as evaluator:
        now = circumstances(plan, evaluator)
        changed = {name: value for name, value in now.items() if value != run.record.get(name)}
        resumed = [*run.record.get("resumed", []), {"at": timestamp(), "changed": changed}]
        run = amend(run, state="running", config=config.to_json(), resumed=resumed)
        return _drive(run, plan, evaluator)


def circumstances(plan: Plan, evaluator: Any) -> dict[str, Any]:
    from agents.provenance import provenance

    return {**provenance(), "evaluator": evaluator.describe(), "prompts": plan.templates.hashes()}


def evaluator_of(config: RunConfig, secret: bytes) -> Any:
    note = platform_note()
    if note:
        raise UserError(note)
    from evaluator.judge import Evaluator

    # more than one candidate a CPU only makes deadlines tighter
    workers = min(config.workers, os.cpu_count() or 1)
    return Evaluator(
        device=config.device,
        targets=config.targets,
        baselines=config.baselines,
        workers=workers,
        secret=secret,
        diagnosis_chars=config.diagnosis_chars,
    )


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
