"""The system calls of the sandbox that Python has no function for. Each raises OSError when the kernel refuses."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 36, 38
# numbers of system calls without a C function everywhere; the same on every architecture
MOUNT_SETATTR = 442
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
ATTR_RDONLY, ATTR_NOSUID = 1, 2
CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    _checked(_libc.unshare(flags))


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    _checked(_libc.mount(source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode()))


def bind(source: str, target: str) -> None:
    """Shows `source`, with all that is mounted in it, at `target` too."""
    _checked(_libc.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(MS_BIND | MS_REC), None))


def read_only(folder: str) -> None:
    """Every mount at and below `folder`; needs Linux 5.12."""
    attributes = struct.pack("=QQQQ", ATTR_RDONLY | ATTR_NOSUID, 0, 0, 0)
    syscall(MOUNT_SETATTR, AT_FDCWD, os.fsencode(folder), AT_RECURSIVE, attributes, len(attributes))


def writable(folder: str) -> None:
    """The mount at `folder` alone, not those below it."""
    attributes = struct.pack("=QQQQ", 0, ATTR_RDONLY, 0, 0)
    syscall(MOUNT_SETATTR, AT_FDCWD, os.fsencode(folder), 0, attributes, len(attributes))


def become_root(folder: str) -> None:
    """Makes the mount at `folder` the root of every process in this mount namespace; what was there is gone."""
    os.chdir(folder)
    _checked(_libc.pivot_root(b".", b"."))
    _checked(_libc.umount2(b".", MNT_DETACH))
    os.chdir("/")


def prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _checked(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero))


def drop_capabilities() -> None:
    """For good: a program that is run afterwards can't have them either."""
    if capabilities():
        for capability in range(64):
            try:
                prctl(PR_CAPBSET_DROP, capability)
            except OSError as error:
                if error.errno == errno.EINVAL:  # past the last one that this kernel knows
                    break
                raise
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    _checked(_libc.capset(struct.pack("=Ii", CAPABILITY_VERSION, 0), bytes(24)))


def capabilities() -> int:
    """The set of capabilities of this process, a bit for each."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1], 16) for line in status if line.startswith("CapPrm"))


def version() -> tuple[int, int]:
    """Of the kernel: major, minor."""
    major, minor = os.uname().release.split(".")[:2]
    return int(major), int("".join(c for c in minor if c.isdigit()) or 0)


def syscall(number: int, *args: object) -> int:
    words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return _checked(_libc.syscall(ctypes.c_long(number), *words))


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
