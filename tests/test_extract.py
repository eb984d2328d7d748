"""Code is found in every form that replies come in, and nothing is made up where there is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.extract import code_of, prose_of

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)

    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)


def add(x):
    return x
"""
BROKEN = KERNEL.replace("def add(x):", "def add(x:")
TORCH = "import torch\n\n\ndef add(x):\n" + "    x = x + 0\n" * 60 + "    return torch.add(x, 1)\n"


def fence(source: str, tag: str = "python", ticks: str = "```") -> str:
    return f"{ticks}{tag}\n{source}\n{ticks}"


@pytest.mark.parametrize(
    "reply",
    [
        fence(KERNEL),
        fence(KERNEL, ""),
        fence(KERNEL, "Python"),
        fence(KERNEL, "triton"),
        fence(KERNEL, "cpp"),
        fence(KERNEL, ticks="~~~"),
        fence(KERNEL, "python title=add.py"),
        f"Here it is: ```python\n{KERNEL}```\nIt adds one.",
        f"I fixed the mask.\n\n{fence(KERNEL)}\n\nIt should work.",
        f"```python\n{KERNEL}",
        KERNEL,
        f"Here is the file:\n\n{KERNEL}\nIt adds one to each element.",
        fence(KERNEL).replace("\n", "\r\n"),
        "\n".join("   " + line for line in fence(KERNEL).split("\n")),
        f"<think>first ```python\nimport os\n``` no</think>\n{fence(KERNEL)}",
        f"it opened elsewhere, {fence('import os')}</think>\n{fence(KERNEL)}",
        json.dumps({"strategy": "plain", "code": KERNEL}),
        json.dumps({"code": fence(KERNEL)}),
        fence(json.dumps({"code": KERNEL}), "json"),
        "{\"code\": \"" + KERNEL.replace('"', '\\"') + "\"}",
        f"{fence('pip install triton', 'bash')}\n{fence(KERNEL)}\n{fence('tensor([1, 2])', '')}",
        f"{fence(TORCH)}\nand the kernel:\n{fence(KERNEL)}",
        f"{fence(BROKEN + '# longer')}\nOh, a parenthesis is missing:\n{fence(KERNEL)}",
    ],
)  # fmt: skip
def test_the_kernel_is_found(reply: str) -> None:
    assert code_of(reply) == KERNEL


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "  \n",
        "I would first load the block, then subtract its maximum.",
        "from the trace it follows that\nimport of the mask is what fails",
        "@triton.jit must decorate the kernel, otherwise it is a plain function.",
        fence("x -> y -> z", "text"),
        fence("wrong: mismatch at (3, 4)", ""),
        fence("", "python"),
        f"<think>{fence(KERNEL)}",
        f"<think>{fence(KERNEL)}</think> I give up.",
        '{"code": ""}',
        '{"code": 7}',
    ],
)
def test_no_code_is_none(reply: str) -> None:
    assert code_of(reply) is None


def test_python_that_does_not_parse_is_given_back_for_its_syntax_error() -> None:
    assert code_of(fence(BROKEN)) == BROKEN
    assert code_of(f"The file:\n{BROKEN}") == BROKEN


def test_a_fence_inside_a_docstring_does_not_cut_the_file() -> None:
    source = f'"""Usage:\n\n```\nadd(x)\n```\n"""\n{KERNEL}'
    assert code_of(fence(source)) == source
    assert code_of(fence(source, ticks="````")) == source


def test_the_longest_of_several_kernels_wins_and_the_last_of_equals() -> None:
    other = KERNEL.replace("+ 1", "+ 2")
    assert code_of(f"{fence(KERNEL)}\n{fence(other)}") == other
    longer = KERNEL + "\n\nMORE = 1\n"
    assert code_of(f"{fence(longer)}\n{fence(other)}") == longer


def test_prose_is_what_stands_outside_the_code() -> None:
    reply = f"<think>hm</think>The `mask` was missing.\nNow it is there: {fence(KERNEL)}\nDone."
    assert prose_of(reply) == "The mask was missing. Now it is there: Done."
    assert prose_of("word " * 200, limit=20) == "word word word wo..."
    assert prose_of(f"```python\n{KERNEL}") == ""


LINES = st.text(st.characters(exclude_characters="\r`~<", exclude_categories=["Cs"]), max_size=40)


@given(st.lists(LINES, min_size=1).map("\n".join).filter(str.strip), st.sampled_from(["python", "py", "triton"]))
def test_a_fenced_source_comes_back_as_it_was(source: str, tag: str) -> None:
    wanted = source.strip("\n").rstrip() + "\n"
    assert code_of(f"Here:\n\n{fence(source, tag)}\nThat is all.") == wanted


PIECES = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.sampled_from(
            ["```", "```python\n", "~~~", "<think>", "</think>", '{"code": "', '"}', "\n", "\n\n", "def f(",
             "import x\n", "@triton.jit\n", "(" * 300, "\x00", "    ", '"""']
        ),
    ),
    max_size=25,
).map("".join)  # fmt: skip


@given(PIECES)
def test_no_text_makes_it_raise(text: str) -> None:
    code = code_of(text)
    assert code is None or (code.strip() and code.endswith("\n"))
    assert "`" not in prose_of(text) and "\n" not in prose_of(text)


def test_what_was_found_is_found_again() -> None:
    once = code_of(f"Text. {fence(KERNEL)}")
    assert once is not None and code_of(fence(once)) == once
