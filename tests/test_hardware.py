"""Runs of the same kernels on several targets and devices, their verdicts written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import broken, right, wrong
from loop_fakes import infra
from test_compare import written

from agents.imports import Foreign, Import, import_run
from agents.log import sha_of
from agents.verdicts import Recorded
from evaluator.records import Evaluation, KernelBuild
from evaluator.timing_records import TaskTiming
from experiments.__main__ import main
from experiments.hardware import Rate, hardware, outcomes_of
from tasks.outcomes import Reason, Stage, Status

ALL_OK = {"sm90": "ok", "gfx942": "ok"}
TOO_MUCH = "kernel: OutOfResources: out of resource: shared memory"


def build(target: str, registers: int | None, shared: int = 0, spills: int | None = 0) -> KernelBuild:
    return KernelBuild("kernel", target, shared, registers, spills, 4, 3, 0.1)


def of(source: str, one: Evaluation, targets: dict[str, str], *builds: KernelBuild) -> Evaluation:
    return replace(one, source_sha=source, targets=targets, builds=builds)


def timed(source: str, speedup: float, device: str) -> Evaluation:
    timing = TaskTiming((), 0, {"name": device}, {}, {})
    return replace(of(source, right(1.0, speedup), {"sm90": "ok"}), device="cuda", timing=timing)


@pytest.fixture
def run(tmp_path: Path) -> str:
    unloadable = replace(broken(), status=Status.RUNTIME_ERROR, stage=Stage.LOAD, reason=Reason.LOAD_ERROR)
    cut = replace(wrong(), status=Status.TIMEOUT, stage=Stage.RUN, reason=Reason.DEADLINE, compiled=False)
    verdicts = {
        "T/a": [
            of("fine", right(), ALL_OK, build("sm90", 10), build("sm90", 40, 512), build("gfx942", 7)),
            of("spills", right(), ALL_OK, build("sm90", 255, 64, 8), build("sm90", None, 0, None)),
        ],
        "T/b": [
            of("large", wrong(), {"sm90": "ok", "gfx942": TOO_MUCH}, build("sm90", 20)),
            of("refused", broken(), ALL_OK),  # what the others made of it is not known: it is not tried there
            of("idle", wrong(), ALL_OK),
        ],
        "T/c": [of("unloadable", unloadable, {}), of("cut", cut, {}), infra("", "x")],
    }
    return written(tmp_path / "run", verdicts, simulated=True, notice="SIM")


def test_rates_resources_and_differences_are_as_on_paper(run: str) -> None:
    found = hardware([run])
    assert (len(found.kernels), len(found.loading), len(found.common), found.infra) == (7, 6, 4, 1)
    assert found.targets == ("sm90", "gfx942") and found.untried == ()
    assert found.rate("sm90", found.loading) == Rate(tried=5, compile=4, tried_launching=4, compile_launching=3)
    assert found.rate("gfx942", found.loading) == Rate(tried=4, compile=3, tried_launching=3, compile_launching=2)
    assert found.rate("sm90", found.common) == Rate(4, 4, 3, 3)
    taken = found.resources("sm90")  # the largest of each source: 40, 255, 20 registers
    assert [(one.n, one.median, one.largest, one.nonzero) for one in taken.values() if one] == [
        (3, 40, 255, 3),
        (3, 64, 512, 2),
        (3, 0, 8, 1),
    ]
    assert [(one.n, one.median) for one in found.resources("gfx942").values() if one] == [(1, 7), (1, 0), (1, 0)]
    assert [(kernel.task, kernel.outcomes) for kernel in found.differing] == [
        ("T/b", {"sm90": "ok", "gfx942": TOO_MUCH})
    ]


def test_the_output_fits_and_says_what_is_missing(run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hardware", run, "--targets", "sm90,gfx942,sm80", "--json", str(tmp_path / "h.json")]) == 0
    text = capsys.readouterr().out
    lines = [line.split() for line in text.splitlines()]
    assert max(map(len, text.splitlines())) <= 120 and "SIM" in text
    assert "sm90 5 of 6 4 of 5 80.0% 3 of 4 75.0% 4 of 4 100.0%" in [" ".join(line) for line in lines]
    assert "sm80 0 of 6 0 of 0 - 0 of 0 - 0 of 0 -" in [" ".join(line) for line in lines]
    assert "No run here was judged for sm80." in text and "--targets sm90,gfx942,sm80" in text
    assert ["T/b", sha_of("large")[:8], "sm90", "gfx942", *TOO_MUCH.split()] in lines
    assert "need runs of the same kernels on two devices; timings here are of none" in text
    data = json.loads((tmp_path / "h.json").read_text())
    assert data["untried"] == ["sm80"] and data["targets"]["sm80"]["resources"]["registers"] is None
    assert data["targets"]["gfx942"]["all"]["compile"] == 3 and data["spread"] is None


def test_what_the_other_targets_did_is_only_told_where_it_is_known() -> None:
    assert outcomes_of(of("", broken("line 3: no"), ALL_OK)) == {"sm90": "line 3: no"}
    assert outcomes_of(of("", broken(), {"sm90": "first", "sm80": "ok", "gfx942": TOO_MUCH})) == {
        "sm90": "first",
        "gfx942": TOO_MUCH,
    }
    at_load = replace(broken(), stage=Stage.LOAD)
    assert outcomes_of(of("", at_load, ALL_OK)) == outcomes_of(right()) == {}


def test_an_error_in_one_run_outweighs_an_ok_in_another(run: str, tmp_path: Path) -> None:
    verdicts = {
        "T/a": [of("fine", wrong(), {"gfx942": "ok", "sm80": "ok"}), of("spills", broken("no"), {"gfx942": "ok"})]
    }
    found = hardware([run, written(tmp_path / "again", verdicts)])
    by_sha = {kernel.sha: kernel for kernel in found.kernels}
    fine, spills = by_sha[sha_of("fine")], by_sha[sha_of("spills")]
    assert len(found.kernels) == 7 and fine.outcomes == {**ALL_OK, "sm80": "ok"} and len(fine.runs) == 2
    assert spills.outcomes == {"sm90": "ok", "gfx942": "no"} and spills in found.differing
    turned = hardware([str(tmp_path / "again"), run])
    assert {kernel.sha: kernel.outcomes for kernel in turned.kernels}[spills.sha] == spills.outcomes


def test_speedups_spread_over_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    h200 = {"T/a": [timed("a", 2.0, "H200"), timed("a", 8.0, "H200")], "T/b": [timed("b", 3.0, "H200")]}
    a100 = {"T/a": [timed("a", 1.0, "A100")], "T/b": [timed("b", 3.0, "A100")], "T/c": [timed("c", 9.0, "A100")]}
    runs = [written(tmp_path / "h", h200), written(tmp_path / "a", a100)]
    found = hardware(runs)
    assert found.devices == ("H200", "A100") and found.spread
    assert found.spread.n == 2 and found.spread.geometric == pytest.approx(2.0)  # of 4, over two runs on one, and 1
    assert [kernel.spread for kernel in found.most_dependent] == pytest.approx([4.0, 1.0])
    assert main(["hardware", *runs]) == 0
    assert "4.00x H200, 1.00x A100" in capsys.readouterr().out
    assert main(["hardware", runs[0]]) == 0
    assert "timings here are only of H200" in capsys.readouterr().out


def test_imports_from_two_devices_that_nobody_judged_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, speedup in (("x", 1.0), ("y", 3.0)):
        kernel = Foreign("Math/softmax", "mark = 0\n", recorded=Recorded(True, True, True, speedup=speedup))
        import_run(tmp_path / name, Import([kernel], name, {"reader": "test"}))
    assert main(["hardware", str(tmp_path / "x"), str(tmp_path / "y")]) == 0
    text = capsys.readouterr().out
    assert "No run here was compiled for any target." in text and "3.00x n=1" in text
    assert "Sources that load" not in text


def test_mistakes_are_one_line(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (([run, run], "named twice"), ([run, "--targets", "sm91"], "did you mean 'sm90'")):
        assert main(["hardware", *arguments]) == 2
        captured = capsys.readouterr()
        assert said in captured.err and captured.err.count("\n") == 1 and not captured.out
