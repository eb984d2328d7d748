"""What a method tells the model about a task besides its text."""

from __future__ import annotations

from tasks.task import Task


def case_lines(task: Task) -> list[str]:
    """One line for each public case, in kind: `last dimension: softmax(input=float32[5, 33], dim=1)`.

    The draw is fixed, so every prompt of a task shows the same lines. Imports torch.
    """
    from tasks.describe import describe_case
    from tasks.draw import Draw

    return [f"{case.label}: {describe_case(case, task)}" for case in task.public(Draw(0))]
