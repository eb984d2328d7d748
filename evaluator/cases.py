"""The cases of an evaluation: public, hidden, stand-ins, and one call again with other values in the same place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.conversation import Call
from evaluator.seeds import PUBLIC_SEED
from tasks.calls import copied
from tasks.draw import Draw
from tasks.judges import Elementwise
from tasks.task import Case, Task

AGAIN = ", called again with other values"
AGAIN_TIMES = 3  # a kept result may wait for the second or third call of one shape
KEPT_SHARE = 7  # of 8 floating-point elements, so many keep their value in a call that is made again


@dataclass(frozen=True)
class Drawn:
    """A case with its kind: public, hidden or timed. `again_of` is the index of the case whose tensors it is called
    with, right after that one."""

    kind: str
    case: Case
    again_of: int | None = None


def cases_of(
    task: Task, seed: int, *, hidden: bool = True, again: bool = True, timed: Sequence[Case] | None = None
) -> list[Drawn]:
    """All cases of an evaluation: the public ones, then what is drawn from `seed`: hidden ones, the `timed` ones or
    (None) their stand-ins, and the first public one again, with other values each time."""
    draw = Draw(seed)
    public = [Drawn("public", case) for case in task.public(Draw(PUBLIC_SEED))]
    drawn = [*public]
    drawn += [Drawn("hidden", case) for case in task.hidden(draw)] if hidden else []
    drawn += [Drawn("timed", case) for case in (task.stand_ins(draw) if timed is None else timed)]
    if again and public:
        previous = 0
        for time in range(AGAIN_TIMES):
            case = again_with_other_values(task, drawn[previous].case, seed + 10 * time)
            drawn.append(Drawn("hidden", case, again_of=previous))
            previous = len(drawn) - 1
    return drawn


def hands_of(drawn: Sequence[Drawn], players: int) -> list[list[Call]]:
    """The calls dealt out to `players` workers; one that is made again follows its first."""
    followers = {entry.again_of: index for index, entry in enumerate(drawn) if entry.again_of is not None}
    firsts = [index for index, entry in enumerate(drawn) if entry.again_of is None]
    hands: list[list[Call]] = [[] for _ in range(players)]
    for place, index in enumerate(firsts):
        hand = hands[place % players]
        chain: int | None = index
        while chain is not None:
            hand.append(Call(chain, drawn[chain].case, keep=chain in followers, again=chain != index))
            chain = followers.get(chain)
    return hands


def again_with_other_values(task: Task, case: Case, seed: int) -> Case:
    """The public case `case` drawn anew. Where outputs are judged element by element, most elements keep their value,
    so that a result that was kept for inputs that look the same shows."""
    fresh = next(iter(task.public(Draw(seed))))
    label = case.label.removesuffix(AGAIN) + AGAIN
    if not isinstance(task.judge, Elementwise) or len(fresh.args) != len(case.args):
        return Case(label, fresh.args, fresh.kwargs)
    draw = Draw(seed + 1)
    args = tuple(_mixed(old, new, draw) for old, new in zip(case.args, fresh.args, strict=True))
    return Case(label, args, _mixed(dict(case.kwargs), dict(fresh.kwargs), draw))


def _mixed(old: Any, new: Any, draw: Draw) -> Any:
    if isinstance(new, (list, tuple)) and isinstance(old, (list, tuple)) and len(old) == len(new):
        return type(new)(_mixed(a, b, draw) for a, b in zip(old, new, strict=True))
    if isinstance(new, Mapping):
        return {key: _mixed(old.get(key), value, draw) for key, value in new.items()}
    if not (isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor)) or not new.is_floating_point():
        return new
    overlapping = any(step == 0 and n > 1 for n, step in zip(new.shape, new.stride(), strict=True))
    if old.shape != new.shape or old.dtype != new.dtype or new.numel() < 2 or overlapping:
        return new
    keeps = draw.integers(0, KEPT_SHARE, new.numel()) < KEPT_SHARE
    keeps[0] = True
    keeps[draw.size(1, new.numel() - 1)] = False
    mixed: torch.Tensor = copied(new)
    mixed.copy_(torch.where(keeps.reshape(new.shape), old, new))
    return mixed


def picks_of(drawn: Sequence[Drawn], seed: int, most: int) -> Iterator[int]:
    """Indices of at most `most` cases for a second look, in an order that `seed` fixes; stand-ins are too large."""
    indices = [i for i, entry in enumerate(drawn) if entry.kind != "timed" and entry.again_of is None]
    draw = Draw(seed + 2)
    for _ in range(min(most, len(indices))):
        yield indices.pop(draw.size(0, len(indices) - 1))
