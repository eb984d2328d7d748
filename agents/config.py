"""What a run is asked to do: the resolved settings, as flags, a TOML file or an earlier run give them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from agents.limits_flags import NAMES as LIMITS
from tasks.errors import UserError, unknown

DEVICES = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides what a run does. Paths are absolute, so that a run resumes from any folder.

    `tasks` are ids and paths of task files, `method_options` the method's fields, `params` sampling parameters of
    every request, `baselines` what a kernel is timed beside on a GPU, `prompts` a folder of templates that come before
    the built-in ones, `diagnosis_chars` the longest diagnosis. From `model_concurrency` on stand the limits, which a
    resumed run may change; None is no limit. `price` is (input, output) or (input, cached, output) in USD for a million
    tokens; None is that of litellm's table.
    """

    method: str
    model: str
    rounds: int
    tasks: tuple[str, ...]
    targets: tuple[str, ...] = ("sm90",)
    device: str = "auto"
    baselines: tuple[str, ...] = ("eager", "oracle")
    workers: int = 2
    seed: int = 0
    method_options: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    prompts: str | None = None
    base_url: str | None = None
    diagnosis_chars: int = 4000
    model_concurrency: int = 16
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    max_usd: float | None = None
    max_tokens: int | None = None
    max_minutes: float | None = None
    max_requests: int | None = None
    price: tuple[float, ...] | None = None

    @property
    def budgets(self) -> dict[str, Any]:
        """The budgets that are set, by name."""
        values = {name: getattr(self, name) for name in LIMITS if name.startswith("max_")}
        return {name: value for name, value in values.items() if value is not None}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` is the inverse."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunConfig:
        """The settings behind `to_json`. Fields of a newer version are ignored."""
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        names = ("tasks", "targets", "baselines", "price")
        lists = {name: tuple(known[name]) for name in names if known.get(name) is not None}
        return cls(**{**known, **lists})


# names in a settings file, with what they may hold; they are the flags' names, and the two tables
SETTINGS: Mapping[str, tuple[type, ...]] = {
    "method": (str,),
    "model": (str,),
    "rounds": (int,),
    "tasks": (list, str),
    "targets": (list, str),
    "device": (str,),
    "baselines": (list, str),
    "workers": (int,),
    "seed": (int,),
    "out": (str,),
    "prompts": (str,),
    "diagnosis_chars": (int,),
    "base_url": (str,),
    "method_options": (dict,),
    "params": (dict,),
    **dict.fromkeys(LIMITS, (int,)),
    "max_usd": (float, int),
    "max_minutes": (float, int),
    "price": (list, str),
}


def read_settings(path: Path) -> dict[str, Any]:
    """Settings from a TOML file, or from an earlier run's `run.json`, to run it again. Raises UserError.

    In TOML the names are those of the flags (`base-url` or `base_url`), the method's options stand under
    `[method]` with the method's name as `name`, or beside a plain `method = "geak"` under `[method_options]`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"can't read the settings file {path}: {error}") from error
    try:
        data = json.loads(text)["config"] if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is no settings file: {error}") from error
    data = {key.replace("-", "_"): value for key, value in data.items() if value is not None}
    if isinstance(data.get("method"), dict):
        options = dict(data.pop("method"))
        if "name" in options:
            data["method"] = options.pop("name")
        data["method_options"] = options
    for name, value in data.items():
        if name not in SETTINGS:
            raise unknown("setting", name, SETTINGS)
        if not isinstance(value, SETTINGS[name]) or isinstance(value, bool):
            wanted = " or ".join(kind.__name__ for kind in SETTINGS[name])
            raise UserError(f"{path}: {name} must be {wanted}, not {value!r}")
    return data
