"""Where a child's compiled kernels go: plain files in its own folder, read again by nobody else.

Triton's own cache makes each file by way of a folder and a rename, for processes that share it; one child shares with
nobody, and a sixth of a small kernel's compile time went there.
"""

from __future__ import annotations

from pathlib import Path

from triton.runtime.cache import CacheManager


class PrivateCache(CacheManager):  # type: ignore[misc]
    """Keeps what the compiler writes in the current folder, which is the child's own."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.key = key

    def get_file(self, filename: str) -> str | None:
        path = self._path(filename)
        return str(path) if path.exists() else None

    def put(self, data: bytes | str, filename: str, binary: bool = True) -> str:
        path = self._path(filename)
        path.write_bytes(data if isinstance(data, bytes) else str(data).encode())
        return str(path)

    def get_group(self, filename: str) -> dict[str, str] | None:
        return None  # each specialisation is compiled once in a child: Triton keeps it in memory

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        return filename

    def _path(self, filename: str) -> Path:
        return Path.cwd() / f"{self.key[:16]}-{filename[-80:]}"
