"""Every task's trajectories as the page embeds them: plain JSON values, gzip, base64.

The runs of a task share one parcel, which the page opens when it needs it. A text (a prompt, a reply, a source) is held
once a parcel, and referred to by its place in `texts`.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from agents.log import Event, texts_of
from agents.runfolder import state_of
from experiments.cells import Cell

Json = dict[str, Any]
PLACE = ("index", "n", "round", "lane", "parents")


class Texts:
    """Texts by their place, each held once."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        if text not in self._places:
            self._places[text] = len(self.all)
            self.all.append(text)
        return self._places[text]


def parcel_of(task: str, cells: Sequence[Cell]) -> str:
    """A task in all the runs that have it, for the page: base64 of gzip of JSON."""
    texts = Texts()
    runs = {number: _run(cell.run.events(task), texts) for number, cell in enumerate(cells) if task in cell.verdicts}
    data = json.dumps({"texts": texts.all, "runs": runs}, separators=(",", ":"))
    return base64.b64encode(gzip.compress(data.encode("ascii"), 9, mtime=0)).decode("ascii")


def _run(events: list[Event], texts: Texts) -> Json:
    known = texts_of(events)
    candidates = _candidates(events)
    asks = _asks(events)
    _match(asks, candidates, known)
    end = events[-1] if events and events[-1]["type"] == "task_end" else {}
    for ask in asks:
        ask["messages"] = [[message["role"], texts.place(known[message["text"]])] for message in ask["messages"]]
        ask["reply"] = None if ask["reply"] is None else texts.place(known[ask["reply"]])
    for one in candidates:
        one["source"] = texts.place(known[one["source"]])
    return {
        "state": state_of(events),
        "why": end.get("reason"),
        "traceback": end.get("traceback"),
        "asks": asks,
        "candidates": candidates,
        "notes": [{"round": e["round"], "data": e["data"]} for e in events if e["type"] == "note"],
    }


def _candidates(events: list[Event]) -> list[Json]:
    """What was judged or imported, by index; `recorded` is the origin's verdict, `load` that of the load stage."""
    found: dict[int, Json] = {}
    for event in events:
        if event["type"] in ("evaluation", "imported"):
            fresh = {name: event[name] for name in PLACE} | {"source": event["source"]}
            one = found.setdefault(event["index"], fresh | {"verdict": None, "recorded": None})
            if event["type"] == "imported":
                one["recorded"] = event["recorded"]
            else:
                one["verdict"] = _verdict(event["evaluation"])
        elif event["type"] == "load":
            found[event["index"]]["load"] = event["evaluation"] and _verdict(event["evaluation"])
    return [found[index] for index in sorted(found)]


def _verdict(said: Json) -> Json:
    """A verdict without what only says which machine it was: of a timing's device its name is left."""
    timing = said.get("timing")
    if not timing:
        return said
    kept = {name: value for name, value in timing.items() if name not in ("device", "before", "after")}
    return said | {"timing": kept | {"device": (timing.get("device") or {}).get("name")}}


def _asks(events: list[Event]) -> list[Json]:
    """The questions in their order, with what was answered; `reply` is None where nothing was."""
    replies = {(event["key"], event["n"]): event for event in events if event["type"] == "reply"}
    asks: list[Json] = []
    for event in events:
        if event["type"] == "request":
            reply = replies.get((event["key"], event["n"]), {})
            asks.append(
                {
                    **{name: event[name] for name in ("round", "lane", "attempt", "params", "messages")},
                    "reply": reply.get("text"),
                    "finish": reply.get("finish_reason"),
                    "usage": reply.get("usage"),
                    "candidate": None,
                }
            )
    return asks


def _match(asks: list[Json], candidates: list[Json], known: dict[str, str]) -> None:
    """Sets the candidate of each question whose answer it came from.

    The log does not say it. Within a round and lane a source belongs to the first answer that holds it; those that
    are left are paired in order where they are as many. Other questions keep None.
    """
    here: dict[tuple[int, int], tuple[list[Json], list[Json]]] = defaultdict(lambda: ([], []))
    for ask in asks:
        if ask["reply"] is not None:
            here[ask["round"], ask["lane"]][0].append(ask)
    for one in candidates:
        here[one["round"], one["lane"]][1].append(one)
    for asked, made in here.values():
        left: list[Json] = []
        for one in made:
            free = (ask for ask in asked if ask["candidate"] is None)
            origin = next((ask for ask in free if _holds(known[ask["reply"]], known[one["source"]])), None)
            if origin is None:
                left.append(one)
            else:
                origin["candidate"] = one["index"]
        others = [ask for ask in asked if ask["candidate"] is None]
        if len(others) == len(left):
            for ask, one in zip(others, left, strict=True):
                ask["candidate"] = one["index"]


def _holds(reply: str, source: str) -> bool:
    bare = source.strip()
    return bool(bare) and bare in reply.replace("\r\n", "\n").replace("\r", "\n")
