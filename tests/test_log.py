"""The event log on disk: what opens, what is cut, what is refused."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents.log import LogWriter, read_task, sha_of
from agents.upgrades import SCHEMA
from tasks.errors import UserError

START = {"type": "task_start", "schema": SCHEMA, "task": "Toy/one", "method": "m", "model": "x"}
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "Toy" / "one.jsonl"
    log = LogWriter(path)
    log.write(START)
    log.write({"type": "text", "sha": "s", "text": "line\nfeed \u2028 \ud800 \x00"})
    log.write({"type": "round", "number": 1, "of": 2}, durable=True)
    log.close()
    return path


def test_what_is_written_comes_back_and_each_event_is_a_line(path: Path) -> None:
    events = read_task(path)
    assert [event["type"] for event in events] == ["task_start", "text", "round"]
    assert events[1]["text"] == "line\nfeed \u2028 \ud800 \x00"
    assert all(isinstance(event["t"], float) for event in events)
    assert path.read_bytes().count(b"\n") == 3


def test_a_missing_log_is_empty(tmp_path: Path) -> None:
    assert read_task(tmp_path / "none.jsonl") == []


def test_a_log_torn_at_any_byte_opens_and_keeps_every_whole_line(path: Path) -> None:
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        whole = data[:length].count(b"\n")
        assert len(read_task(path)) == whole
        assert path.stat().st_size == length, "reading must leave the file alone"
        log = LogWriter(path)
        assert len(log.events) == whole
        log.write(START if whole == 0 else {"type": "round", "number": 9, "of": 9})
        log.close()
        assert len(read_task(path)) == whole + 1


@pytest.mark.parametrize("broken", [b'{"type": "rou', b"[1]", b"{}", b"\xff\xfe", b"7", b""])
def test_a_broken_middle_names_file_and_line(path: Path, broken: bytes) -> None:
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], broken, *lines[2:]]))
    for open_it in (read_task, LogWriter):
        with pytest.raises(UserError, match=r"one\.jsonl, line 2: "):
            open_it(path)


def test_a_newer_schema_and_a_foreign_file_are_refused(path: Path) -> None:
    path.write_text(json.dumps({**START, "schema": SCHEMA + 1}) + "\n")
    with pytest.raises(UserError, match=f"schema {SCHEMA + 1}"):
        read_task(path)
    path.write_text('{"type": "round"}\n')
    with pytest.raises(UserError, match="line 1"):
        read_task(path)


def test_a_second_writer_is_refused_also_from_another_process(path: Path) -> None:
    log = LogWriter(path)
    with pytest.raises(UserError, match="another process"):
        LogWriter(path)
    code = f"from agents.log import LogWriter; from pathlib import Path; LogWriter(Path({str(path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    assert "another process" in done.stderr
    log.close()
    LogWriter(path).close()


def test_a_refused_second_writer_does_not_cut_the_first_ones_line(path: Path) -> None:
    log = LogWriter(path)
    with path.open("ab") as file:
        file.write(b'{"half')
    size = path.stat().st_size
    with pytest.raises(UserError):
        LogWriter(path)
    assert path.stat().st_size == size
    log.close()


def test_no_space_left_leaves_the_file_as_before(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, real, before = LogWriter(path), os.write, path.read_bytes()
    calls = []

    def full(file: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) == 1:
            return real(file, data[:5])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UserError, match="No space left"):
        log.write({"type": "round", "number": 2, "of": 2})
    monkeypatch.undo()
    assert path.read_bytes() == before
    log.close()


def test_a_folder_that_cant_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="can't write"):
        LogWriter(tmp_path / "file" / "one.jsonl")


def test_hashes_take_any_text() -> None:
    assert sha_of("a") != sha_of("b")
    assert len(sha_of("\ud800")) == 64
