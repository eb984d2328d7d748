"""The report in a real browser, headless Chromium: it opens, is searched and read, and nothing in it runs."""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from report_fakes import EVIL, FOLDER, TASKS, marked_run

from agents.runfolder import Run
from experiments.cells import cells_of
from experiments.plots import plots_of
from experiments.report.page import page

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

BROWSER, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER.exists() and DRIVER.exists()), reason="no Chromium: Debian's chromium and chromium-driver are missing"
)
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1300,900")
SOURCES = (
    '@triton.jit\ndef f(x, B: tl.constexpr):\n    """a\n  b"""\n    return load(x + 0x1F, mask=1.5e-3 < x) @ "a\\"b"\n',
    "x = 'never closed\ny = '''neither\n# this\n",
    "a = 1\r\n\tb = rb'\\x00' + f\"{a}\"\n\n\n",
    "\u2028 déjà \U0001f600 \\",
    "",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return marked_run(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def address(run: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    cells = cells_of([str(run.path)])
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(page(cells, plots_of(cells), f"Report {EVIL}"), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.binary_location = str(BROWSER)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
    yield made
    made.quit()


@pytest.fixture
def opened(browser: webdriver.Chrome, address: str) -> Iterator[webdriver.Chrome]:
    """The page, newly loaded. Whatever a test did to it, no error is in the console and nothing else was fetched."""
    go(browser, address)
    yield browser
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.execute_script("return [typeof owned, document.images.length]") == ["undefined", 0]


def go(browser: webdriver.Chrome, address: str) -> None:
    browser.get("about:blank")  # or only the fragment would change
    browser.get(address)
    until(browser, lambda: "trajectories" in text(browser, "count"))


def until(browser: webdriver.Chrome, holds: Any) -> None:
    WebDriverWait(browser, 30, poll_frequency=0.02).until(lambda _: holds())


def text(browser: webdriver.Chrome, id: str) -> str:
    said: str = browser.execute_script("return document.getElementById(arguments[0]).textContent", id)
    return said


def rows(browser: webdriver.Chrome) -> list[str]:
    return texts(browser, "#list th > a")


def texts(browser: webdriver.Chrome, selector: str) -> list[str]:
    """In one call: the list may be made anew between two."""
    script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
    found: list[str] = browser.execute_script(script, selector)
    return found


def focused(browser: webdriver.Chrome) -> str:
    said: str = browser.execute_script("return document.activeElement.textContent")
    return said


def choose(browser: webdriver.Chrome, id: str, value: str) -> None:
    browser.find_element(By.CSS_SELECTOR, f"#{id} option[value='{value}']").click()


def open_task(browser: webdriver.Chrome, task: str) -> None:
    """A trajectory with all its parts opened."""
    browser.execute_script("location.hash = new URLSearchParams({task: arguments[0]})", task)
    until(browser, lambda: task in text(browser, "trajectory") and "lane 1" in text(browser, "trajectory"))
    browser.execute_script("for (const part of document.querySelectorAll('dialog details')) part.open = true")
    until(browser, lambda: not browser.find_elements(By.CSS_SELECTOR, "dialog details > summary:only-child"))


def test_it_opens_with_its_notice_and_its_plots(opened: webdriver.Chrome, run: Run) -> None:
    assert opened.find_element(By.TAG_NAME, "h1").text == f"Report {EVIL}"
    assert opened.find_element(By.CSS_SELECTOR, "#summary .notice").text == run.simulation_notice
    assert len(opened.find_elements(By.CSS_SELECTOR, "figure svg")) > 2
    assert rows(opened) == sorted(TASKS) and text(opened, "count") == "3 of 3 trajectories"
    assert FOLDER in text(opened, "rates")


def test_filters_leave_what_fits(opened: webdriver.Chrome) -> None:
    choose(opened, "by-category", "Toy")
    assert rows(opened) == ["Toy/one", "Toy/two"]
    choose(opened, "by-status", "wrong")
    assert rows(opened) == ["Toy/two"] and text(opened, "count") == "1 of 3 trajectories"
    opened.find_element(By.ID, "any-attempt").click()
    choose(opened, "by-reason", "mismatch")
    assert rows(opened) == ["Toy/one", "Toy/two"]
    choose(opened, "by-state", "failing")
    assert rows(opened) == ["Toy/two"]
    opened.find_element(By.CSS_SELECTOR, "#filters button").click()
    until(opened, lambda: rows(opened) == sorted(TASKS))


def test_search_finds_names_sources_and_diagnoses(opened: webdriver.Chrome, run: Run) -> None:
    field = opened.find_element(By.ID, "search")
    diagnosis = run.candidates("Other/three")[0].evaluation.diagnosis
    for wanted, tasks, where in (
        ("three", ["Other/three"], ""),
        ("toy/two 1 0'''", ["Toy/two"], "source of #"),
        (diagnosis[-6:], ["Other/three"], "diagnosis of #0: line 4: </script><img"),
        ("import triton", sorted(TASKS), "source of #0: import triton"),
        ("nowhere to be found", [], ""),
    ):
        field.clear()
        field.send_keys(wanted)
        until(opened, lambda tasks=tasks: rows(opened) == tasks)
        hits = texts(opened, "#list .hit")
        assert all(where in hit for hit in hits) and len(hits) == (len(tasks) if where else 0)


def test_a_trajectory_shows_all_there_is_and_runs_none_of_it(opened: webdriver.Chrome, run: Run) -> None:
    for task in TASKS:
        open_task(opened, task)
        shown = text(opened, "trajectory")
        assert shown.count(EVIL) > 12 and run.simulation_notice and run.simulation_notice in shown
        for one in run.candidates(task):
            assert one.evaluation.diagnosis in shown
            article = text(opened, f"candidate-{one.index}")
            assert article.count(one.source) == 2  # by itself, and in the reply
            assert article.count("Difference to #") == len(one.parents) and "Prompt" in article and "small" in article
    open_task(opened, "Toy/one")
    assert "2.000x over eager" in text(opened, "trajectory") and "a device" in text(opened, "trajectory")
    marked = opened.find_elements(By.CSS_SELECTOR, "#candidate-0 .numbered .line")[3]
    assert "marked" in str(marked.get_attribute("class"))


def test_an_address_opens_a_candidate(browser: webdriver.Chrome, address: str) -> None:
    go(browser, f"{address}#task=Toy/two&run={FOLDER}&candidate=3")
    until(browser, lambda: browser.execute_script("return document.activeElement.id") == "candidate-3")
    assert browser.find_element(By.ID, "trajectory-heading").text == "Toy/two"


def test_keys_alone_do(opened: webdriver.Chrome) -> None:
    def press(*keys: str) -> None:
        opened.switch_to.active_element.send_keys(*keys)

    press(Keys.TAB)
    assert opened.switch_to.active_element.text == "Skip to the trajectories"
    press("/")
    press("toy/")
    assert opened.find_element(By.ID, "search").get_attribute("value") == "toy/"
    until(opened, lambda: rows(opened) == ["Toy/one", "Toy/two"])
    press(Keys.ESCAPE)
    until(opened, lambda: rows(opened) == sorted(TASKS))
    opened.execute_script("document.activeElement.blur()")
    press("j")
    press("j")
    assert opened.switch_to.active_element.text == "Toy/one"
    assert opened.switch_to.active_element.value_of_css_property("outline-style") == "solid"
    press(Keys.ENTER)
    until(opened, lambda: "Round 2" in text(opened, "trajectory"))
    assert focused(opened) == "Toy/one"
    press("j")
    until(opened, lambda: text(opened, "trajectory-heading") == "Toy/two")
    press(Keys.ESCAPE)
    until(opened, lambda: not opened.find_element(By.ID, "trajectory").is_displayed())
    until(opened, lambda: focused(opened) == "Toy/two")
    assert "task=" not in opened.current_url


def test_a_new_list_keeps_the_focus(opened: webdriver.Chrome) -> None:
    opened.execute_script("links()[1].focus()")
    opened.execute_async_script("update().then(arguments[0])")
    assert focused(opened) == sorted(TASKS)[1]


CONTRAST = """
const level = (colour) => {
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((one) => one / 255);
  const [r, g, b] = parts.map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const of = (name) => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(--${name})`;
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return level(colour);
};
return arguments[0].map(([ink, paper]) => {
  const [a, b] = [of(ink), of(paper)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
});
"""
PAIRS = [(ink, paper) for ink in ("ink", "quiet", "link", "good", "bad") for paper in ("paper", "raised")]
PAIRS += [("ink", "notice"), ("ink", "mark"), ("ink", "new"), ("ink", "gone")]


def test_both_colour_schemes_can_be_read(opened: webdriver.Chrome) -> None:
    """By the contrast ratio of WCAG 2.2, section 1.4.3: at least 4.5 for text."""

    def paper() -> str:
        return opened.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")

    seen = []
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        seen.append(paper())
        found = opened.execute_script(CONTRAST, PAIRS)
        assert min(found) >= 4.5, dict(zip(PAIRS, found, strict=True))
    light, dark = seen
    assert light != dark
    button = opened.find_element(By.ID, "theme")
    for words, shown in (("light", light), ("dark", dark), ("as the system", dark)):
        button.click()
        assert button.text == f"Colours: {words}" and paper() == shown
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


OUTLINE = """
const named = (e) => e.labels?.length || e.getAttribute("aria-label");
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
return {
  unnamed: [...document.querySelectorAll("input, select")].filter((e) => !named(e)).map((e) => e.id),
  plainHeads: [...document.querySelectorAll("th")].filter((e) => !e.scope).length,
  tables: [...document.querySelectorAll("table")].filter((e) => !e.caption).length,
  twice: ids.filter((id, at) => ids.indexOf(id) !== at),
  lost: [...document.querySelectorAll("[aria-labelledby]")]
    .flatMap((e) => e.getAttribute("aria-labelledby").split(" ")).filter((id) => !ids.includes(id)),
  levels: [...document.querySelectorAll("h1, h2, h3, h4")].map((e) => Number(e.tagName[1])),
};
"""


def test_a_screen_reader_is_told_what_is_what(opened: webdriver.Chrome) -> None:
    open_task(opened, "Toy/one")
    found = opened.execute_script(OUTLINE)
    levels = found.pop("levels")
    assert found == {"unnamed": [], "plainHeads": 0, "tables": 0, "twice": [], "lost": []}
    assert levels.count(1) == 1 and all(b <= a + 1 for a, b in pairwise(levels))


@pytest.mark.parametrize("source", SOURCES)
def test_highlighting_changes_no_character(opened: webdriver.Chrome, source: str) -> None:
    script = "return linesOf(arguments[0]).map((line) => line.map((part) => part[1]).join(''))"
    lines = opened.execute_script(script, source)
    assert lines == source.removesuffix("\n").split("\n")


def test_differences_lead_from_one_to_the_other_by_few_lines(opened: webdriver.Chrome) -> None:
    draw = random.Random(0)
    for _ in range(40):
        a, b = ([draw.choice("abcd") for _ in range(draw.randint(0, 12))] for _ in range(2))
        found = opened.execute_script("return differences(arguments[0], arguments[1])", a, b)
        assert [a[i] for mark, i, _ in found if mark != "+"] == a and [b[j] for mark, _, j in found if mark != "-"] == b
        same = sum(mark == " " for mark, _, _ in found)
        matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
        assert same >= sum(block.size for block in matcher.get_matching_blocks())
