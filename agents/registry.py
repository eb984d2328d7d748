"""Finding methods: the built-in ones, installed plug-ins, a class of any module, a class in a file of one's own."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import types
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, cast

from agents.methods.best_of_n import BestOfN
from agents.methods.geak import Geak
from agents.methods.oneshot import OneShot
from agents.methods.reflexion import Reflexion
from agents.protocol import Method
from tasks.errors import UserError, unknown

GROUP = "kernelmend.methods"
BUILT_IN: Mapping[str, type[Method]] = {method.name: method for method in (OneShot, BestOfN, Reflexion, Geak)}
BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def methods() -> dict[str, type[Method]]:
    """Every method with a name: the built-in ones, then plug-ins. A plug-in that does not load is warned about."""
    found = dict(BUILT_IN)
    for name in _plug_ins():
        try:
            found[name] = find_class(name)
        except UserError as error:
            warnings.warn(str(error), stacklevel=2)
    return found


def load_method(spec: str, options: Mapping[str, Any]) -> Method:
    """The method that `spec` names, with these options.

    `spec` is a name, `package.module:Class` or `path/file.py:Class`. `options` are fields of the dataclass; strings
    are converted to the field's type. Raises UserError for whatever can't be found, loaded or converted.
    """
    method = find_class(spec)
    known = {option.name: option for option in options_of(method)}
    types_of = typing.get_type_hints(method)
    values = {}
    for name, value in options.items():
        if name not in known:
            if not known:
                raise UserError(f"{method.name} has no options, so no {name!r}")
            raise unknown(f"option of {method.name}", name, known)
        values[name] = _converted(f"option {name} of {method.name}", value, types_of[name])
    missing = [name for name, option in known.items() if _required(option) and name not in values]
    if missing:
        raise UserError(f"{method.name} needs a value for {', '.join(missing)}: -o {missing[0]}=...")
    try:
        return method(**values)
    except (ValueError, TypeError) as error:
        raise UserError(f"options of {method.name}: {error}") from error


def find_class(spec: str) -> type[Method]:
    """The class that `spec` names; a dataclass with `name` and `run`. Raises UserError."""
    found = find(spec)
    for flaw in flaws(found):
        raise UserError(f"method {spec} {flaw}")
    return cast(type[Method], found)


def find(spec: str) -> type:
    """The class that `spec` names, whether or not it is a method. Raises UserError when there is none."""
    if spec in BUILT_IN:
        return BUILT_IN[spec]
    place, colon, name = spec.rpartition(":")
    if not colon and not spec.endswith(".py"):
        plug_ins = _plug_ins()
        if spec in plug_ins:
            return _load_plug_in(plug_ins[spec])
        raise unknown("method", spec, [*BUILT_IN, *plug_ins])
    if not colon:
        place, name = spec, ""
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    found = getattr(module, name, None) if name else None
    if not isinstance(found, type):
        there = [key for key, value in vars(module).items() if _is_method_of(value, module)]
        near = f"did you mean {' or '.join(f'{place}:{key}' for key in there)}?" if there else "it holds no method"
        raise UserError(f"no class {name!r} in {place}; {near}" if name else f"{spec} names no class; {near}")
    return found


def flaws(found: type) -> list[str]:
    """What keeps a class from being a method, each as the end of a sentence that begins with its name."""
    wrong = []
    if not is_dataclass(found):
        wrong.append("is no dataclass; a method is one, and its fields are its options")
    elif any(option.name == "name" for option in fields(found)):
        wrong.append('has its name as an option; write `name: ClassVar[str] = "..."`')
    if not isinstance(getattr(found, "name", None), str):
        wrong.append('has no name; write `name: ClassVar[str] = "..."`')
    run = getattr(found, "run", None)
    if not callable(run):
        wrong.append("has no run(self, task, ctx)")
    elif not _takes_three(run):
        wrong.append(f"has run{inspect.signature(run)}, which can't be called as run(task, ctx)")
    return wrong


def options_of(method: type[Method]) -> list[Field[Any]]:
    """The fields that can be set as options."""
    return [option for option in fields(method) if option.init]  # type: ignore[arg-type]


def options_text(method: type[Method]) -> list[tuple[str, str, str, str]]:
    """Name, type, default and help of each option, as they are listed."""
    types_of = typing.get_type_hints(method)
    return [
        (option.name, _type_text(types_of[option.name]), _default_text(option), option.metadata.get("help", ""))
        for option in options_of(method)
    ]


def convertible(kind: Any) -> bool:
    """Whether an option of this type can be given on the command line."""
    if typing.get_origin(kind) is tuple:
        arguments = typing.get_args(kind)
        return len(arguments) == 2 and arguments[1] is Ellipsis and arguments[0] in (int, float, bool, str)
    if _is_union(kind):
        return all(part is type(None) or convertible(part) for part in typing.get_args(kind))
    return kind in (int, float, bool, str)


def _plug_ins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in BUILT_IN}


def _load_plug_in(point: EntryPoint) -> type:
    try:
        loaded = point.load()
    except Exception as error:  # the border of plug-in loading
        raise UserError(f"method plug-in {point.name!r} ({point.value}) does not load: {_line(error)}") from error
    if not isinstance(loaded, type):
        raise UserError(f"method plug-in {point.name!r} ({point.value}) is no class")
    return loaded


def _load_module(name: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:  # the border of plug-in loading
        raise UserError(f"method module {name!r} does not load: {_line(error)}") from error


def _load_file(path: Path) -> types.ModuleType:
    if not path.is_file():
        raise UserError(f"no method file {str(path)!r}")
    name = f"kernelmend_user_method_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the border of plug-in loading
        del sys.modules[name]
        raise UserError(f"method file {path} does not load: {_line(error)}") from error
    return module


def _is_method_of(value: Any, module: types.ModuleType) -> bool:
    return isinstance(value, type) and value.__module__ == module.__name__ and not flaws(value)


def _takes_three(run: Callable[..., Any]) -> bool:
    try:
        inspect.signature(run).bind(None, None, None)
    except TypeError:
        return False
    return True


def _converted(what: str, value: Any, kind: Any) -> Any:
    """`value` as `kind`. Values of a settings file have types already, and go through the same door as text."""
    if isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    text = str(value).strip() if kind is not str else str(value)
    try:
        return _parsed(text, kind)
    except (ValueError, KeyError):
        raise UserError(f"{what} must be {_type_text(kind)}, not {str(value)!r}") from None


def _parsed(text: str, kind: Any) -> Any:
    if _is_union(kind):
        parts = typing.get_args(kind)
        if type(None) in parts and text.lower() in ("none", ""):
            return None
        for part in parts:
            if part is not type(None):
                try:
                    return _parsed(text, part)
                except (ValueError, KeyError):
                    continue
        raise ValueError(text)
    if typing.get_origin(kind) is tuple:
        return tuple(_parsed(item.strip(), typing.get_args(kind)[0]) for item in text.split(",") if item.strip())
    if kind is bool:
        return BOOLEANS[text.lower()]
    if kind in (int, float, str):
        return kind(text)
    raise UserError(f"an option of type {_type_text(kind)} can't be given here")


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def _type_text(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)


def _required(option: Field[Any]) -> bool:
    return option.default is MISSING and option.default_factory is MISSING


def _default_text(option: Field[Any]) -> str:
    if option.default is not MISSING:
        return str(option.default)
    return str(option.default_factory()) if option.default_factory is not MISSING else "none: must be given"


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
