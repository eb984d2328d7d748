"""`python -m agents prompt`: what a model would read of one task, with an example where a prompt needs a candidate."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agents.log import sha_of
from agents.protocol import Candidate
from agents.templates import load_templates
from evaluator.hints import hint_for
from evaluator.records import Evaluation
from prompts.loader import PromptError, Templates
from tasks.catalog import load, select
from tasks.errors import UserError, unknown
from tasks.outcomes import Reason, Stage, Status

if TYPE_CHECKING:
    from tasks.task import Task

SOURCE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def example_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, {value}, mask=mask)


def {entry}(x, *rest, **options):
    y = torch.empty_like(x)
    example_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
"""
BROKEN, WASTEFUL = "tl.tanh(x)", "x + tl.load(x_ptr + offs, mask=mask)"


def show_prompt(template: str, task_name: str, folder: str | None) -> int:
    """Prints on stdout what a model reads of one task by `template` (with or without .j2), and nothing else.

    Where the template takes a candidate, an example stands in, and stderr says so. Raises UserError. Imports torch.
    """
    from agents.brief import case_lines

    templates = load_templates(folder)
    name = _named(template, templates)
    task = _task(task_name)
    examples = {"last": broken_candidate(task), "best": wasteful_candidate(task)}
    try:
        taken = sorted(templates.variables(name) & examples.keys())
        text = templates.render(name, task=task, cases=case_lines(task), **examples)
    except PromptError as error:
        raise UserError(str(error)) from error
    sys.stdout.write(text)
    sys.stdout.flush()
    for variable in taken:
        print(f"note: `{variable}` is an example candidate with an example verdict, not a run's", file=sys.stderr)
    return 0


def broken_candidate(task: Task) -> Candidate:
    """A kernel that calls what Triton lacks, with the diagnosis that it gets where the first argument is a tensor."""
    from tasks.describe import describe_case
    from tasks.draw import Draw

    source = SOURCE.format(value=BROKEN, entry=task.entry)
    number, line = next((n, line) for n, line in enumerate(source.split("\n"), 1) if BROKEN in line)
    case = next(iter(task.public(Draw(0))))
    message = "CompilationError: AttributeError(\"module 'triton.language' has no attribute 'tanh'\")"
    start = f"line {number}: "
    diagnosis = "\n".join(
        [
            "compile_error: compilation (stage: run)",
            f'case: public, "{case.label}": {describe_case(case, task)}',
            message,
            start + line,
            " " * (len(start) + line.index(BROKEN)) + "^",
            "kernel example_kernel(x_ptr: *fp32, y_ptr: *fp32, n: i32, BLOCK: 256)",
            f"hint: {hint_for(message)}",
        ]
    )
    verdict = Evaluation(task.id, sha_of(source), Status.COMPILE_ERROR, Stage.RUN, Reason.COMPILATION, diagnosis)
    return Candidate(0, 1, 0, source, verdict)


def wasteful_candidate(task: Task) -> Candidate:
    """A kernel that doubles, and reads its input twice for it, with the diagnosis that it gets where that is right."""
    source = SOURCE.format(value=WASTEFUL, entry=task.entry)
    diagnosis = (
        "correct\n"
        "traffic: kernels move 1.50 times the bytes that the task needs at least\n"
        "example_kernel.x_ptr is read 2.0 times over; load it once and keep it in the kernel"
    )
    verdict = Evaluation(
        task.id, sha_of(source), Status.CORRECT, None, None, diagnosis, compiled=True, called=True, traffic=1.5
    )
    return Candidate(0, 1, 0, source, verdict)


def _named(template: str, templates: Templates) -> str:
    names = templates.names()
    for name in (template, f"{template}.j2"):
        if name in names:
            return name
    raise unknown("template", template.removesuffix(".j2"), [name.removesuffix(".j2") for name in names])


def _task(name: str) -> Task:
    names = select([name])
    if len(names) != 1:
        raise UserError(f"--task takes one task; {name!r} names {len(names)}: {', '.join(names[:5])}")
    return load(names[0])
