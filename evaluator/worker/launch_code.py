"""Triton has a C compiler build the call behind each kernel signature, a quarter of a second each; here it takes less.

The headers are compiled once for all candidates, and what is built is not optimised: it passes on a kernel's arguments,
in time that a timing hides.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

from triton import knobs

HEADERS = """\
#include "cuda.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#define PY_SSIZE_T_CLEAN
#include <Python.h>
"""
FLAGS = ("-O0", "-fPIC", "-Wno-psabi")


def install() -> None:
    """Has Triton build through here, where its version lets others do it."""
    if hasattr(knobs.build, "impl"):
        knobs.build.impl = built


def prepare(folder: Path) -> None:
    """Compiles the headers into `folder`; does nothing where they don't compile alone."""
    from triton.backends.nvidia import driver

    place = folder / "headers"
    place.mkdir(parents=True, exist_ok=True)
    (place / "launch.h").write_text(HEADERS)
    command = [_compiler(), *FLAGS, "-x", "c-header", "launch.h", "-o", "launch.h.gch", *_includes(driver.include_dirs)]
    if subprocess.run(command, cwd=place, check=False, capture_output=True).returncode:
        shutil.rmtree(place)


def built(
    name: str, src: str, srcdir: str, library_dirs: list[str], include_dirs: list[str], libraries: list[str]
) -> str:
    """As `triton.runtime.build._build`: the path of the module built from the file `src`. Raises CalledProcessError."""
    target = f"{srcdir}/{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    place = Path(os.environ["TRITON_CACHE_DIR"]) / "headers"
    ready = ["-I", str(place), "-include", "launch.h"] if place.is_dir() else []
    linked = [f"-l:{one}" if ".so" in one or one.endswith(".a") else f"-l{one}" for one in libraries]
    command = [_compiler(), src, *FLAGS, *ready, "-shared", "-o", target, *linked]
    command += [*(f"-L{folder}" for folder in library_dirs), *_includes([*include_dirs, srcdir])]
    subprocess.check_call(command, stdout=subprocess.DEVNULL)
    return target


def _compiler() -> str:
    return os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang") or "cc"


def _includes(folders: list[str]) -> list[str]:
    return [f"-I{folder}" for folder in (*folders, sysconfig.get_paths()["include"])]
