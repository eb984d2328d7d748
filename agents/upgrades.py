"""Older logs read as if this version had written them: one pure function for each step of the schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Event = dict[str, Any]


def from_1(event: Event) -> Event:
    """Schema 1 to 2. An evaluation no longer repeats its task, which the log names, and its source's hash, which stands
    beside it. (Schema 2 also has `imported` events, and resumes that name their schema.)"""
    if event["type"] != "evaluation":
        return event
    said = {name: value for name, value in event["evaluation"].items() if name not in ("task", "source_sha")}
    return {**event, "evaluation": said}


UPGRADES: Mapping[int, Callable[[Event], Event]] = {1: from_1}
SCHEMA = max(UPGRADES) + 1


def upgraded(events: list[Event]) -> list[Event]:
    """The events of one log in today's schema.

    `task_start` names the schema of what follows, and a `resume` of a later version that of what follows it. Raises
    KeyError for a schema that is not known.
    """
    now: list[Event] = []
    schema = SCHEMA
    for event in events:
        if event["type"] in ("task_start", "resume"):
            schema = event.get("schema", 1)
        for step in range(schema, SCHEMA):
            event = UPGRADES[step](event)
        now.append({**event, "schema": SCHEMA} if "schema" in event else event)
    return now
