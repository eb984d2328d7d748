"""What a matrix is asked to do: methods, models, seeds and tasks and the cells that they make."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from agents.config import RunConfig
from agents.limits_flags import NAMES as LIMITS

BUDGETS = tuple(name for name in LIMITS if name.startswith("max_"))
# what a matrix that goes on may change
FREE = ("workers", *(name for name in LIMITS if name not in BUDGETS and name != "price"))


@dataclass(frozen=True)
class MethodEntry:
    """A method with its options; `label` tells it from the others."""

    label: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelEntry:
    """A model with what belongs to it alone: its server, its price, its sampling parameters."""

    label: str
    name: str
    base_url: str | None = None
    price: tuple[float, ...] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CellSpec:
    """One run of a matrix: `name` is its folder's, `label` its method's, `config` its settings without any budget."""

    name: str
    label: str
    config: RunConfig


@dataclass(frozen=True)
class MatrixConfig:
    """Everything that decides what a matrix does. `run` holds the settings that all cells share, by the names of
    `RunConfig`; `budget` those of `BUDGETS` that are set, which hold for all cells together."""

    name: str
    methods: tuple[MethodEntry, ...]
    models: tuple[ModelEntry, ...]
    seeds: tuple[int, ...]
    tasks: tuple[str, ...]
    run: Mapping[str, Any]
    budget: Mapping[str, Any]

    @property
    def workers(self) -> int:
        """Tasks at a time, over all cells."""
        return int(self.run["workers"])

    @property
    def cells(self) -> tuple[CellSpec, ...]:
        """The cells in the order in which they begin: a whole seed before the next, so that what there is can be
        compared when a matrix ends early."""
        found: dict[str, CellSpec] = {}
        for seed in self.seeds:
            for model in self.models:
                for method in self.methods:
                    stem = slug(f"{method.label}-{model.label}-{seed}")
                    name = next(n for n in (stem, *(f"{stem}_{k}" for k in range(2, 10_000))) if n not in found)
                    found[name] = CellSpec(name, method.label, self._config(method, model, seed))
        return tuple(found.values())

    def _config(self, method: MethodEntry, model: ModelEntry, seed: int) -> RunConfig:
        own = {"method": method.name, "method_options": dict(method.options), "model": model.name, "seed": seed}
        own |= {"base_url": model.base_url, "price": model.price, "params": dict(model.params), "tasks": self.tasks}
        return RunConfig.from_json({**self.run, **own})

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` is the inverse."""
        return dict(json.loads(json.dumps(asdict(self))))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MatrixConfig:
        """The configuration behind `to_json`. Raises KeyError and TypeError for anything else."""
        prices = ({**model, "price": model["price"] and tuple(model["price"])} for model in data["models"])
        return cls(
            data["name"],
            tuple(MethodEntry(**method) for method in data["methods"]),
            tuple(ModelEntry(**model) for model in prices),
            tuple(data["seeds"]),
            tuple(data["tasks"]),
            data["run"],
            data["budget"],
        )

    def differences(self, other: MatrixConfig) -> tuple[list[str], list[str]]:
        """In what `other` differs: what may not change while a matrix goes on, and what may (workers, limits, budgets,
        prices)."""
        mine, others = self._parts(), other._parts()
        names = [name for name in {**mine, **others} if mine.get(name) != others.get(name)]
        free = [name for name in names if name in FREE or name in BUDGETS or name.startswith("price of ")]
        told = {name: f"{name} {_change(mine.get(name), others.get(name))}" for name in names}
        return [told[name] for name in names if name not in free], [told[name] for name in free]

    def _parts(self) -> dict[str, Any]:
        data = self.to_json()
        prices = {f"price of {model['label']}": model.pop("price") for model in data["models"]}
        lists = {name: data[name] for name in ("methods", "models", "seeds", "tasks")}
        return {**lists, **data["run"], **data["budget"], **prices}


def slug(text: str) -> str:
    """`text` as part of a folder's name; "" when nothing in it can be."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.")


def _change(before: Any, now: Any) -> str:
    """What is different, in few words; of lists what came in and what is gone."""
    if not (isinstance(before, list) and isinstance(now, list)):
        return f"{json.dumps(before)} -> {json.dumps(now)}"
    more = [f"+{_word(item)}" for item in now if item not in before]
    gone = [f"-{_word(item)}" for item in before if item not in now]
    return " ".join([*more[:4], *gone[:4]]) or "in another order"


def _word(item: Any) -> str:
    return item if isinstance(item, str) else json.dumps(item)
