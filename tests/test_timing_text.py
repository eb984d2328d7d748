"""Times as `python -m evaluator check` prints them on a GPU."""

from dataclasses import replace

from evaluator.paired import Ratio
from evaluator.timing_records import Invalid, SizeTiming, TaskTiming
from evaluator.timing_text import timing_lines

FAST = SizeTiming(
    "4096 x 1024",
    ms=0.0125,
    eager_ms=0.025,
    speedup=Ratio(2.0, 1.9, 2.1, 9),
    share=0.5,
    host_ms=0.04,
    launch_bound=True,
)
SLOW = SizeTiming("65536 x 2048", ms=0.5, eager_ms=0.25, speedup=Ratio(0.5, 0.49, 0.51, 9), share=0.125)
STATE = {"sm_mhz": 1980, "temperature_c": 41, "throttled": ()}
HOT = {"sm_mhz": 1500, "temperature_c": 80, "throttled": ("power cap",)}
DEVICE = {"name": "A GPU", "torch": "2.11"}


def told(*sizes: SizeTiming, expected: int = 2) -> str:
    return "\n".join(timing_lines(TaskTiming(sizes, expected, DEVICE, STATE, HOT)))


def test_each_size_the_mean_and_the_device() -> None:
    text = told(FAST, SLOW)
    lines = text.splitlines()
    assert lines[0].split() == ["timed", "ms", "of", "bound", "over", "eager"]
    assert lines[1].split()[:8] == ["4096", "x", "1024", "0.0125", "0.50", "2.00", "(1.90", "to"]
    assert "the host needs 0.0400 ms to launch it" in lines[1] and "host" not in lines[2]
    assert lines[3].split() == ["geometric", "mean", "0.25", "1.00"]
    assert "A GPU, torch 2.11; 1980 MHz at 41 C before, 1500 MHz at 80 C after; throttled: power cap" in lines[4]
    assert len({line.index("x") for line in lines[1:3]}) == 2 and len({len(line) for line in (lines[0], lines[2])}) == 1


def test_baselines_that_were_timed_have_a_column_and_a_gap_where_one_could_not() -> None:
    compiled = replace(FAST, over_compiled=Ratio(1.25, 1.2, 1.3, 9), over_oracle=Ratio(1.0, 0.9, 1.1, 9))
    text = told(compiled, replace(SLOW, over_oracle=Ratio(1.0, 0.9, 1.1, 9), notes=("compiled: no",)))
    assert "over oracle" in text and "over torch.compile" in text and "1.25 (1.20 to 1.30)" in text
    slow, mean = text.splitlines()[2:4]
    assert slow.endswith("-; compiled: no") and mean.split()[-1] == "-"


def test_a_size_that_does_not_count_says_why_and_there_is_no_mean() -> None:
    text = told(FAST, SizeTiming("65536 x 2048", invalid=Invalid.CLOCK, message="the clock says no"), expected=3)
    assert "no time (clock): the clock says no" in text and "geometric mean" not in text
    assert "no speedup: 2 of 3 sizes, and each must count" in text


def test_unknown_clocks_say_why() -> None:
    timing = TaskTiming((FAST,), 1, DEVICE, {"source": "nothing: nvidia-ml-py is not installed"}, {})
    assert "clocks unknown: nothing: nvidia-ml-py is not installed" in "\n".join(timing_lines(timing))
