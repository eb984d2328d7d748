"""Landlock: a process gives up files, TCP, and signals to others, for itself and all that it starts.

It needs no privilege. Linux documentation, "Landlock: unprivileged access control" (userspace-api/landlock); the
numbers are those of linux/landlock.h.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

from evaluator.worker import kernel

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
RULE_PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
READ = EXECUTE | READ_FILE | READ_DIR
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
FILE_ONLY = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
# how many rights on files each version of the interface knows: 13 at first, then refer, truncate, ioctl on devices
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
TCP_BIND_AND_CONNECT = 0b11
ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


def version() -> int:
    """Of the interface: 0 where there is none."""
    try:
        return kernel.syscall(CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def restrict(readable: Sequence[str], writable: Sequence[str]) -> None:
    """From here on only these files and folders, and what is below them, can be opened. Raises OSError.

    The process must have given up gaining privileges (`PR_SET_NO_NEW_PRIVS`).
    """
    known = version()
    every = (1 << FILE_RIGHTS.get(known, 16)) - 1
    attributes = struct.pack("=Q", every)
    if known >= 4:
        attributes += struct.pack("=Q", TCP_BIND_AND_CONNECT)
    if known >= 6:
        attributes += struct.pack("=Q", ABSTRACT_SOCKETS_AND_SIGNALS)
    rules = kernel.syscall(CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for paths, rights in ((readable, READ), (writable, every)):
            for path in paths:
                _allow(rules, path, rights)
        kernel.syscall(RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what can't be seen needs no rule
    try:
        allowed = rights if os.path.isdir(path) else rights & FILE_ONLY
        kernel.syscall(ADD_RULE, rules, RULE_PATH_BENEATH, struct.pack("=Qi", allowed, place), 0)
    finally:
        os.close(place)
