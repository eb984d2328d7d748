"""The end of a command line program: its exit code, and a reader that has had enough."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn


def finish(main: Callable[[], int]) -> NoReturn:
    """Runs `main` and exits with its code. A pipe that is closed early (`... | head`) ends it without a traceback."""
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter would complain at its end
        code = 1
    sys.exit(code)
