"""What the command line programs share: mistakes in one line, and an end without a traceback."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """An argument parser that tells a mistake in one line and exits with 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}; see `{self.prog} --help`\n")


def finish(main: Callable[[], int]) -> NoReturn:
    """Runs `main` and exits with its code. A pipe that is closed early (`... | head`) ends it without a traceback."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter would complain at its end
        code = 1
    sys.exit(code)
