"""`python -m experiments`: what to do with runs that are recorded, or made elsewhere."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from experiments.shadow import shadowed

EXAMPLES = """\
  python -m experiments table RUN
  python -m experiments table RUN --recorded                # an imported run by its origin's own verdicts
  python -m experiments replay RUN                          # does the method reproduce its log?
  python -m experiments replay RUN --re-evaluate            # every source again: verdicts before and after
  python -m experiments replay RUN --method reflexion       # another method, as far as the recorded replies go
  python -m experiments replay RUN --task softmax           # prompt, reply, source, verdict, step by step
  python -m experiments import predictions model.jsonl --out RUN
  python -m experiments score model.jsonl --compare
  python -m experiments diagnose --kinds cut_loop zero_padding
  python -m experiments admit Loss Math/softmax             # oracles, negative controls, mutants
  python -m experiments export RUN candidates --out candidates.csv
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code: 0, 1 for a replay that differs or a machine that failed, 2 for a
    mistake, 130 when interrupted."""
    problem = shadowed()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    from tasks.errors import UserError

    try:
        arguments = _parser().parse_args(argv)
        return COMMANDS[arguments.command](arguments)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _table(arguments: argparse.Namespace) -> int:
    from agents.newrun import find_run
    from experiments.table import table

    return table(find_run(arguments.run), recorded=arguments.recorded)


def _replay(arguments: argparse.Namespace) -> int:
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


def _import(arguments: argparse.Namespace) -> int:
    from experiments.importing import import_

    return import_(arguments.format, arguments.path, arguments.out, arguments.model)


def _score(arguments: argparse.Namespace) -> int:
    from experiments.scoring import scoring

    return scoring(
        arguments.path,
        arguments.out,
        form=arguments.format,
        model=arguments.model,
        workers=arguments.workers,
        targets=None if arguments.targets is None else arguments.targets.split(","),
        compare=arguments.compare,
    )


def _export(arguments: argparse.Namespace) -> int:
    from agents.newrun import find_run
    from experiments.export import export

    return export(
        find_run(arguments.run),
        arguments.what,
        arguments.out,
        recorded=arguments.recorded,
        fmt=arguments.format,
        correct_only=arguments.correct_only,
    )


def _diagnose(arguments: argparse.Namespace) -> int:
    from experiments.diagnose import diagnose, list_kinds
    from experiments.score import cores

    if arguments.list:
        return list_kinds()
    workers = arguments.workers or cores()
    how = {"right": arguments.right, "markdown": arguments.markdown}
    return diagnose(arguments.kinds, arguments.tasks, workers, arguments.out, **how)


def _admit(arguments: argparse.Namespace) -> int:
    from experiments.admission import admission
    from experiments.score import cores
    from tasks.errors import UserError

    if arguments.seeds < 1:
        raise UserError(f"--seeds must be at least 1, not {arguments.seeds}")
    return admission(arguments.tasks, arguments.workers or cores(), arguments.seeds, mutants=not arguments.no_mutants)


COMMANDS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "table": _table,
    "replay": _replay,
    "import": _import,
    "score": _score,
    "export": _export,
    "diagnose": _diagnose,
    "admit": _admit,
}


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    from tasks.command import Parser

    parser = Parser("python -m experiments", description=__doc__, epilog=_examples(), formatter_class=raw)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text, epilog=_examples(name), formatter_class=raw)

    _table_flags(command("table", "the account of a run, finished or not: rates, states and figures of every round"))
    _replay_flags(command("replay", "a run once more over its recorded answers, as it was or with a change"))
    _import_flags(command("import", "kernels made elsewhere, as a run of ours"))
    _score_flags(command("score", "judge kernels made elsewhere; say it again to go on after a kill"))
    _diagnose_flags(command("diagnose", "put every known mistake into every oracle: is it found, and is it named?"))
    _admit_flags(command("admit", "may each task stay? its oracle, its negative controls, and one mutant of each kind"))
    _export_flags(command("export", "a run's candidates, rounds, predictions or best sources, as files"))
    return parser


def _examples(command: str = "") -> str:
    """Those of one command; without one, all."""
    own = [line for line in EXAMPLES.splitlines() if f" experiments {command}" in line]
    return "\n".join(["examples:", *own])


def _run_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="RUN", help="a run's folder, or its name in experiments/runs")


def _recorded_flag(command: argparse.ArgumentParser) -> None:
    command.add_argument("--recorded", action="store_true", help="an imported run by its origin's own verdicts")


def _table_flags(command: argparse.ArgumentParser) -> None:
    _run_argument(command)
    _recorded_flag(command)


def _replay_flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    _run_argument(command)
    add("--re-evaluate", action="store_true", help="judge every logged source again; exit 1 if a verdict changed")
    add("--workers", type=int, metavar="N", help="candidates at a time with --re-evaluate (default: one a CPU)")
    add("--method", metavar="NAME", help="another method over the recorded replies, where they match")
    add("-o", "--option", action="append", default=[], metavar="KEY=VALUE", help="an option of that method")
    add("--prompts", metavar="DIR", help="edited templates over the recorded replies, where they match")
    add("--until", type=int, metavar="N", help="only rounds 1 to N")
    add("--task", metavar="ID", help="one task step by step: prompt, reply, source, verdict, difference to its parent")


def _import_flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("format", metavar="FORMAT", help="predictions, corpus, geak, folder, or auto")
    add("path", type=Path, metavar="PATH", help="a file or a folder")
    add("--out", type=Path, metavar="RUN", help="the run's folder (default: a new one in experiments/runs)")
    add("--model", metavar="NAME", help="who wrote them (default: the name of the file)")


def _score_flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("path", type=Path, metavar="FILE|FOLDER", help="predictions in any format of `import`, or an imported run")
    add("--out", type=Path, metavar="RUN", help="the run's folder (default: a new one in experiments/runs)")
    add("--format", metavar="FORMAT", help="the format, where it can't be told from the contents")
    add("--model", metavar="NAME", help="who wrote them (default: the name of the file)")
    add("--workers", type=int, metavar="N", help="candidates at a time (default: one a CPU)")
    add("--targets", metavar="LIST", help="GPUs to compile for, the first decides (default: the run's, or sm90)")
    add("--compare", action="store_true", help="set each verdict beside the recorded one")


def _diagnose_flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--kinds", nargs="*", default=[], metavar="KIND", help="kinds of mistakes (default: all)")
    add("--tasks", nargs="*", default=[], metavar="TASK", help="ids, categories or globs (default: every built task)")
    add("--workers", type=int, metavar="N", help="candidates at a time (default: one a CPU)")
    add("--out", type=Path, metavar="FILE", help="every mistake with its verdict, as JSON")
    add("--right", type=Path, metavar="FOLDER", help="more right kernels, as Category__operator__style.py")
    add("--markdown", action="store_true", help="the table and the lists as a page")
    add("--list", action="store_true", help="only list the kinds of mistakes")


def _admit_flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("tasks", nargs="*", metavar="TASK", help="ids, categories or globs (default: every built task)")
    add("--workers", type=int, metavar="N", help="candidates at a time (default: one a CPU)")
    add("--seeds", type=int, default=1, metavar="N", help="how often the oracle's hidden cases are drawn (1)")
    add("--no-mutants", action="store_true", help="only oracles and controls")


def _export_flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    _run_argument(command)
    add("what", choices=("candidates", "rounds", "predictions", "sources"), help="what to write")
    add("--out", type=Path, metavar="PATH", help="a file, or for sources a new folder (default: standard output)")
    add("--format", choices=("csv", "json"), help="of candidates and rounds (default: by the name of the file)")
    add("--correct-only", action="store_true", help="predictions of correct kernels only")
    _recorded_flag(command)


if __name__ == "__main__":
    if shadowed():
        sys.exit(main())
    from tasks.command import finish

    finish(main)
