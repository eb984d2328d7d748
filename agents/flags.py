"""The command line of `python -m agents.run`: its flags, and the settings that they and a file resolve to."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from agents.config import DEVICES, RunConfig, read_settings
from agents.limits_flags import add_limit_flags, limits_in
from agents.models import APPRENTICE, FORMS
from agents.models.secrets import checked_params, checked_url
from tasks.errors import UserError, unknown

BESIDE_SETTINGS = ("config", "dry_run", "option", "param", "retry_errors")
# some of those that litellm takes
OTHERS = ("DEEPSEEK_API_KEY", "GEMINI_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "OPENROUTER_API_KEY")
# the kind of model that a key is for, by the key's variable
KEYS = {"OPENAI_API_KEY": "openai", "ANTHROPIC_API_KEY": "anthropic", **dict.fromkeys(OTHERS, "litellm")}
EXAMPLES = """\
examples:
  python -m agents.run                                     the built-in simulation on every task; no key, no GPU
  python -m agents.run --tasks Math "Loss/*" --rounds 3 -o candidates=4
  python -m agents.run --model openai/gpt-5-mini --tasks softmax --dry-run
  python -m agents.run --model openai/gpt-5-mini --tasks softmax --max-usd 2
  python -m agents.run --model openai/qwen3 --base-url http://localhost:8000/v1
  python -m agents.run --model litellm/gemini/gemini-2.5-flash --tasks softmax
  python -m agents.run --resume experiments/runs/20260101-120000-geak-offline-apprentice
"""


class Parser(argparse.ArgumentParser):
    """Says a mistake in one line, with near matches, as every other part does."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message)

    def parse(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        """The flags that were given; the others are None. Raises UserError."""
        args, rest = self.parse_known_args(arguments)
        if rest:
            flags = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
            raise unknown("flag" if rest[0].startswith("-") else "argument", rest[0], flags)
        return args


def make_parser() -> Parser:
    """The flags of a run. No flag has a default, so that one that was given is told from one that was not."""
    parser = Parser(
        prog="python -m agents.run",
        description="Drive a model through tasks: generate kernels, judge them, feed the failures back.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--method", metavar="NAME", help="a name, package.module:Class or path/file.py:Class (default: geak)")
    add(
        "--model",
        metavar="NAME",
        help=f"{', '.join(FORMS[1:])}, or {APPRENTICE} (the default where no key is set); see: python -m agents models",
    )
    add(
        "--base-url",
        metavar="URL",
        help="the server to ask instead of the provider's own: with openai/<name> any that speaks its protocol (vLLM, "
        "SGLang, Ollama, llama.cpp), with anthropic/ and litellm/ names a gateway",
    )
    add("--rounds", type=int, metavar="N", help="rounds for each task (default: 5)")
    add("--tasks", nargs="*", metavar="TASK", help="ids, categories, globs or task files (default: every built task)")
    add("--targets", metavar="LIST", help="GPUs to compile for, the first decides: sm90,gfx942 (default: sm90)")
    add("--device", metavar="DEVICE", help="auto, cpu or cuda (default: auto, the GPU where there is one)")
    add("--baselines", metavar="LIST", help="on a GPU: timed beside (default: eager,oracle; also compiled)")
    add("--workers", type=int, metavar="N", help="tasks at a time (default: one for each CPU, 8 at most)")
    add(
        "--seed",
        type=int,
        metavar="N",
        help="seed of the method's and the apprentice's choices (default: 0); each run draws its own hidden cases",
    )
    add("--out", metavar="DIR", help="the run's folder (default: experiments/runs/<time>-<method>-<model>)")
    add("--prompts", metavar="DIR", help="a folder of templates that come before the built-in ones")
    add("--diagnosis-chars", type=int, metavar="N", help="characters of a diagnosis at most (default: 4000)")
    add("-o", "--option", action="append", metavar="KEY=VALUE", help="an option of the method; may be repeated")
    add("-p", "--param", action="append", metavar="KEY=VALUE", help="a sampling parameter; may be repeated")
    add("--config", metavar="FILE", help="settings in TOML, or a run.json to run again; flags come before them")
    add(
        "--resume",
        metavar="RUN",
        help="go on with a run; beside it only --workers, --retry-errors and the limits below",
    )
    add(
        "--retry-errors",
        action="store_true",
        default=None,
        help="with --resume: only the tasks that the machine or the provider failed",
    )
    add(
        "--dry-run",
        action="store_true",
        default=None,
        help="count requests, tokens and cost, write each task's first prompt; ask nobody, spend nothing",
    )
    add_limit_flags(parser.add_argument_group("limits, which --resume may change").add_argument)
    return parser


def given(args: argparse.Namespace) -> dict[str, Any]:
    """The flags that were given, by name."""
    return {name: value for name, value in vars(args).items() if value is not None}


def resolve(args: argparse.Namespace) -> tuple[RunConfig, Path | None]:
    """The settings of a new run and the folder that was named for it, checked as far as that goes without torch.

    Raises UserError.
    """
    flags = given(args)
    if "retry_errors" in flags:
        raise UserError("--retry-errors goes with --resume RUN")
    settings = read_settings(Path(flags["config"])) if "config" in flags else {}
    settings |= {name: value for name, value in flags.items() if name not in BESIDE_SETTINGS}
    method = settings.get("method", "geak")
    config = RunConfig(
        method=_absolute_place(method),
        model=_model(settings),
        rounds=_at_least_one("rounds", settings.get("rounds", 5)),
        tasks=_tasks(_names(settings.get("tasks", []))),
        targets=_targets(_names(settings.get("targets", ["sm90"]))),
        device=_device(settings.get("device", "auto")),
        baselines=_baselines(_names(settings.get("baselines", ["eager", "oracle"]))),
        workers=_at_least_one("workers", settings.get("workers", min(8, os.cpu_count() or 1))),
        seed=settings.get("seed", 0),
        method_options={**settings.get("method_options", {}), **pairs("-o", flags.get("option", []))},
        params=checked_params({**settings.get("params", {}), **_values(pairs("-p", flags.get("param", [])))}),
        prompts=_folder(settings.get("prompts")),
        diagnosis_chars=_diagnosis_chars(settings.get("diagnosis_chars", 4000)),
        base_url=checked_url(settings.get("base_url")),
        **limits_in(settings),
    )
    return config, Path(settings["out"]) if "out" in settings else None


def resettled(config: RunConfig, flags: Mapping[str, Any]) -> RunConfig:
    """The settings of a run to be resumed, with the workers and limits that were given now. Raises UserError."""
    changes = limits_in(flags)
    if "workers" in flags:
        changes["workers"] = _at_least_one("workers", flags["workers"])
    return replace(config, **changes)


def _model(settings: Mapping[str, Any]) -> str:
    if "model" in settings:
        return str(settings["model"])
    reasons = [key for key in KEYS if os.environ.get(key)] + ["--base-url"] * ("base_url" in settings)
    if reasons:
        raise UserError(
            f"{reasons[0]} is set but no model is named, and nothing is spent by surprise: "
            f"give --model {_form_for(reasons[0])}, or --model {APPRENTICE} for the simulation"
        )
    return APPRENTICE


def _form_for(reason: str) -> str:
    family = KEYS.get(reason, "openai")
    return next(form for form in FORMS if form.startswith(family))


def _names(value: str | Iterable[str]) -> list[str]:
    parts = [value] if isinstance(value, str) else [str(part) for part in value]
    return [name.strip() for part in parts for name in part.split(",") if name.strip()]


def _tasks(patterns: Sequence[str]) -> tuple[str, ...]:
    from tasks.catalog import select

    return tuple(str(Path(name).resolve()) if name.endswith(".py") else name for name in select(patterns))


def _targets(names: Sequence[str]) -> tuple[str, ...]:
    from evaluator.targets import targets_named

    return tuple(target.name for target in targets_named(names))


def _baselines(names: Sequence[str]) -> tuple[str, ...]:
    from evaluator.settings import baselines_named

    return baselines_named(names)


def _device(name: str) -> str:
    if name not in DEVICES:
        raise unknown("device", name, DEVICES)
    return name


def _absolute_place(method: str) -> str:
    """`path/file.py:Class` with the path made absolute; any other method as it is."""
    path, colon, name = method.rpartition(":")
    return f"{Path(path).resolve()}:{name}" if colon and path.endswith(".py") else method


def _folder(path: str | None) -> str | None:
    if path is not None and not Path(path).is_dir():
        raise UserError(f"no folder of templates {path!r}")
    return None if path is None else str(Path(path).resolve())


def _diagnosis_chars(value: int) -> int:
    if value < 200:  # as the evaluator, which is not imported for this
        raise UserError(f"--diagnosis-chars must be at least 200, not {value}")
    return value


def _at_least_one(name: str, value: int) -> int:
    if value < 1:
        raise UserError(f"--{name} must be at least 1, not {value}")
    return value


def pairs(flag: str, items: Sequence[str]) -> dict[str, str]:
    """Each `key=value` of a repeated flag. Raises UserError."""
    found = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise UserError(f"{flag} takes key=value, not {item!r}")
        found[key.strip()] = value
    return found


def _values(pairs: Mapping[str, str]) -> dict[str, Any]:
    """Numbers, truth values and lists as JSON has them; any other text as it is."""
    values = {}
    for key, text in pairs.items():
        try:
            values[key] = json.loads(text)
        except ValueError:
            values[key] = text
    return values
