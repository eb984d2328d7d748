"""replay/<run>: the replies of a recorded run in the place of a model, for instance to judge or log them anew."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from agents.context import key_of
from agents.extract import code_of
from agents.log import texts_of
from agents.newrun import find_run
from agents.protocol import Message, ModelError, Reply, Request, Usage
from agents.runfolder import Run
from tasks.errors import UserError


@dataclass(frozen=True)
class _Recorded:
    """A reply, with the lane and the attempt that it went to."""

    reply: Reply
    place: tuple[int, int]


class ReplayedModel:
    """Answers a request as the recorded run's model did, when it was asked the same for the same task.

    Of several replies to the same question the one for this lane and attempt, else the next that wasn't given yet.
    Token counts and costs are those of the recorded run. Used from several threads.
    """

    def __init__(self, path: Path) -> None:
        """`path`: the run's folder, or its name in `experiments/runs`. Raises UserError for a run without replies."""
        run = find_run(str(path))
        self.name = f"replay/{path}"
        self.simulated = run.simulated
        self._left = {task: _replies(run, task) for task in run.tasks}
        self._giving = threading.Lock()
        if not any(self._left.values()):
            raise UserError(f"{run.path} holds no reply to give again")

    def complete(self, request: Request) -> Reply:
        """The recorded reply. Raises ModelError where there is none, or none is left."""
        place = (request.lane, request.attempt)
        with self._giving:
            left = self._left.get(request.task, {}).get(_key(request), [])
            found = next((one for one in left if one.place == place), left[0] if left else None)
            if found is None:
                where = f"lane {request.lane}, attempt {request.attempt}"
                raise ModelError(f"{self.name} has no reply to this request of {request.task} ({where}), or none left")
            left.remove(found)
        return found.reply


def _key(request: Request) -> str:
    """What was asked, whoever was asked it."""
    return key_of("", request)


def _replies(run: Run, task: str) -> dict[str, list[_Recorded]]:
    """A task's recorded replies by what was asked, in the order of asking. Raises UserError for a damaged log."""
    events = run.events(task)
    texts = texts_of(events)
    answers = {(event["key"], event["n"]): event for event in events if event["type"] == "reply"}
    found: dict[str, list[_Recorded]] = defaultdict(list)
    for event in events:
        answer = answers.get((event["key"], event["n"])) if event["type"] == "request" else None
        if answer is not None:
            messages = tuple(Message(message["role"], texts[message["text"]]) for message in event["messages"])
            text = texts[answer["text"]]
            reply = Reply(text, code_of(text), answer["finish_reason"], Usage(**answer["usage"]))
            key = _key(Request(messages, event["params"], task, event["lane"], event["attempt"]))
            found[key].append(_Recorded(reply, (event["lane"], event["attempt"])))
    return found
