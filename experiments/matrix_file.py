"""Reading a matrix's TOML file: every key is known, every value checked, every entry has a label of its own."""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.config import SETTINGS, RunConfig
from agents.flags import resolve
from agents.limits_flags import limits_in
from experiments.matrix_config import BUDGETS, MatrixConfig, MethodEntry, ModelEntry, slug
from tasks.errors import UserError, unknown

KEYS = ("name", "methods", "models", "seeds", "tasks", "run", "budget")
# settings of a run that a matrix has elsewhere, with the place
ELSEWHERE = {
    **{"method": "the list methods", "method_options": "a table of methods", "model": "the list models"},
    **{"seed": "the list seeds", "tasks": "the list tasks", "out": "--out"},
    **dict.fromkeys(BUDGETS, "[budget], for the whole matrix"),
}
METHOD_KEYS = {"name": (str,), "label": (str,), "options": (dict,)}
MODEL_KEYS = {"name": (str,), "label": (str,), **{key: SETTINGS[key] for key in ("base_url", "price", "params")}}
# of a cell, not of all
OWN = ("method", "method_options", "model", "base_url", "price", "params", "seed", "tasks", *BUDGETS)


def read_matrix(path: Path) -> MatrixConfig:
    """The matrix that a TOML file describes, checked as far as that goes without torch. Raises UserError.

    `methods` and `models` are names or tables, `seeds` (default: 0) and `tasks` (default: every built one) lists,
    `[run]` settings of `python -m agents.run --config`, `[budget]` what all cells may spend together.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"can't read the matrix file {path}: {error}") from error
    except ValueError as error:
        raise UserError(f"{path} is no TOML file: {error}") from error
    stray = next((key for key in data if key not in KEYS), None)
    if stray:
        raise unknown("key of a matrix", stray, KEYS)
    run = _run_table(data.get("run", {}))
    tasks = data.get("tasks", [])
    _check("tasks", tasks, SETTINGS["tasks"])
    if isinstance(tasks, list) and (twice := next((one for one in tasks if tasks.count(one) > 1), None)):
        raise UserError(f"tasks: {twice} stands there twice")
    methods = _entries("methods", data.get("methods"), METHOD_KEYS)
    models = _entries("models", data.get("models"), MODEL_KEYS)
    first = _resolved(run, methods[0], models[0], tasks)
    name = data.get("name", path.stem)
    _check("name", name, (str,))
    return MatrixConfig(
        name,
        tuple(_method(entry, _resolved(run, entry, models[0], tasks)) for entry in methods),
        tuple(_model(entry, _resolved(run, methods[0], entry, tasks)) for entry in models),
        _seeds(data.get("seeds", [0])),
        first.tasks,
        {key: value for key, value in _plain(first).items() if key not in OWN},
        _budget(data.get("budget", {})),
    )


def _resolved(
    run: Mapping[str, Any], method: Mapping[str, Any], model: Mapping[str, Any], tasks: Sequence[str]
) -> RunConfig:
    """The settings as those of one run, checked by the run's own rules."""
    settings = {**run, "tasks": tasks, "method": method["name"], "method_options": method.get("options", {})}
    settings |= {"model": model["name"], **{key: model[key] for key in ("base_url", "price") if key in model}}
    settings["params"] = {**run.get("params", {}), **model.get("params", {})}
    return resolve(argparse.Namespace(**settings))[0]


def _method(entry: Mapping[str, Any], config: RunConfig) -> MethodEntry:
    return MethodEntry(entry["label"], config.method, config.method_options)


def _model(entry: Mapping[str, Any], config: RunConfig) -> ModelEntry:
    return ModelEntry(entry["label"], config.model, config.base_url, config.price, config.params)


def _run_table(table: Any) -> dict[str, Any]:
    settings = _table("run", table)
    for name, value in settings.items():
        if name in ELSEWHERE:
            raise UserError(f"[run] has no {name}: it belongs into {ELSEWHERE[name]}")
        if name not in SETTINGS:
            raise unknown("setting in [run]", name, set(SETTINGS) - set(ELSEWHERE))
        _check(f"[run] {name}", value, SETTINGS[name])
    return settings


def _budget(table: Any) -> dict[str, Any]:
    budget = _table("budget", table)
    for name, value in budget.items():
        if name not in BUDGETS:
            raise unknown("budget", name, BUDGETS)
        _check(f"[budget] {name}", value, SETTINGS[name])
    return limits_in(budget)


def _table(name: str, table: Any) -> dict[str, Any]:
    _check(f"[{name}]", table, (dict,))
    return {key.replace("-", "_"): value for key, value in table.items()}


def _entries(what: str, items: Any, keys: Mapping[str, tuple[type, ...]]) -> list[dict[str, Any]]:
    """Each name or table of a list as a table, with a label that no other has."""
    _check(what, items, (list,))
    if not items:
        raise UserError(f"{what} is empty; name one or more")
    entries = [{"name": item} if isinstance(item, str) else _table(f"entry of {what}", item) for item in items]
    for entry in entries:
        for key, value in entry.items():
            if key not in keys:
                raise unknown(f"key in {what}", key, keys)
            _check(f"{what}: {key}", value, keys[key])
        if not entry.get("name", "").strip():
            raise UserError(f"an entry of {what} has no name")
        entry.setdefault("label", _short_name(entry["name"]))
        if not slug(entry["label"]):
            raise UserError(f"{what}: label {entry['label']!r} has no letter and no digit")
    labels = [entry["label"] for entry in entries]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice:
        raise UserError(f'{what}: two are called {twice}; give one a label = "..."')
    return entries


def _seeds(seeds: Any) -> tuple[int, ...]:
    _check("seeds", seeds, (list,))
    for seed in seeds:
        _check("seeds", seed, (int,))
    if not seeds or len(set(seeds)) != len(seeds):
        raise UserError(f"seeds must be one number or more, each once, not {seeds}")
    return tuple(seeds)


def _check(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise UserError(f"{name} must be {wanted}, not {value!r}" if value is not None else f"{name} is missing")


def _short_name(name: str) -> str:
    """`Mine` of `path/file.py:Mine`; any other name as it is."""
    place, colon, last = name.rpartition(":")
    return last if colon and (place.endswith(".py") or "/" not in place) else name


def _plain(config: RunConfig) -> dict[str, Any]:
    return dict(json.loads(json.dumps(config.to_json())))
