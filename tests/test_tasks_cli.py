import inspect
import subprocess
import sys

import pytest

from prompts.loader import Templates
from tasks.__main__ import main
from tasks.catalog import HERE, built, index, load
from tasks.facts import README, computed, facts, table


def lines(capsys, *arguments):
    assert main(arguments) == 0
    return capsys.readouterr().out.splitlines()


def test_list_has_a_line_for_each_task_and_the_counts(capsys):
    shown = lines(capsys, "list")
    assert [line.split()[0] for line in shown[1:-1]] == list(index())
    done = len(built())
    assert shown[-1] == f"{len(index())} tasks: {done} built, {len(index()) - done} not built"


def test_list_says_which_are_built(capsys):
    state = {line.split()[0]: "not built" not in line for line in lines(capsys, "list")[1:-1]}
    assert [name for name, done in state.items() if done] == built()


def test_list_of_one_category(capsys):
    shown = lines(capsys, "list", "--category", "Loss")
    assert {line.split("/")[0] for line in shown[1:-1]} == {"Loss"}


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["list", "--category", "Los"], "Loss"),
        (["show", "softmx"], "Math/softmax"),
        (["show", "Math"], "takes one"),
        (["show", "nowhere.py"], "nowhere.py"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_2(capsys, monkeypatch, arguments, near):
    monkeypatch.setattr("tasks.__main__.select", select_with_two_in_math)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and near in err


def select_with_two_in_math(patterns):
    from tasks.catalog import select

    return ["Math/softmax", "Math/other"] if patterns == ["Math"] else select(patterns)


def test_show_gives_text_signature_contract_and_public_cases(capsys):
    shown = "\n".join(lines(capsys, "show", "AdamW"))
    assert index()["Optimizer/AdamW"].signature in shown
    assert "tasks/Optimizer/AdamW.py" in shown
    assert "entry: adamw_step or AdamW" in shown
    assert "changed in place: param, exp_avg, exp_avg_sq" in shown
    assert "the returned value is not judged" in shown
    assert "adamw_step(param=float32[100]" in shown


@pytest.mark.parametrize(
    "name", ["Math/softmax", "Math/floor", "LinearAlgebra/qr", "Index/masked_select", "Fusion/fused_hardshrink_dropout"]
)
def test_show_says_of_tolerance_and_launches_what_the_prompt_says(capsys, name):
    shown = lines(capsys, "show", name)
    told = [line for line in shown if line.startswith(("Judged ", "What counts", "- "))]
    prompt = Templates().render("_task.j2", task=load(name), cases=[]).splitlines()
    assert len(told) >= 5 and [line for line in told if line not in prompt] == []


def test_show_names_the_parameter_that_receives_the_result(capsys):
    assert any("is returned: out" in line for line in lines(capsys, "show", "Random/rand"))


def test_show_takes_a_users_file(capsys, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import dataclasses\nfrom tasks.Math.softmax import TASK as S\nTASK = dataclasses.replace(S, id='Mine/x')\n"
    )
    shown = lines(capsys, "show", str(path))
    assert shown[0] == f"Mine/x   ({path.as_posix()})"


@pytest.mark.parametrize("arguments", [["--help"], ["list", "--help"], ["show", "--help"]])
def test_every_help_has_an_example(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    assert "python -m tasks " in capsys.readouterr().out.split("example")[1]


def test_listing_imports_no_torch():
    probe = "import sys; from tasks.__main__ import main; main(['list']); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True).returncode == 0


def test_list_shows_purity_and_cost_of_what_is_built(capsys):
    (softmax,) = [line for line in lines(capsys, "list", "--category", "Math") if line.startswith("Math/softmax ")]
    assert "Triton" in softmax and "MB" in softmax and "flop" in softmax


def test_the_facts_are_those_of_the_tasks():
    known = facts()
    assert list(known) == built()
    for name in built()[:: max(1, len(built()) // 8)]:
        assert known[name] == computed(name), f"{name}: say `python -m tasks facts`"
    assert table() in README.read_text(encoding="utf-8")


def test_a_new_task_fails_its_test_until_it_is_filled_in(tmp_path, capsys):
    signature = "scale(x: Tensor, *, factor: float=2.0)"
    assert main(["new", "Mine/scale", "--signature", signature, "--out", str(tmp_path)]) == 0
    task = load(str(tmp_path / "scale.py"))
    assert (task.id, task.entry) == ("Mine/scale", "scale")
    assert [(p.name, p.default) for p in inspect.signature(task.reference).parameters.values()][1] == ("factor", 2.0)
    run = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(tmp_path / "test_scale.py")]
    failed = subprocess.run(run, capture_output=True, text=True, cwd=HERE.parent)
    assert failed.returncode == 1 and "NotImplementedError" in failed.stdout
    capsys.readouterr()
    assert main(["new", "Mine/scale", "--out", str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["new", "scale"], ["new", "Mine/a b"], ["new", "Mine/f", "--signature", "f(x"]])
def test_a_new_task_needs_an_id_and_a_signature(arguments, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
