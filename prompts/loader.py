"""Rendering prompts from templates: the user's own folder first, then the ones beside this file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import jinja2

HERE = Path(__file__).parent


class PromptError(Exception):
    """A template that is missing, broken, or lacks a variable; the text is one line."""


class Templates:
    """The templates of a run. A variable that a template uses and nobody gives is an error, never an empty string."""

    def __init__(self, user_folder: Path | None = None) -> None:
        """Raises PromptError when `user_folder` is given and is not a folder."""
        if user_folder is not None and not user_folder.is_dir():
            raise PromptError(f"no folder of templates {str(user_folder)!r}")
        folders = [HERE] if user_folder is None else [user_folder, HERE]
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folders),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
        )

    def render(self, name: str, **variables: Any) -> str:
        """The text of template `name` ("fix.j2"). Raises PromptError."""
        try:
            return self._environment.get_template(name).render(**variables)
        except jinja2.TemplateNotFound as error:
            raise PromptError(f"no template {error.name!r}; there are {', '.join(self.names())}") from error
        except jinja2.TemplateSyntaxError as error:
            raise PromptError(f"template {error.name}, line {error.lineno}: {error.message}") from error
        except jinja2.UndefinedError as error:
            raise PromptError(f"template {name}: {error.message}") from error

    def names(self) -> list[str]:
        """Every template that can be rendered or included, sorted."""
        return self._environment.list_templates(extensions=["j2"])

    def hashes(self) -> dict[str, str]:
        """SHA-256 of the text of each template that would be used, for the record of a run."""
        return {name: hashlib.sha256(self._source(name).encode()).hexdigest() for name in self.names()}

    def _source(self, name: str) -> str:
        loader = self._environment.loader
        assert loader is not None
        return loader.get_source(self._environment, name)[0]
