"""What a compiled kernel takes of a GPU, read from its cubin."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import triton


@dataclass(frozen=True)
class Resources:
    """Registers a thread, bytes of stack a thread (spills), and the seconds that ptxas took; None: unknown."""

    registers: int | None
    spill_bytes: int | None
    assemble_s: float


def resources_of(cubin: bytes, assemble_s: float) -> Resources:
    """Registers and stack as the `cuobjdump` that comes with Triton reports them."""
    tool = _tool()
    if tool is None:
        return Resources(None, None, assemble_s)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(tool), "--dump-resource-usage", file.name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    found = re.search(r"REG:(\d+) STACK:(\d+)", done.stdout)
    return Resources(int(found[1]), int(found[2]), assemble_s) if found else Resources(None, None, assemble_s)


@cache
def _tool() -> Path | None:
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    return tool if tool.exists() else None
