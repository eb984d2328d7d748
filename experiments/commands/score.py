"""Judge kernels made elsewhere; say it again to go on after a kill."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "judge kernels made elsewhere; say it again to go on after a kill"
EXAMPLES = """\
  python -m experiments score model.jsonl --compare
"""


def flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("path", type=Path, metavar="FILE|FOLDER", help="predictions in any format of `import`, or an imported run")
    add("--out", type=Path, metavar="RUN", help="the run's folder (default: a new one in experiments/runs)")
    add("--format", metavar="FORMAT", help="the format, where it can't be told from the contents")
    add("--model", metavar="NAME", help="who wrote them (default: the name of the file)")
    add("--workers", type=int, metavar="N", help="candidates at a time (default: one a CPU)")
    add("--targets", metavar="LIST", help="GPUs to compile for, the first decides (default: the run's, or sm90)")
    add("--device", choices=("auto", "cpu", "cuda"), help="default: the run's, or auto, the GPU where there is one")
    add("--compare", action="store_true", help="set each verdict beside the recorded one")


def run(arguments: argparse.Namespace) -> int:
    from experiments.scoring import scoring

    return scoring(
        arguments.path,
        arguments.out,
        form=arguments.format,
        model=arguments.model,
        workers=arguments.workers,
        targets=None if arguments.targets is None else arguments.targets.split(","),
        device=arguments.device,
        compare=arguments.compare,
    )
