import subprocess
import sys

import pytest

from tasks.__main__ import main
from tasks.catalog import built, index


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
