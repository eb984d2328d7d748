"""Prompts carry what the model needs and what machines read, and a gap in one is an error."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.brief import case_lines
from prompts.loader import HERE, PromptError, Templates
from tasks.catalog import built, load
from tasks.judges import Elementwise, Exact, Property
from tests.fakes import candidate, right, wrong

TASK = load("Math/softmax")
CASES = ["last dimension: softmax(input=float32[5, 33], dim=1)"]
LAST = candidate(3, wrong("got 0.25 at (1, 2)\nexpected 0.5"))
BEST = candidate(4, right(2.0))
NEEDED: dict[str, dict[str, Any]] = {
    "generate.j2": {},
    "fix.j2": {"last": LAST},
    "reflect.j2": {"last": LAST},
    "optimise.j2": {"best": BEST},
}
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def render(name: str, **variables: Any) -> str:
    return Templates().render(name, **{"task": TASK, "cases": CASES, **NEEDED[name], **variables})


@pytest.mark.parametrize("name", NEEDED)
def test_every_prompt_opens_with_the_task(name: str) -> None:
    text = render(name)
    assert text.startswith("# Task: Math/softmax\n")
    for part in (TASK.text.strip(), TASK.signature, CASES[0]):
        assert part in text
    words = FENCE.sub("...", text).partition("Complete files for other operators:")[0]
    assert not re.search(r"\{\{|\{%|\{#|\n\n\n", words)


@pytest.mark.parametrize("name", NEEDED)
def test_every_prompt_needs_its_variables(name: str) -> None:
    needed = {"task": TASK, "cases": CASES, **NEEDED[name]}
    for missing in needed:
        with pytest.raises(PromptError, match=missing):
            Templates().render(name, **{key: value for key, value in needed.items() if key != missing})


def test_only_prompts_that_ask_for_code_ask_for_code() -> None:
    asked = {name for name in NEEDED if "Reply with the complete file" in render(name)}
    assert asked == {"generate.j2", "fix.j2", "optimise.j2"}
    assert not FENCE.search(render("generate.j2"))


def test_the_contract_of_the_task_is_told() -> None:
    plain = render("generate.j2")
    assert "The inputs must be left as they are." in plain and "it may also call" not in plain
    odd = replace(TASK, mutates=("param", "state"), returns=False, writes_to="out", allow=frozenset({"topk", "cumsum"}))
    text = render("generate.j2", task=odd)
    assert "change in place: `param`, `state`." in text
    assert "The returned value is not looked at." in text
    assert "When `out` is given" in text
    assert "may also call `cumsum`, `topk`." in text


def test_a_strategy_and_dead_ends_are_told() -> None:
    text = render("generate.j2", strategy="two kernels", avoid=["one kernel (ended in wrong)"])
    assert "Approach to take: two kernels\n" in text
    assert "- one kernel (ended in wrong)\n" in text


@pytest.mark.parametrize("name", ["fix.j2", "reflect.j2"])
def test_a_failure_comes_with_its_source_and_its_evidence(name: str) -> None:
    text = render(name)
    assert FENCE.findall(text) == [LAST.source]
    assert "\nVerdict: wrong: mismatch\n" in text
    assert "\n--- diagnosis ---\ngot 0.25 at (1, 2)\nexpected 0.5\n--- end of diagnosis ---\n" in text


@pytest.mark.parametrize("name", ["fix.j2", "reflect.j2"])
def test_a_reply_without_code_has_no_fence(name: str) -> None:
    text = render(name, last=candidate(0, wrong(), source=""))
    assert not FENCE.search(text) and "held no Python code" in text


def test_the_history_counts_all_attempts_and_shows_the_last() -> None:
    attempts = [candidate(i, wrong(f"wrong: mismatch (stage: compare)\ncase {i}\nmore")) for i in range(8)] + [
        candidate(8, right(2.0))
    ]
    text = render("fix.j2", last=attempts[-2], attempts=attempts, remarks={7: "I added the mask."})
    history = text.partition("Your attempts so far:\n")[2].partition("\n\n")[0]
    assert history == "\n".join(
        [
            "4. wrong: mismatch. case 3; more",
            "5. wrong: mismatch. case 4; more",
            "6. wrong: mismatch. case 5; more",
            "7. wrong: mismatch. case 6; more",
            "8. wrong: mismatch. case 7; more",
            '   It came with: "I added the mask."',
            "9. correct, traffic 2.00 times the least possible",
        ]
    )


def test_optimising_shows_the_pool_first_and_the_parent_last() -> None:
    other = candidate(1, right(traffic=None, speedup=1.314))
    text = render("optimise.j2", pool=[other, BEST], attempts=[candidate(5, wrong("off by one"))], strategy="fuse")
    assert FENCE.findall(text) == [other.source, BEST.source]
    assert "Another correct kernel, speedup 1.31 over eager:\n" in text
    assert "\nMeasured: traffic 2.00 times the least possible\n" in text
    assert "\n--- diagnosis ---\nreads it twice\n--- end of diagnosis ---\n" in text
    assert "1. wrong: mismatch. off by one\n" in text and "Approach to take: fuse\n" in text


def test_the_users_folder_comes_first_and_shows_in_the_hashes(tmp_path: Path) -> None:
    (tmp_path / "fix.j2").write_text("Mend {{ task.id }}. {% include '_reply.j2' %}")
    templates = Templates(tmp_path)
    assert templates.render("fix.j2", task=TASK).startswith("Mend Math/softmax. Reply with")
    ours, theirs = Templates().hashes(), templates.hashes()
    assert {name for name in ours if ours[name] != theirs[name]} == {"fix.j2"}
    assert theirs["fix.j2"] == hashlib.sha256((tmp_path / "fix.j2").read_bytes()).hexdigest()
    files = [*HERE.glob("*.j2"), *HERE.glob("*.md"), *HERE.glob("examples/*.py")]
    assert set(ours) == {path.relative_to(HERE).as_posix() for path in files}
    assert {"_task.j2", "facts.md", "examples/rows.py"} < set(ours)


def test_facts_and_examples_can_be_overridden(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "rows.py").write_text("MINE = {{ 1 + 1 }}\n")
    (tmp_path / "facts.md").write_text("There is nothing to know.\n")
    templates = Templates(tmp_path)
    text = templates.render("generate.j2", task=TASK, cases=CASES)
    assert "There is nothing to know." in text and "In tl there is" not in text
    assert "--- rows.py ---\nMINE = 2\n" in text and "below_top" not in text
    ours, theirs = Templates().hashes(), templates.hashes()
    assert {name for name in ours if ours[name] != theirs[name]} == {"facts.md", "examples/rows.py"}


def test_only_files_with_a_hash_can_be_included(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("unseen")
    (tmp_path / "mine.j2").write_text("{% include 'notes.txt' %}")
    with pytest.raises(PromptError, match=r"no template 'notes\.txt'"):
        Templates(tmp_path).render("mine.j2")
    assert not {name for name in Templates(tmp_path).names() if name in ("loader.py", "__init__.py", "notes.txt")}


@pytest.mark.parametrize(
    ("judge", "told"),
    [
        (Elementwise(ulps=0.5), "relative error at most 0.5 epsilons of the output's dtype; integers equal"),
        (Elementwise(slack=lambda: 1.0), "at most 4 epsilons of the output's dtype, plus the rounding of sums"),
        (Exact(), "Judged exactly"),
        (Property(lambda *_: None), "Judged by the properties"),
    ],
)
def test_how_values_are_judged_is_told(judge: Any, told: str) -> None:
    assert told in render("generate.j2", task=replace(TASK, judge=judge))


def test_prompts_and_their_parts_are_short() -> None:
    for name in ("generate.j2", "fix.j2", "optimise.j2", "reflect.j2", "facts.md"):
        assert (HERE / name).read_text().count("\n") <= 60
    templates = Templates()
    sizes = [len(templates.render("generate.j2", task=task, cases=case_lines(task))) for task in map(load, built())]
    assert sorted(sizes)[len(sizes) // 2] <= 9000 and max(sizes) <= 11_000


def test_mistakes_in_templates_are_named(tmp_path: Path) -> None:
    (tmp_path / "odd.j2").write_text("one\n{% if %}")
    with pytest.raises(PromptError, match=r"template odd.j2, line 2: "):
        Templates(tmp_path)
    with pytest.raises(PromptError, match=r"no template 'fxi.j2'; there are .*fix.j2"):
        Templates().render("fxi.j2")
    (tmp_path / "odd.j2").write_bytes(b"caf\xe9")
    with pytest.raises(PromptError, match=r"template odd.j2 is not UTF-8"):
        Templates(tmp_path)
    with pytest.raises(PromptError, match="no folder of templates"):
        Templates(tmp_path / "none")
