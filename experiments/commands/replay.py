"""A run once more over its recorded answers, as it was or with a change."""

from __future__ import annotations

import argparse

from experiments.commands.shared import run_argument

HELP = "a run once more over its recorded answers, as it was or with a change"
EXAMPLES = """\
  python -m experiments replay RUN                          # does the method reproduce its log?
  python -m experiments replay RUN --re-evaluate            # every source again: verdicts before and after
  python -m experiments replay RUN --method reflexion       # another method, as far as the recorded replies go
  python -m experiments replay RUN --task softmax           # prompt, reply, source, verdict, step by step
"""


def flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    run_argument(command)
    add("--re-evaluate", action="store_true", help="judge every logged source again; exit 1 if a verdict changed")
    add("--workers", type=int, metavar="N", help="candidates at a time with --re-evaluate (default: one a CPU)")
    add("--method", metavar="NAME", help="another method over the recorded replies, where they match")
    add("-o", "--option", action="append", default=[], metavar="KEY=VALUE", help="an option of that method")
    add("--prompts", metavar="DIR", help="edited templates over the recorded replies, where they match")
    add("--until", type=int, metavar="N", help="only rounds 1 to N")
    add("--task", metavar="ID", help="one task step by step: prompt, reply, source, verdict, difference to its parent")


def run(arguments: argparse.Namespace) -> int:
    from agents.flags import pairs
    from agents.newrun import find_run
    from experiments.reevaluate import re_evaluate
    from experiments.replay import replay
    from experiments.steps import step
    from tasks.errors import UserError

    _check_together(arguments)
    run = find_run(arguments.run)
    if arguments.workers is not None and arguments.workers < 1:
        raise UserError(f"--workers must be at least 1, not {arguments.workers}")
    if arguments.re_evaluate:
        return re_evaluate(run, workers=arguments.workers)
    if arguments.task:
        return step(run, arguments.task, until=arguments.until)
    return replay(
        run,
        method=arguments.method,
        method_options=pairs("-o", arguments.option),
        prompts=arguments.prompts,
        until=arguments.until,
    )


def _check_together(arguments: argparse.Namespace) -> None:
    """Raises UserError for flags of `replay` of which one would have no effect beside the other."""
    from tasks.errors import UserError

    values = {
        **{"--re-evaluate": arguments.re_evaluate, "--task": arguments.task, "--method": arguments.method},
        **{"-o": arguments.option, "--prompts": arguments.prompts, "--until": arguments.until},
    }
    given = [flag for flag, value in values.items() if value is not False and value not in (None, [])]
    for mode, allowed in (("--re-evaluate", ()), ("--task", ("--until",))):
        strange = [flag for flag in given if flag != mode and flag not in allowed]
        if mode in given and strange:
            raise UserError(f"{strange[0]} has no effect beside {mode}; leave one of them out")
    if arguments.workers is not None and not arguments.re_evaluate:
        raise UserError("--workers goes with --re-evaluate: nothing else is judged")
