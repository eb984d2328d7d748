"""What an evaluator can be asked for, checked without torch as far as that goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tasks.errors import UserError, unknown

BASELINES = ("eager", "oracle", "compiled")  # the last, torch.compile, takes some seconds a size to begin


def usable_device(device: str) -> str:
    """The device behind auto, cpu or cuda: auto is the GPU where torch sees one. Raises UserError for what this machine
    or this version can't do."""
    if device not in ("auto", "cpu", "cuda"):
        raise UserError(f"unknown device {device!r}; known: auto, cpu, cuda")
    if not sys.platform.startswith("linux"):
        raise UserError("evaluating needs Linux, as Triton does; listing tasks, tables and replay work here")
    if device == "cuda" and not os.path.exists("/dev/nvidiactl"):
        raise UserError("no NVIDIA GPU here; --device cpu compiles for the GPU and interprets on the CPU")
    return "cuda" if device == "cuda" or (device == "auto" and _sees_gpu()) else "cpu"


def _sees_gpu() -> bool:
    """Whether an NVIDIA GPU can be used here. Starts no CUDA."""
    if not os.path.exists("/dev/nvidiactl") or os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    import torch

    return torch.version.cuda is not None


def baselines_named(names: Sequence[str]) -> tuple[str, ...]:
    """What a kernel is timed beside, checked. Raises UserError for an unknown name, or without eager."""
    for name in names:
        if name not in BASELINES:
            raise unknown("baseline", name, BASELINES)
    if BASELINES[0] not in names:
        raise UserError("eager is always a baseline: speedup is over it")
    return tuple(name for name in BASELINES if name in names)
