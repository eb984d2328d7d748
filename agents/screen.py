"""What a run shows: a banner, the rounds as they come in, and the account at the end."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agents import ranking
from agents.accounts import LoggedVerdict, account_of
from agents.budgets import is_budget
from agents.log import Event
from agents.loop import RunEnd
from agents.report_table import print_account
from agents.runfolder import Run
from agents.tracker import RoundAccount, State, account
from agents.verdicts import verdict_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

CHANGES = (State.RESCUED, State.PERSISTENT, State.REGRESSED, State.FAILING)


class Screen:
    """Shows a run while it goes on. `observe` may be called from several threads.

    On a terminal the table of rounds is drawn anew every second; elsewhere a round is one line, when all tasks are
    through it.
    """

    def __init__(self, run: Run, console: Console) -> None:
        self._run = run
        self._console = console
        self._lock = threading.Lock()
        self._seen: dict[str, list[LoggedVerdict]] = {task: [] for task in run.tasks}
        self._ended: dict[str, str] = {}
        self._round_of = dict.fromkeys(run.tasks, 0)
        self._told = 0
        self._live: Live | None = None
        for task in run.tasks:
            for event in run.events(task):
                self._take(task, event)
        self._ended = {task: state for task, state in self._ended.items() if state == "done"}
        self._told = self._rounds_through()

    def banner(self, evaluator: Mapping[str, Any], notes: list[str]) -> None:
        """What is run, where the log goes; for the apprentice, that it is a simulation."""
        config = self._run.config
        if self._run.simulation_notice:
            self._line(self._run.simulation_notice, style="bold yellow")
        options = "".join(f" {name}={value}" for name, value in config.method_options.items())
        self._line(f"model {config.model} · method {self._run.record['method']}{options} · rounds {self._run.rounds}")
        targets = ", ".join(config.targets)
        self._line(
            f"tasks {len(self._run.tasks)} · device {evaluator.get('device', config.device)} · targets {targets}"
        )
        self._line(f"run {self._run.path}")
        for note in notes:
            self._line(note)

    def __enter__(self) -> Screen:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, get_renderable=self._table, refresh_per_second=1)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def observe(self, task: str, event: Event) -> None:
        """Take one new event in, and say what is worth a line."""
        with self._lock:
            self._take(task, event)
            line = self._end_line(task, event) if event["type"] == "task_end" else None
        if line is not None:  # not under the lock: rich draws under one of its own, and then asks for the table
            self._line(line)
        if event["type"] in ("task_end", "round") and not self._live:
            with self._lock:
                self._tell_rounds()

    def stopping(self) -> None:
        """Say that a run is being stopped."""
        self._line("stopping: what was asked for is awaited and kept; Ctrl-C again leaves at once", style="bold yellow")

    def final(self, end: RunEnd) -> None:
        """The account, and what to do about what is missing. Reads the logs, which are the truth."""
        self._line("")
        print_account(account_of(self._run))
        failed = [task for task in end.tasks if task.state == "error"]
        for reason in dict.fromkeys(task.reason for task in failed):
            these = [task.task for task in failed if task.reason == reason]
            self._line(f"not finished, and counted against nobody: {_some(these)}: {_first_line(reason)}", style="red")
            diff = next((end.divergence.diff for end in failed if end.reason == reason and end.divergence), "")
            if diff:
                self._line(diff)
        budgets = [task.reason for task in end.tasks if task.state == "stopped" and is_budget(task.reason)]
        if budgets:
            self._line(f"stopped by the {budgets[0]}; give a higher one beside --resume", style="bold yellow")
        if end.state != "done":
            self.how_to_resume()
        else:
            self._line(f"see it again: python -m experiments table {self._run.path}")
        if self._run.simulation_notice:
            self._line(self._run.simulation_notice, style="bold yellow")

    def how_to_resume(self) -> None:
        """The command that goes on with this run."""
        self._line(f"go on with: python -m agents.run --resume {self._run.path}")

    def _line(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    def _take(self, task: str, event: Event) -> None:
        match event["type"]:
            case "round":
                self._round_of[task] = max(self._round_of[task], event["number"])
            case "evaluation":
                self._seen[task].append(LoggedVerdict(event["round"], verdict_of(task, event)))
            case "task_end":
                self._ended[task] = event["state"]

    def _rounds_through(self) -> int:
        """How many rounds all tasks are through. One that has ended is through them all."""
        going = [number - 1 for task, number in self._round_of.items() if task not in self._ended]
        return max(0, min(going, default=self._run.rounds))

    def _accounts(self) -> tuple[RoundAccount, ...]:
        # verdicts that came in parallel are in the order of their arrival; the account wants that of the rounds
        by_round = {task: sorted(seen, key=lambda one: one.round) for task, seen in self._seen.items()}
        return account(self._run.tasks, by_round).rounds

    def _tell_rounds(self) -> None:
        through = self._rounds_through()
        if through > self._told:
            for row in self._accounts()[self._told : through]:
                self._line(_round_line(row, len(self._run.tasks)))
            self._told = through

    def _end_line(self, task: str, event: Event) -> str:
        count = f"[{len(self._ended)} of {len(self._run.tasks)}]"
        if event["state"] != "done":
            return f"{count} {task}: {event['state']}: {_first_line(event['reason'])}"
        best = ranking.best(self._seen[task])
        if best is None:
            return f"{count} {task}: nothing was submitted"
        verdict = best.evaluation
        figures = {"speedup": verdict.speedup, "traffic": verdict.traffic} if verdict.correct else {}
        known = "".join(f", {name} {value:.2f}x" for name, value in figures.items() if value is not None)
        reason = f" ({verdict.reason})" if verdict.reason else ""
        solved = [seen.round for seen in self._seen[task] if seen.evaluation.correct]
        when = f"from round {min(solved)}" if solved else f"in round {best.round}"
        return f"{count} {task}: {verdict.status}{reason} {when}{known}, {len(self._seen[task])} submitted"

    def _table(self) -> Table:
        from rich import box
        from rich.table import Table

        with self._lock:
            rows, ended = self._accounts(), len(self._ended)
        total = len(self._run.tasks)
        title = f"{ended} of {total} tasks done · each round's own candidates"
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in ("round", "tasks", "compile", "call", "correct", *CHANGES):
            table.add_column(str(name), justify="right")
        for row in rows:
            rates = (row.own.compile_rate, row.own.call_rate, row.own.correct_rate)
            changes = [str(row.own.groups[state].tasks) for state in CHANGES]
            table.add_row(str(row.number), f"{row.submitted}/{total}", *(f"{rate:.0%}" for rate in rates), *changes)
        return table


def _round_line(row: RoundAccount, total: int) -> str:
    own = row.own
    changes = ", ".join(f"{own.groups[state].tasks} {state}" for state in CHANGES)
    rates = f"compile {own.compile_rate:.0%}, call {own.call_rate:.0%}, correct {own.correct_rate:.0%}"
    return f"round {row.number}: {rates}; {changes}; {row.submitted} of {total} tasks submitted"


def _some(names: list[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _first_line(text: str | None) -> str:
    return (text or "no reason given").strip().split("\n")[0]
