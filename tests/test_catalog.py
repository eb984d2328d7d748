import dataclasses
import subprocess
import sys

import pytest

from tasks import catalog
from tasks.catalog import built, index, load, oracle_path, select
from tasks.errors import UserError, unknown

GOOD = """
import dataclasses
from tasks.Math.softmax import TASK as SOFTMAX
TASK = dataclasses.replace(SOFTMAX, id="Mine/twice")
"""


@pytest.fixture
def unbuilt(monkeypatch):
    """The index with one more category whose only task has no file."""
    row = dataclasses.replace(index()["Math/softmax"], id="Imaginary/thing")
    rows = {**index(), row.id: row}
    monkeypatch.setattr(catalog, "index", lambda: rows)
    return row.id


def test_the_index_has_all_tasks():
    assert len(index()) == 176
    assert len({row.category for row in index().values()}) == 15


def test_built_keeps_the_order_of_the_index():
    done = built()
    assert done == [name for name in index() if name in done]
    assert "Math/softmax" in done


def test_no_pattern_means_every_built_task():
    assert select([]) == built()


@pytest.mark.parametrize("pattern", ["Math/softmax", "softmax", "Math/soft*", "*/softmax"])
def test_a_task_by_id_base_name_and_glob(pattern):
    assert select([pattern]) == ["Math/softmax"]


def test_a_category_takes_its_built_tasks(hide):
    hide("LinearAlgebra/cholesky")
    assert select(["LinearAlgebra"]) == [name for name in built() if name.startswith("LinearAlgebra/")]
    assert "LinearAlgebra/cholesky" not in select(["LinearAlgebra"]) and "LinearAlgebra/det" in built()


def test_patterns_add_up_without_repeats():
    assert select(["Random/rand", "Math/softmax", "rand"]) == ["Random/rand", "Math/softmax"]


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("softmx", "Math/softmax"),
        ("math/SOFTMAX", "Math/softmax"),
        ("Loos", "Loss"),
        ("*/nothing_like_it", "no task matches"),
    ],
)
def test_an_unknown_name_gives_near_matches_in_one_line(pattern, hint):
    with pytest.raises(UserError) as raised:
        select([pattern])
    assert hint in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("pattern", ["Imaginary/thing", "thing", "Imaginary", "Imaginary/*"])
def test_what_is_not_built_says_so(unbuilt, pattern):
    with pytest.raises(UserError, match="built yet"):
        select([pattern])
    with pytest.raises(UserError, match="not built yet"):
        load(unbuilt)


def test_a_glob_skips_what_is_not_built(unbuilt):
    assert unbuilt not in select(["*/*"])


def test_loading_an_unknown_id():
    with pytest.raises(UserError, match="did you mean 'Math/softmax'"):
        load("Math/softmx")


def test_a_users_file_loads(tmp_path):
    path = tmp_path / "twice.py"
    path.write_text(GOOD)
    assert select([str(path)]) == [str(path)]
    assert load(str(path)).id == "Mine/twice"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\n", "defines no TASK"),
        ("TASK = 3\n", "defines no TASK"),
        ("def broken(:\n", "SyntaxError"),
        ("import no_such_module_anywhere\n", "ModuleNotFoundError"),
        ("1 / 0\n", "ZeroDivisionError"),
    ],
)
def test_a_users_file_that_does_not_load(tmp_path, source, message):
    path = tmp_path / "mine.py"
    path.write_text(source)
    with pytest.raises(UserError, match=message) as raised:
        load(str(path))
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("call", [load, lambda name: select([name])])
def test_a_users_file_that_is_not_there(call):
    with pytest.raises(UserError, match=r"no task file 'nowhere\.py'"):
        call("nowhere.py")


def test_oracles_mirror_the_tasks():
    assert oracle_path("Math/softmax").is_file()
    assert oracle_path("Math/softmax").parts[-3:] == ("oracles", "Math", "softmax.py")


def test_near_matches_ignore_case_and_find_base_names():
    known = ["Loss/mse_loss", "Reduce/sum"]
    assert "'Reduce/sum'" in str(unknown("task", "SUM", known))
    assert "'Loss/mse_loss'" in str(unknown("task", "loss/mse", known))
    assert str(unknown("task", "qqq", known)) == "unknown task 'qqq'; known: Loss/mse_loss, Reduce/sum"


def test_listing_imports_no_torch():
    probe = "import sys, tasks.catalog as c; c.index(); c.built(); c.select(['Math']); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], capture_output=True).returncode == 0


def test_a_long_list_of_names_says_how_many_are_left_out():
    assert str(unknown("task", "qqq", [f"{n:02}" for n in range(23)])).endswith(", 19, ... (3 more)")
