"""What timing a candidate gave, in plain values that go to the log and back unchanged. Times are in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from evaluator.paired import Ratio, geometric_mean


class Invalid(StrEnum):
    """Why the timing of a size doesn't count."""

    CLOCK = "clock"
    BELOW_BOUND = "below_bound"
    FAILED = "failed"
    WRONG = "wrong"


@dataclass(frozen=True)
class SizeTiming:
    """One timed size.

    Times are medians a call on the device, whose queue holds the call's launches before the first begins. `host_ms` and
    `eager_host_ms` are what the host takes to issue them; with `launch_bound` that is longer, and a call that the
    device waits for takes as long. `speedup`, `over_compiled`, `over_oracle`: how many times faster than eager,
    torch.compile, and the task's oracle. `batch` calls were timed as one where single ones are too short for the clock.
    `bound_ms` is the least that the task's bytes and operations take at the device's measured peaks, `share` that over
    `ms`; with `in_l2` the bytes fit the L2 cache, and the share may pass 1. `invalid` says why it doesn't count,
    `message` in words; `notes` what else should be known.
    """

    label: str
    ms: float | None = None
    eager_ms: float | None = None
    compiled_ms: float | None = None
    oracle_ms: float | None = None
    speedup: Ratio | None = None
    over_compiled: Ratio | None = None
    over_oracle: Ratio | None = None
    host_ms: float | None = None
    eager_host_ms: float | None = None
    launch_bound: bool = False
    calls: int = 0
    batch: int = 1
    bound_ms: float | None = None
    share: float | None = None
    gbs: float | None = None
    tflops: float | None = None
    in_l2: bool = False
    invalid: Invalid | None = None
    message: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SizeTiming:
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        for name in ("speedup", "over_compiled", "over_oracle"):
            known[name] = Ratio(**known[name]) if known.get(name) else None
        known["invalid"] = Invalid(known["invalid"]) if known.get("invalid") else None
        known["notes"] = tuple(known.get("notes", ()))
        return cls(**known)


@dataclass(frozen=True)
class TaskTiming:
    """All sizes of one task. `expected` is how many there should be: a missing or invalid one leaves no speedup.

    `device` holds facts of the device (name, UUID, versions, peaks), `before` and `after` its clocks, temperature and
    throttle reasons.
    """

    sizes: tuple[SizeTiming, ...]
    expected: int
    device: Mapping[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    total_s: float = 0.0

    @property
    def valid(self) -> bool:
        return len(self.sizes) == self.expected > 0 and all(size.invalid is None for size in self.sizes)

    @property
    def failure(self) -> SizeTiming | None:
        """The first size that doesn't count; None when all do."""
        return next((size for size in self.sizes if size.invalid), None)

    @property
    def speedup(self) -> float | None:
        """Geometric mean over the sizes, over eager."""
        return self._mean(size.speedup for size in self.sizes)

    @property
    def over_compiled(self) -> float | None:
        return self._mean(size.over_compiled for size in self.sizes)

    @property
    def over_oracle(self) -> float | None:
        return self._mean(size.over_oracle for size in self.sizes)

    @property
    def share(self) -> float | None:
        """Geometric mean of the share of the physical bound."""
        return geometric_mean(size.share for size in self.sizes) if self.valid else None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` is the inverse."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TaskTiming:
        """The record behind `to_json`. Unknown fields are ignored, so that older readers open newer logs."""
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        rows: Sequence[Mapping[str, Any]] = known["sizes"]
        return cls(**{**known, "sizes": tuple(SizeTiming.from_json(row) for row in rows)})

    def _mean(self, ratios: Any) -> float | None:
        return geometric_mean(ratio.median if ratio else None for ratio in ratios) if self.valid else None
