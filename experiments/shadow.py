"""Whether Python finds our packages, or another distribution's of the same name. Imports none of them."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
from pathlib import Path

PACKAGES = ("tasks", "evaluator", "prompts", "agents", "experiments")
HOME = Path(__file__).resolve().parent.parent
ADVICE = "install kernelmend in an environment of its own"


def shadowed() -> str | None:
    """One line about the first of our packages that isn't ours here; None when all are."""
    for name in PACKAGES:
        found = _location(name)
        if found is None:
            return f"Python does not find kernelmend's package {name!r} in {HOME / name}; {ADVICE}"
        if found != HOME / name:
            owner = _owner(name)
            whose = f" of {owner}" if owner else ""
            return f"Python finds the package {name!r}{whose} in {found}, not kernelmend's in {HOME / name}; {ADVICE}"
    changed = _overwritten()
    return f"another distribution has overwritten kernelmend's {changed}; {ADVICE}" if changed else None


def _location(name: str) -> Path | None:
    """The package's folder; of a folder without `__init__.py`, which Python takes for a package too, that folder."""
    spec = importlib.util.find_spec(name)
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]).resolve() if places else None


def _owner(name: str) -> str | None:
    owners = importlib.metadata.packages_distributions().get(name, [])
    return next((owner for owner in owners if owner != "kernelmend"), None)


def _overwritten() -> str | None:
    """Two wheels with one package name land in one folder, and the later installation wins file by file."""
    try:
        installed = importlib.metadata.distribution("kernelmend").files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in installed:
        path = Path(str(file.locate()))
        if file.name == "__init__.py" and file.hash and path.resolve().parent.parent == HOME and path.exists():
            digest = hashlib.new(file.hash.mode, path.read_bytes()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
                return str(file)
    return None
