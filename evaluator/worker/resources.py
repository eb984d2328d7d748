"""What a compiled kernel takes of a GPU, read from its cubin; and what it does there, read from its code."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import triton

DOT = re.compile(r"\btt\.dot(?:_scaled)?\b.*?: tensor<(?:\d+x)+(\w+)")
TENSOR_CORES = re.compile(r"\b(?:wgmma|mma|tcgen05)\.|\bv_s?mfmac?_")
PLACE = re.compile(r"\s*\.loc\s+(\d+) (\d+) ")
FILE = re.compile(r'^\s*\.file\s+(\d+) "([^"]+)"', re.MULTILINE)
LOAD = re.compile(r"\bld\.global\S*?(?:\.v(\d))?\.[bfsu](\d+)\s")
COPY = re.compile(r"\bcp\.async\.c[ag]\.\S+ \[.*?\], \[.*?\], (0x[0-9a-f]+|\d+)")


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


def code_facts(kernel: Any, filename: str) -> dict[str, Any]:
    """What the stages of a compilation say of a kernel in `filename`: the operand types of its dots, whether its code
    uses tensor cores, and the bytes that a thread loads at once, by line (NVIDIA; empty where an argument isn't known
    as a multiple of 16, which makes loads narrow by itself). On AMD also registers and spills."""
    asm = kernel.asm
    code = str(asm.get("ptx") or asm.get("amdgcn") or "")
    facts: dict[str, Any] = {
        "dots": sorted(set(DOT.findall(str(asm.get("ttir") or "")))),
        "tensor_cores": bool(TENSOR_CORES.search(code)),
        "load_bytes": _load_bytes(code, filename) if "ptx" in asm and _specialised(kernel.src) else {},
    }
    if registers := re.search(r"\.vgpr_count:\s+(\d+)", code):
        facts["registers"] = int(registers[1])
    if spilled := re.search(r"\.vgpr_spill_count:\s+(\d+)", code):
        facts["spill_bytes"] = 4 * int(spilled[1])
    return facts


def _specialised(source: Any) -> bool:
    """Whether the compiler knows every pointer and integer among the arguments as a multiple of 16."""
    known = {path[0] for path, attributes in source.attrs.items() if ["tt.divisibility", 16] in attributes}
    return all(
        index in known
        for index, kind in enumerate(source.signature.values())
        if isinstance(kind, str) and re.match(r"\*|[iu](?:32|64)$", kind)
    )


def _load_bytes(ptx: str, filename: str) -> dict[str, int]:
    """What most loads of each line of the file take at once: a scalar of the line before may be counted to it too."""
    own = {number for number, path in FILE.findall(ptx) if path == filename}
    counts: dict[str, Counter[int]] = {}
    line: str | None = None
    for row in ptx.split("\n"):
        if place := PLACE.match(row):
            line = place[2] if place[1] in own else None
        elif line is not None and (found := LOAD.search(row)):
            counts.setdefault(line, Counter())[int(found[1] or 1) * int(found[2]) // 8] += 1
        elif line is not None and (found := COPY.search(row)):
            counts.setdefault(line, Counter())[int(found[1], 0)] += 1
    return {line: max(count, key=lambda size: (count[size], size)) for line, count in counts.items()}


@cache
def _tool() -> Path | None:
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    return tool if tool.exists() else None
