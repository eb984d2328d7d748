"""Each cause of slowness is told of a correct kernel that has it, and not of one that hasn't."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from evaluator.advice import LINES_MAX, efficiency_lines
from evaluator.advice_facts import Argument, Usage, usage_of
from evaluator.advice_occupancy import residence
from evaluator.judge import Evaluator
from evaluator.records import KernelBuild
from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Cost, Task, nbytes
from tests.sources import GOOD, changed, double_task

DOUBLE = double_task()


def cases_of(name: str, *shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> dict[str, object]:
    """Parameters of a task with one case, the same one in each role."""

    def cases(draw: Draw) -> Iterator[Case]:
        yield Case("the one", tuple(draw.normal(*shape).to(dtype) for shape in shapes))

    return {"id": f"Mine/{name}", "public": cases, "hidden": cases, "stand_ins": cases}


ROWS = replace(DOUBLE, **cases_of("rows", (64, 64)))
HALVES = replace(DOUBLE, **cases_of("halves", (4096,), dtype=torch.float16))
SHARE = replace(
    DOUBLE,
    **cases_of("share", (1024,)),
    reference=lambda x: x / (1 + x.abs().sum()),
    judge=Elementwise(ulps=64),
)
PRODUCT = replace(
    DOUBLE,
    **cases_of("product", (64, 64), (64, 64)),
    entry="product",
    reference=lambda a, b: a @ b,
    judge=Elementwise(ulps=8, slack=lambda a, b: 64, magnitude=lambda a, b: a.double().abs() @ b.double().abs()),
    cost=lambda a, b: Cost(3 * nbytes(a), 2 * 64**3),
)

HEAD = GOOD.split("@triton.jit")[0]
LOAD, STORE = "x = tl.load(x_ptr + offs, mask=mask)", "tl.store(y_ptr + offs, 2 * x, mask=mask)"
LAUNCH = "double_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)"
HALF = changed((LAUNCH, LAUNCH.replace("64", "1024")))
ELEMENTS = """\
    for i in range(BLOCK):
        at = tl.program_id(0) * BLOCK + i
        x = tl.load(x_ptr + at, mask=at < n)
        tl.store(y_ptr + at, 2 * x, mask=at < n)
"""
MATRIX = f"""\
{HEAD}
@triton.jit
def double_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = ROW
    tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs))


def double(x):
    y = torch.empty_like(x)
    double_kernel[(64,)](x, y, BLOCK=64)
    return y
"""
ROW = MATRIX.replace("ROW", "tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
COLUMN = MATRIX.replace("ROW", "tl.arange(0, BLOCK) * BLOCK + tl.program_id(0)")
OFFSET = HALF.replace("x_ptr, y_ptr, n", "x_ptr, y_ptr, at_ptr, n").replace("(x, y, n", "(x, y, at, n")
OFFSET = OFFSET.replace("    y = torch", "    at = torch.zeros(1, device=x.device, dtype=torch.int32)\n    y = torch")
OFFSET = OFFSET.replace("    x = tl.load(x_ptr", "    at = tl.load(at_ptr)\n    x = tl.load(x_ptr + at")
PARTS = f"""\
{HEAD}
@triton.jit
def sum_kernel(x_ptr, s_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(s_ptr, 1 + tl.sum(tl.abs(tl.load(x_ptr + offs, mask=offs < n, other=0))))


@triton.jit
def share_kernel(x_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr, ALL: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = TOTAL
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) / total, mask=offs < n)


def double(x):
    y, s, n = torch.empty_like(x), torch.empty(1, device=x.device), x.numel()
    FIRST
    share_kernel[(triton.cdiv(n, 64),)](x, s, y, n, BLOCK=64, ALL=1024)
    return y
"""
TWO_LAUNCHES = PARTS.replace("TOTAL", "tl.load(s_ptr)").replace("FIRST", "sum_kernel[(1,)](x, s, n, BLOCK=1024)")
EVERYTHING = PARTS.replace("FIRST", "pass").replace(
    "TOTAL", "1 + tl.sum(tl.abs(tl.load(x_ptr + tl.arange(0, ALL), mask=tl.arange(0, ALL) < n, other=0)))"
)
DOT = f"""\
{HEAD}
@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    c = MULTIPLY
    tl.store(c_ptr + i * N + j, c)


def product(a, b):
    c = torch.empty_like(a)
    product_kernel[(1,)](a, b, c, N=64)
    return c
"""
PLAIN_DOT = DOT.replace(
    "MULTIPLY", 'tl.dot(tl.load(a_ptr + i * N + j), tl.load(b_ptr + i * N + j), input_precision="ieee")'
)
THREE_DOTS = PLAIN_DOT.replace("ieee", "tf32x3")
SUMS = DOT.replace(
    "c = MULTIPLY",
    "c = tl.zeros((N, N), tl.float32)\n    for k in range(N):\n"
    "        c += tl.load(a_ptr + i * N + k) * tl.load(b_ptr + k * N + j)",
)
WIDE = changed((LAUNCH, LAUNCH.replace("64", "32768")))
SUM = changed((STORE, STORE.replace("2 * x", "2 * x + 0 * tl.sum(x)")))
SQUEEZED = SUM.replace("BLOCK=64", "BLOCK=8192, maxnreg=32")

# the task, a kernel with the defect, one without, and what only the first is told
DEFECTS: dict[str, tuple[Task, str, str, str]] = {
    "loaded twice": (
        DOUBLE,
        changed((STORE, f"x = (x + {LOAD[4:]}) / 2\n    {STORE}")),
        GOOD,
        "double_kernel.x_ptr is read 2.0 times over; load it once",
    ),
    "read by every program": (
        SHARE, EVERYTHING, TWO_LAUNCHES, "share_kernel.x_ptr is read 17.0 times over, by program after program"
    ),
    "columns": (ROWS, COLUMN, ROW, "line 10 uses 12% of the 32-byte sectors that it loads of x_ptr"),
    "element by element": (
        DOUBLE,
        GOOD[: GOOD.index("    offs")] + ELEMENTS + GOOD[GOOD.index("\n\ndef double(") :],
        GOOD,
        "loads x_ptr one element at a time, 62 times a program: load a block",
    ),
    "narrow": (HALVES, OFFSET, HALF, "line 11 loads x_ptr 2 bytes a thread at a time"),
    "spills": (DOUBLE, SQUEEZED, SUM, "bytes of registers a thread to memory: use smaller blocks"),
    "few warps": (DOUBLE, WIDE, GOOD, "registers a thread, so that"),
    "a dot without tensor cores": (PRODUCT, PLAIN_DOT, THREE_DOTS, "product_kernel runs without tensor cores"),
    "multiply and sum": (PRODUCT, SUMS, PLAIN_DOT, "use tl.dot on 2-D tiles"),
    "launches": (SHARE, TWO_LAUNCHES, EVERYTHING, "2 launches a call (sum_kernel, share_kernel)"),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFECTS)
def test_a_cause_is_told_where_it_is(evaluator: Evaluator, name: str) -> None:
    task, slow, fast, told = DEFECTS[name]
    for source, is_told in ((slow, True), (fast, False)):
        evaluation = evaluator.evaluate(task, source)
        assert evaluation.correct, evaluation.diagnosis
        assert (told in evaluation.diagnosis) is is_told, evaluation.diagnosis
        assert len(evaluation.diagnosis.split("\n")) <= 1 + LINES_MAX


def test_the_best_kernel_is_told_its_figure_alone(evaluator: Evaluator) -> None:
    lines = evaluator.evaluate(DOUBLE, GOOD).diagnosis.split("\n")
    assert lines == ["correct", "traffic: kernels move 1.00 times the bytes that the task needs at least"]


def build(**changes: object) -> KernelBuild:
    known = KernelBuild("k", "sm90", 0, 32, 0, 4, 3, 1.0, (), False)
    return replace(known, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "programs", "limit"),
    [
        ({}, 16, "threads"),
        ({"num_warps": 1}, 32, "threads"),
        ({"registers": 128}, 4, "registers"),
        ({"registers": 255}, 2, "registers"),
        ({"shared_bytes": 100_000}, 2, "shared memory"),
        ({"shared_bytes": 100_000, "target": "sm80"}, 1, "shared memory"),
        ({"num_warps": 8, "target": "sm89"}, 6, "threads"),
        ({"shared_bytes": 40_000, "target": "gfx942"}, 1, "shared memory"),
        ({"registers": 256, "target": "gfx942"}, 2, "registers"),
    ],
)
def test_what_fits_on_a_multiprocessor(changes: dict[str, object], programs: int, limit: str) -> None:
    fits = residence(build(**changes))
    assert fits is not None
    assert (fits.programs, fits.limit) == (programs, limit)


def test_nothing_is_said_of_what_is_not_known_or_too_small() -> None:
    assert residence(build(target="sm123")) is None
    assert residence(build(registers=None)) is None
    small = Usage(arguments={"k.x_ptr": Argument(800, 0, 100)}, moved_bytes=900)
    assert efficiency_lines(DOUBLE, None, small, ()) == []


def test_what_costs_most_comes_first_and_five_lines_are_enough() -> None:
    arguments = {
        f"k.{name}": Argument(4096 * times, 0, 4096) for name, times in zip("abcdef", range(5, 11), strict=True)
    }
    usage = Usage(arguments=arguments, moved_bytes=60_000, kernels=("k",) * 4)
    lines = efficiency_lines(DOUBLE, 40.0, usage, [build(spill_bytes=400)])
    assert len(lines) == LINES_MAX
    assert lines[0].startswith("traffic: kernels move 40.00 times")
    assert lines[1].startswith("4 launches a call (k x4)")
    assert [line[:3] for line in lines[2:]] == ["k.f", "k.e", "k.d"]


@pytest.mark.parametrize(
    "header", [{}, {"lines": 3, "reads": [1], "again": "x"}, {"lines": [{"kernel": 1}], "reads": {"x": None}}]
)
def test_a_malformed_report_does_no_harm(header: dict[str, object]) -> None:
    assert efficiency_lines(DOUBLE, None, usage_of([header]), ()) == []
