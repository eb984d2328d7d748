"""The lock that keeps a second writer out. It goes away with the process that holds it, however that ends."""

from __future__ import annotations

from tasks.errors import UserError


def lock(file: int, what: str) -> None:
    """Lock an open file or folder, `what` by name. Raises UserError when another process holds it.

    Needs a POSIX system, as writing runs does; reading them does not.
    """
    try:
        import fcntl
    except ImportError as error:
        raise UserError("runs can be read here, not made: that takes Linux") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UserError(f"another process writes to {what}") from error
