"""What one provider or model takes otherwise than the others, known by name or learned from its refusals.

All of it is here, as functions of what is sent and what comes back; the clients only apply it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.protocol import Message

# every request has an output bound: without one a budget could not reserve for it
MAX_TOKENS = 16_384
# the names that the bound goes by, the first that isn't refused is used
BOUNDS = ("max_tokens", "max_completion_tokens")
# OpenAI's reasoning models, wherever they are served: o1, o4-mini, gpt-5, gpt-5.1-codex; not gpt-5-chat-latest
REASONING = re.compile(r"^(o\d|gpt-[5-9])(?!.*-chat)")
FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "tool_use": "tool_calls",
}
UNSUPPORTED = re.compile(
    r"unsupported|do(es)?(n't| not) support|not supported|unrecognized|unknown|extra inputs|extra_forbidden"
    r"|not permitted|deprecated|cannot both be|may only be set|unexpected keyword",
    re.IGNORECASE,
)
NO_SYSTEM = re.compile(
    r"system (role|message|prompt|instruction)s? ?(is|are)? not (supported|enabled|allowed)"
    r"|developer instruction is not enabled|not support 'system'|roles must alternate",
    re.IGNORECASE,
)
CONTEXT = re.compile(r"maximum context length (?:is|of) (\d+)", re.IGNORECASE)
INPUT = re.compile(r"(\d+) (?:input tokens|in the messages|(?:tokens )?(?:from|of) (?:the|your) input)", re.IGNORECASE)
MOST = re.compile(
    r"at most (\d+)|\d+ > (\d+), which is the maximum|less than or equal to [`'\"]?(\d+)"
    r"|range of max_tokens is \[\d+, ?(\d+)\]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Quirks:
    """What a model doesn't take: parameters by name, a system role, more than so many output tokens."""

    refused: frozenset[str] = frozenset()
    system_role: bool = True
    most_tokens: int | None = None

    def __or__(self, other: Quirks) -> Quirks:
        """Both together."""
        limits = [most for most in (self.most_tokens, other.most_tokens) if most is not None]
        return Quirks(
            self.refused | other.refused, self.system_role and other.system_role, min(limits) if limits else None
        )


@dataclass(frozen=True)
class Lesson:
    """What a refusal taught: the quirks from now on, in words; `lasting` is False where it holds for one request."""

    quirks: Quirks
    words: str
    lasting: bool = True


def quirks_of(model: str) -> Quirks:
    """What the name tells, with or without a provider before it."""
    if REASONING.match(model.rpartition("/")[2].lower()):
        return Quirks(frozenset({"max_tokens", "temperature", "top_p"}))
    return Quirks()


def translated(params: Mapping[str, Any], quirks: Quirks) -> tuple[dict[str, Any], list[str]]:
    """The parameters as the model takes them, always with an output bound, and the names of those left out."""
    asked = next((params[name] for name in BOUNDS if params.get(name) is not None), MAX_TOKENS)
    rest = {name: value for name, value in params.items() if name not in BOUNDS}
    bound = next((name for name in BOUNDS if name not in quirks.refused), BOUNDS[0])
    sent = {name: value for name, value in rest.items() if name not in quirks.refused}
    sent[bound] = asked if quirks.most_tokens is None else min(asked, quirks.most_tokens)
    return sent, [name for name in rest if name in quirks.refused]


def learned(refusal: str, messages: Sequence[Message], sent: Mapping[str, Any], quirks: Quirks) -> Lesson | None:
    """What to change after a refusal (status 400 or 422) of a request with the parameters `sent`; None when the
    refusal names nothing that can be changed."""
    bound = next(name for name in BOUNDS if name in sent)
    most = _most(refusal, sent[bound])
    if most is not None:
        lasting = not CONTEXT.search(refusal)
        words = f"at most {most} output tokens" if lasting else "no more output tokens than its context leaves room for"
        return Lesson(replace(quirks, most_tokens=most), words, lasting)
    if quirks.system_role and NO_SYSTEM.search(refusal) and any(message.role == "system" for message in messages):
        return Lesson(replace(quirks, system_role=False), "no system role; it opens the first user message instead")
    name = _refused_name(refusal, sent)
    if name is None or (name == bound and quirks.refused.issuperset(set(BOUNDS) - {name})):
        return None
    other = next(other for other in BOUNDS if other != name)
    words = f"{other} in the place of {name}" if name == bound else f"no {name}, which is left out"
    return Lesson(replace(quirks, refused=quirks.refused | {name}), words)


def _refused_name(refusal: str, sent: Mapping[str, Any]) -> str | None:
    if not UNSUPPORTED.search(refusal):
        return None
    places = {name: re.search(rf"(?<!\w){re.escape(name)}(?!\w)", refusal) for name in sent}
    named = sorted((match.start(), name) for name, match in places.items() if match)
    if "both" in refusal and len(named) > 1:
        return named[1][1]
    return named[0][1] if named else None


def _most(refusal: str, asked: Any) -> int | None:
    """The output bound that a refusal names or leaves room for; None where that is no lower than what was asked."""
    context, given = CONTEXT.search(refusal), INPUT.search(refusal)
    if context and given:
        most = int(context[1]) - int(given[1])
    else:
        match = MOST.search(refusal) if re.search(r"token", refusal, re.IGNORECASE) else None
        most = int(next(filter(None, match.groups()))) if match else 0
    return most if isinstance(asked, int) and 0 < most < asked else None


def without_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation with what the system says put before the first user message."""
    system, rest = split_system(messages)
    if not system:
        return rest
    first = next((place for place, message in enumerate(rest) if message.role == "user"), None)
    if first is None:
        return (Message("user", system), *rest)
    opened = Message("user", f"{system}\n\n{rest[first].content}")
    return (*rest[:first], opened, *rest[first + 1 :])


def split_system(messages: Sequence[Message]) -> tuple[str, tuple[Message, ...]]:
    """What the system says, as one text, and the other messages."""
    system = [message.content for message in messages if message.role == "system"]
    return "\n\n".join(system), tuple(message for message in messages if message.role != "system")


def text_of(content: Any) -> str:
    """The answer in a message's content: a string, or a list of parts of which only those of type text count.
    Reasoning comes as parts of other types or in other fields, and stays out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    fields = [part if isinstance(part, dict) else vars(part) for part in parts if not isinstance(part, str)]
    return "".join(str(field.get("text") or "") for field in fields if field.get("type") == "text")


def finish_of(reason: str | None) -> str | None:
    """Why the answer ended, in OpenAI's words (`stop`, `length`, `content_filter`), others as they are."""
    return FINISH.get(reason, reason) if reason else None
