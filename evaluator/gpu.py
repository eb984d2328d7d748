"""The GPU as the judge sees it, from outside CUDA: its state, its lock, and the peaks that were measured on it."""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

THROTTLES = {
    0x4: "power cap", 0x8: "hardware slowdown", 0x10: "sync boost", 0x20: "software thermal",
    0x40: "hardware thermal", 0x80: "power brake", 0x100: "display clock",
}  # fmt: skip


@dataclass(frozen=True)
class State:
    """A device at one moment; None where it isn't known, and `source` says from where or why not."""

    source: str
    sm_mhz: int | None = None
    memory_mhz: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    throttled: tuple[str, ...] = ()
    others: int | None = None
    """Processes on the device, ours among them."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def state_of(uuid: str) -> State:
    """Clocks, temperature and throttle reasons of the device with this UUID ("GPU-..." or "MIG-...")."""
    try:
        pynvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return State("nothing: nvidia-ml-py is not installed")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return State(f"nothing: NVML does not start: {error}")
    try:
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
    except pynvml.NVMLError as error:
        return State(f"nothing: NVML does not know {uuid}: {error}")

    def ask(name: str, *args: Any) -> Any:
        """One reading; None where the device, the driver or the version doesn't have it."""
        with suppress(pynvml.NVMLError, AttributeError):
            return getattr(pynvml, name)(handle, *args)
        return None

    power_mw, reasons = ask("nvmlDeviceGetPowerUsage"), ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    processes = ask("nvmlDeviceGetComputeRunningProcesses")
    return State(
        "NVML",
        sm_mhz=ask("nvmlDeviceGetClockInfo", pynvml.NVML_CLOCK_SM),
        memory_mhz=ask("nvmlDeviceGetClockInfo", pynvml.NVML_CLOCK_MEM),
        temperature_c=ask("nvmlDeviceGetTemperature", pynvml.NVML_TEMPERATURE_GPU),
        power_w=None if power_mw is None else power_mw / 1000,
        throttled=tuple(name for bit, name in THROTTLES.items() if (reasons or 0) & bit),
        others=None if processes is None else len(processes),
    )


def exclusive(uuid: str) -> AbstractContextManager[float]:
    """Holds the device for one timing: no other process or thread of this machine that asks gets it meanwhile.

    Gives the seconds that it waited. The lock ends with the process. Raises OSError where no file can be made.
    """
    return _held(uuid, fcntl.LOCK_EX)


def shared(uuid: str) -> AbstractContextManager[float]:
    """Holds the device for work that may run beside other such work, and never beside a timing."""
    return _held(uuid, fcntl.LOCK_SH)


@contextmanager
def _held(uuid: str, how: int) -> Iterator[float]:
    name = "".join(c for c in uuid if c.isalnum() or c == "-")
    path = Path(tempfile.gettempdir()) / f"kernelmend-{name}.lock"
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644))
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)  # another user's file will do
    start = time.monotonic()
    try:
        fcntl.flock(file, how)
        yield time.monotonic() - start
    finally:
        os.close(file)


def peaks_path() -> Path:
    """Where measured peaks are kept."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "kernelmend" / "peaks.json"


def peaks_of(uuid: str, torch_version: str, measure: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """The device's peaks, from the file or measured now and kept there (a folder that can't be written is no error).

    Call it while the device is held.
    """
    path, key = peaks_path(), f"{uuid} torch {torch_version}"
    known = _read(path)
    if key in known:
        found: Mapping[str, Any] = known[key]
        return found
    measured = dict(measure())
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        beside.write_text(json.dumps({**_read(path), key: measured}, indent=1), encoding="utf-8")
        beside.replace(path)
    return measured


def _read(path: Path) -> dict[str, Any]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
