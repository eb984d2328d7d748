"""Rows of one section of the GPU's benchmark: to a file as they come, and whether there is time for another."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


class Report:
    """One section's rows; a file of an earlier run is replaced."""

    def __init__(self, folder: Path, section: str, cap_s: float, shard: str = "0/1") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        which = "" if shard == "0/1" else f"-{shard.replace('/', '-of-')}"
        self._file = (folder / f"{section}{which}.jsonl").open("w", encoding="utf-8")
        self._end = time.monotonic() + cap_s
        print(f"\n## {section} {shard}")

    def write(self, **row: Any) -> None:
        self._file.write(json.dumps(row, default=str) + "\n")
        self._file.flush()

    def each(self, items: Sequence[Any], what: str) -> Iterator[Any]:
        """The items, until the time is spent; then says how many are missing."""
        for number, item in enumerate(items):
            if time.monotonic() > self._end:
                print(f"out of time: {len(items) - number} of {len(items)} {what} are missing")
                self.write(missing=[str(left)[:200] for left in items[number:]])
                return
            yield item


def rows_of(folder: Path, section: str) -> list[dict[str, Any]]:
    """All rows of a section, of whatever shards."""
    found = []
    for path in sorted(folder.glob(f"{section}*.jsonl")):
        found += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return found
