"""The prompt templates of a run."""

from __future__ import annotations

from pathlib import Path

from prompts.loader import PromptError, Templates
from tasks.errors import UserError


def load_templates(folder: str | None) -> Templates:
    """The built-in templates, those in `folder` before them. Raises UserError when there is no such folder."""
    try:
        return Templates(Path(folder) if folder else None)
    except PromptError as error:
        raise UserError(str(error)) from error
