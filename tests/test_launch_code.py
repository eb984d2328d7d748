"""What stands between Triton and a C compiler on a GPU; here with a compiler only, where there is one."""

import importlib.util
import shutil
import subprocess

import pytest

from evaluator.worker import launch_code

SOURCE = """\
#include <Python.h>
static PyObject *seven(PyObject *self, PyObject *args) { return PyLong_FromLong(7); }
static PyMethodDef methods[] = {{"seven", seven, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "made", NULL, -1, methods};
PyMODINIT_FUNC PyInit_made(void) { return PyModule_Create(&module); }
"""
needs_compiler = pytest.mark.skipif(not shutil.which("gcc"), reason="needs a C compiler")


@needs_compiler
@pytest.mark.parametrize("prepared", [True, False])
def test_a_module_is_built_with_and_without_prepared_headers(tmp_path, monkeypatch, prepared):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    if prepared:
        launch_code.prepare(tmp_path)
        assert (tmp_path / "headers" / "launch.h.gch").exists()
    source = tmp_path / "made.c"
    source.write_text(SOURCE)
    path = launch_code.built("made", str(source), str(tmp_path), [], [], [])
    spec = importlib.util.spec_from_file_location("made", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.seven() == 7


@needs_compiler
def test_what_does_not_compile_raises(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    source = tmp_path / "made.c"
    source.write_text("not C")
    with pytest.raises(subprocess.CalledProcessError):
        launch_code.built("made", str(source), str(tmp_path), [], [], [])
