"""What works on which system, in one line."""

from __future__ import annotations

import platform
import sys


def platform_note() -> str | None:
    """Why kernels can't be judged on this system, and what can be done; None on Linux, where they can."""
    if sys.platform == "linux":
        return None
    return (
        f"kernels can't be judged on {platform.system()}, where Triton does not compile; task lists, tables and "
        "replays of runs work here, and everything on Linux (on Windows: in WSL 2)"
    )


def gpu_note(device: str) -> str | None:
    """What to know of the GPU of this machine when a run uses `device`; None when there is nothing. Imports torch."""
    import torch

    if torch.version.hip and device == "cpu":
        return "ROCm: kernels run in the interpreter here; --targets gfx942 also compiles them for AMD GPUs"
    return None
