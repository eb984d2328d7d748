"""Arguments that several commands have."""

from __future__ import annotations

import argparse


def run_argument(command: argparse.ArgumentParser) -> None:
    """RUN: one run."""
    command.add_argument("run", metavar="RUN", help="a run's folder, or its name in experiments/runs")


def runs_argument(command: argparse.ArgumentParser) -> None:
    """RUN…: runs, or folders of runs such as a matrix."""
    command.add_argument("runs", nargs="+", metavar="RUN", help="runs, or folders of runs, by path or by name")


def recorded_flag(command: argparse.ArgumentParser) -> None:
    """--recorded."""
    command.add_argument("--recorded", action="store_true", help="an imported run by its origin's own verdicts")
