"""The evaluation record: what one candidate did, in plain values that go to the log and back unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from evaluator.timing_records import TaskTiming
from tasks.outcomes import Reason, Stage, Status

NOT_TRIED = "not tried"


@dataclass(frozen=True)
class CaseRow:
    """One call of the candidate: `kind` is public, hidden or timed; `right` is None when values were not compared.

    `launches` counts kernel launches; `bytes_moved` the bytes that they loaded and stored (CPU tier),
    `bytes_min` the least that the task needs.
    """

    label: str
    kind: str
    right: bool | None
    reason: Reason | None = None
    launches: int = 0
    bytes_moved: int | None = None
    bytes_min: int | None = None
    run_s: float | None = None


@dataclass(frozen=True)
class KernelBuild:
    """One compiled specialisation of one kernel: resources as the compiler reports them; `compile_s` with ptxas.

    `dots` are the operand types of its products (f32, f16, ...), `tensor_cores` whether its code uses tensor cores for
    anything, `load_bytes` what a thread loads at once by source line (NVIDIA targets). None: unknown.
    """

    kernel: str
    target: str
    shared_bytes: int | None
    registers: int | None
    spill_bytes: int | None
    num_warps: int
    num_stages: int
    compile_s: float
    dots: tuple[str, ...] | None = None
    tensor_cores: bool | None = None
    load_bytes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """The verdict on one source.

    `compiled`: it loads and every launch that it makes compiles for the first target. `called`: it also returned
    from every case. `numerically_right`: every compared value was right, even where the contract
    refuses; None when nothing was compared. `traffic` is bytes moved over the minimum, geometric mean over
    the stand-in cases (CPU tier; 1.0 is perfect). `patterns` names what the wrong values look like, the most
    convincing first. `speedup` over eager is None on the CPU tier. `targets` maps each compile target to "ok", the
    first line of its error, or, where the first refused a launch, `NOT_TRIED`; "ok" also where nothing was launched.
    `assurance` lists the fences that were up. Times are in seconds; `compile_s` is what the calls waited for the
    compiler (ptxas runs beside them).
    """

    task: str
    source_sha: str
    status: Status
    stage: Stage | None
    reason: Reason | None
    diagnosis: str
    device: str = "cpu"
    compiled: bool = False
    called: bool = False
    numerically_right: bool | None = None
    traffic: float | None = None
    speedup: float | None = None
    cases: tuple[CaseRow, ...] = ()
    builds: tuple[KernelBuild, ...] = ()
    targets: Mapping[str, str] = field(default_factory=dict)
    torch_ops: Mapping[str, int] = field(default_factory=dict)
    patterns: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    assurance: tuple[str, ...] = ()
    compile_s: float = 0.0
    run_s: float = 0.0
    total_s: float = 0.0
    timing: TaskTiming | None = None

    @property
    def correct(self) -> bool:
        return self.status is Status.CORRECT

    @property
    def outcome(self) -> str:
        """`wrong: mismatch`, or the status alone where there is no reason."""
        return f"{self.status}: {self.reason}" if self.reason else str(self.status)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` is the inverse."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Evaluation:
        """The record behind `to_json`. Unknown fields are ignored, so that older readers open newer logs."""
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        known["status"] = Status(known["status"])
        known["stage"] = Stage(known["stage"]) if known.get("stage") else None
        known["reason"] = Reason(known["reason"]) if known.get("reason") else None
        known["cases"] = tuple(
            CaseRow(**{**row, "reason": Reason(row["reason"]) if row["reason"] else None}) for row in known["cases"]
        )
        known["builds"] = tuple(_build(row) for row in known["builds"])
        known["timing"] = TaskTiming.from_json(known["timing"]) if known.get("timing") else None
        for name in ("patterns", "warnings", "assurance"):
            known[name] = tuple(known.get(name, ()))
        return cls(**known)


def _build(row: Mapping[str, Any]) -> KernelBuild:
    known = {f.name: row[f.name] for f in fields(KernelBuild) if f.name in row}
    return KernelBuild(**{**known, "dots": None if known.get("dots") is None else tuple(known["dots"])})
