"""What a prompt says to a reader that is a program: the task, the last source, the verdict and its evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agents.protocol import Message
from tasks.faults.fault import VALUES, Fault
from tasks.outcomes import Reason

TASK = re.compile(r"^# Task: (\S+)\s*$", re.MULTILINE)
FENCE = re.compile(r"^```python\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
VERDICT = re.compile(r"^Verdict: (\w+)(?:: (\w+))?\s*$", re.MULTILINE)
MEASURED = re.compile(r"^Measured: (.*)$", re.MULTILINE)
DIAGNOSIS = re.compile(r"^--- diagnosis ---\n(.*?)^--- end of diagnosis ---\s*$", re.MULTILINE | re.DOTALL)
NO_CODE_WANTED = re.compile(r"^Write no code\b", re.MULTILINE)
WHERE_VALUES_DIFFER = re.compile(r"worst element|case:", re.IGNORECASE)


@dataclass(frozen=True)
class Prompt:
    """The readable parts of a prompt; a part that is missing is None, or empty for text.

    `source` is the last fenced Python source, `reason` the reason code of the verdict, `measured` the figure of a
    kernel that is to be improved.
    """

    task: str | None
    source: str | None
    reason: str | None
    diagnosis: str
    measured: str | None
    wants_code: bool

    def proves(self, fault: Fault) -> bool:
        """Whether the prompt carries the evidence for `fault`: its reason code, and the block that shows it."""
        if self.reason is None or self.reason not in fault.reasons or not self.diagnosis:
            return False
        return Reason(self.reason) not in VALUES or bool(WHERE_VALUES_DIFFER.search(self.diagnosis))

    @property
    def shows_figure(self) -> bool:
        """Whether there is a measured number to improve."""
        return self.measured is not None and any(c.isdigit() for c in self.measured)


def read(messages: Sequence[Message]) -> Prompt:
    """The parts of a conversation; of each part the last one counts."""
    text = "\n".join(message.content for message in messages)
    verdicts = VERDICT.findall(text)
    return Prompt(
        _last(TASK, text),
        _last(FENCE, text),
        (verdicts[-1][1] or None) if verdicts else None,
        (_last(DIAGNOSIS, text) or "").strip(),
        _last(MEASURED, text),
        not NO_CODE_WANTED.search(text),
    )


def _last(pattern: re.Pattern[str], text: str) -> str | None:
    found: list[str] = pattern.findall(text)
    return found[-1] if found else None
