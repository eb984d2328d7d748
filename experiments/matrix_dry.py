"""The dry run of a matrix: its cells, and the most that each can ask for. Asks nobody."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agents.rehearsal import rehearse
from agents.run import COUNTED, EXIT_DONE, Plan
from experiments.matrix_config import MatrixConfig


def show(config: MatrixConfig, plans: Sequence[Plan]) -> int:
    """Prints each cell with its requests, tokens and dollars at most, and the sums. Returns exit code 0."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else None, padding=(0, 1, 0, 0))
    table.add_column("cell", overflow="fold")
    for name in ("requests", "tokens in", "tokens out", "cost"):
        table.add_column(name, justify="right")
    counted: dict[tuple[str, str, int], tuple[int, int, int]] = {}
    sums, usd = [0, 0, 0], 0.0
    unknown = False
    for cell, plan in zip(config.cells, plans, strict=True):
        key = (cell.label, json.dumps(dict(plan.config.params), sort_keys=True), plan.config.seed)
        if key not in counted:
            counted[key] = most_of(plan)
        requests, read, written = counted[key]
        cost = plan.price.most(read, written) if plan.price else None
        unknown |= cost is None and not plan.model.simulated
        usd += cost or 0.0
        sums = [one + more for one, more in zip(sums, counted[key], strict=True)]
        shown = "-" if plan.model.simulated else "?" if cost is None else f"${cost:.2f}"
        table.add_row(cell.name, f"{requests:,}", f"{read:,}", f"{written:,}", shown)
    console.print(table)
    requests, read, written = sums
    cells = f"{len(config.cells)} cells of {len(config.tasks)} tasks"
    paid = any(not plan.model.simulated for plan in plans)
    cost_text = "?" if unknown else f"${usd:.2f}" if paid else "-"
    print(f"{cells}: at most {requests:,} requests, {read:,} tokens in, {written:,} out, cost {cost_text}")
    print(f"budget of all cells together: {', '.join(f'{n} {v:g}' for n, v in config.budget.items()) or 'none'}")
    print(COUNTED)
    return EXIT_DONE


def most_of(plan: Plan) -> tuple[int, int, int]:
    """Requests, input tokens and output tokens of a cell at most: its tasks rehearsed one by one."""
    totals = (0, 0, 0)
    for task in plan.tasks:
        config = plan.config
        found = rehearse(task, plan.method, plan.templates, rounds=plan.rounds, seed=config.seed, params=config.params)
        requests, read, written = found.counts
        totals = (totals[0] + requests, totals[1] + read, totals[2] + written)
    return totals
