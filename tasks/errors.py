"""The one exception that stands for a user's mistake: printed as one line, exit code 2."""

import difflib
from collections.abc import Iterable

MOST_SHOWN = 20


class UserError(Exception):
    """A mistake in what the user asked for; its text is one line and says what to do."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """An error for a name that nobody has, with near matches: `unknown task 'x'; did you mean 'y'?`"""
    choices = sorted(known)
    folded = {choice.lower(): choice for choice in choices}
    near = [folded[c] for c in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.5)]
    near += [c for c in choices if c.lower().split("/")[-1] == name.lower() and c not in near]
    rest = f", ... ({len(choices) - MOST_SHOWN} more)" if len(choices) > MOST_SHOWN else ""
    listed = f"known: {', '.join(choices[:MOST_SHOWN])}{rest}"
    hint = f"did you mean {', '.join(map(repr, near))}?" if near else listed
    return UserError(f"unknown {kind} {name!r}; {hint}")
