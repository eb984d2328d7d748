"""Rendering prompts from templates: the user's own folder first, then the ones beside this file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import jinja2
import jinja2.meta

HERE = Path(__file__).parent


class PromptError(Exception):
    """A template that is missing, broken, or lacks a variable; the text is one line."""


class Templates:
    """The templates of a run. A variable that a template uses and nobody gives is an error, never an empty string."""

    def __init__(self, user_folder: Path | None = None) -> None:
        """Raises PromptError when `user_folder` is given and is not a folder, or a template doesn't parse."""
        if user_folder is not None and not user_folder.is_dir():
            raise PromptError(f"no folder of templates {str(user_folder)!r}")
        folders = [HERE] if user_folder is None else [user_folder, HERE]
        self._environment = jinja2.Environment(
            loader=_PromptFiles(folders),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
        )
        for name in self.names():
            if name.endswith(".j2"):
                self._parse(name)  # a broken template is told before a run spends anything

    def render(self, name: str, **variables: Any) -> str:
        """The text of template `name` ("fix.j2"). Raises PromptError."""
        try:
            return self._environment.get_template(name).render(**variables)
        except jinja2.TemplateNotFound as error:
            raise PromptError(f"no template {error.name!r}; there are {', '.join(self.names())}") from error
        except jinja2.TemplateSyntaxError as error:
            raise _syntax(error) from error
        except jinja2.UndefinedError as error:
            raise PromptError(f"template {name}: {error.message}") from error

    def names(self) -> list[str]:
        """Every template, part, page and example that can be rendered or included, sorted."""
        return self._environment.list_templates()

    def hashes(self) -> dict[str, str]:
        """SHA-256 of the text of each of `names` that would be used, for the record of a run."""
        return {name: hashlib.sha256(self._source(name).encode()).hexdigest() for name in self.names()}

    def variables(self, name: str) -> set[str]:
        """What template `name` itself takes from outside, needed or not; what its parts take is not followed."""
        return jinja2.meta.find_undeclared_variables(self._parse(name))

    def _parse(self, name: str) -> jinja2.nodes.Template:
        try:
            return self._environment.parse(self._source(name), name)
        except jinja2.TemplateSyntaxError as error:
            raise _syntax(error) from error

    def _source(self, name: str) -> str:
        loader = self._environment.loader
        assert loader is not None
        return loader.get_source(self._environment, name)[0]


def _syntax(error: jinja2.TemplateSyntaxError) -> PromptError:
    return PromptError(f"template {error.name}, line {error.lineno}: {error.message}")


class _PromptFiles(jinja2.FileSystemLoader):
    """Reads `.j2` and `.md` files, and Python in `examples/`: nothing else, so that the hashes miss nothing."""

    def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        if not _is_prompt(template):
            raise jinja2.TemplateNotFound(template)
        try:
            return super().get_source(environment, template)
        except UnicodeDecodeError as error:
            raise PromptError(f"template {template} is not UTF-8") from error

    def list_templates(self) -> list[str]:
        return [name for name in super().list_templates() if _is_prompt(name)]


def _is_prompt(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix in (".j2", ".md") or (path.suffix == ".py" and path.parts[0] == "examples")
