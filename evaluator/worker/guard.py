"""What a candidate does with torch: every operation seen, allowed ones told from computation, and who wrote what last.

A dispatch mode sees the operations that reach a tensor's data; a function mode sees what never gets that far
(`numpy`, `tolist`), and sends `device="cuda"` to the CPU. Neither stops anything: they record, and the judge decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from evaluator.wire import STORAGE, storage_bytes
from evaluator.worker.devices import FACTORIES, devices, is_gpu, pointer_of, target_of
from evaluator.worker.memory import poison

ALLOCATE = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "zeros", "zeros_like",
    "new_zeros", "arange", "ones", "ones_like", "new_ones", "full", "full_like", "new_full", "scalar_tensor",
}  # fmt: skip
POISONED = {name for name in ALLOCATE if "empty" in name}
VIEW = {
    "alias", "as_strided", "detach", "diagonal", "expand", "lift_fresh", "narrow", "permute", "real", "reshape",
    "_reshape_alias", "select", "slice", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold",
    "unsqueeze", "view", "view_as_complex", "view_as_real", "_unsafe_view", "_conj", "chunk", "movedim", "swapaxes",
    "expand_as", "view_as", "flatten", "unflatten", "resolve_conj", "resolve_neg", "resize_", "resize_as_", "mT",
}  # fmt: skip
RESIZES = {"resize_", "resize_as_"}
COPY = {"clone", "contiguous", "copy_", "_to_copy", "to", "fill_", "zero_", "copy"}
QUERY = {
    "is_pinned", "is_same_size", "size", "stride", "sym_size", "sym_stride", "sym_numel", "sym_storage_offset",
    "is_contiguous", "can_cast", "promote_types", "result_type",
    "numel", "dim", "storage_offset", "_has_compatible_shallow_copy_type", "record_stream",
    "profiler::_record_function_enter", "profiler::_record_function_enter_new", "profiler::_record_function_exit",
}  # fmt: skip
ALLOWED = ALLOCATE | VIEW | COPY | QUERY
FROM_PYTHON = {"lift_fresh", "fill_", "full", "full_like", "new_full", "scalar_tensor"}
# printing reads the data, and switches the modes off itself
LEAVES_TORCH = {"numpy", "tolist", "__dlpack__", "__array__", "__repr__", "__str__", "__format__"}


class TorchRecord:
    """The torch operations of one call, and which storages torch or a kernel wrote last (neither: nobody did).

    `torch_made` are the storages that hold what torch computed at import, or a copy of it, whoever wrote them since;
    `left` tells that such values went to Python, from where a tensor that is made there may have them.
    """

    def __init__(self, at_import: TorchRecord | None = None) -> None:
        """Of a call after `at_import`; without it, of the import itself."""
        self.importing = at_import is None
        self.computed: Counter[str] = Counter()
        self.kernel_wrote: set[int] = set()
        self.torch_wrote: set[int] = set()
        self.torch_made: set[int] = set(at_import.torch_made) if at_import else set()
        self.left = False
        self.kept: list[Any] = []

    def seen(self, name: str, result: Any, args: tuple[Any, ...], mutates: bool) -> None:
        if name not in ALLOWED:
            self.computed[name] += 1
        tensors = [item for item in _flat(result) if isinstance(item, torch.Tensor)]
        self.kept += tensors  # a storage that stays alive keeps its address to itself
        made = self.holds_made(args)
        self.left |= made and name == "_local_scalar_dense"
        if made or (self.importing and (name not in ALLOWED or (self.left and name in FROM_PYTHON))):
            self.torch_made |= _pointers([*tensors, *(args[:1] if mutates else ())])
        if name in POISONED:
            _poison(tensors)
        elif mutates or name not in VIEW:
            pointers = _pointers(args[:1] if mutates and args and isinstance(args[0], torch.Tensor) else tensors)
            self.torch_wrote |= pointers
            self.kernel_wrote -= pointers

    def holds_made(self, args: tuple[Any, ...]) -> bool:
        """Whether one of these holds what torch computed."""
        return bool(self.torch_made) and not self.torch_made.isdisjoint(_pointers(_flat(list(args))))

    def launched(self, pointers: set[int]) -> None:
        """A kernel stored to the storages at these addresses."""
        self.kernel_wrote |= pointers

    def writer(self, pointer: int) -> str | None:
        """Who wrote this storage last: kernel, torch, or None."""
        return "kernel" if pointer in self.kernel_wrote else "torch" if pointer in self.torch_wrote else None


def _pointers(values: Iterable[Any]) -> set[int]:
    """Where the storages of the tensors among these are."""
    return {pointer for value in values if isinstance(value, torch.Tensor) and (pointer := pointer_of(value))}


def _poison(tensors: list[torch.Tensor]) -> None:
    for tensor in tensors:
        if poison.byte is not None and pointer_of(tensor):
            storage_bytes(tensor).fill_(poison.byte)


class _Dispatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, record: TorchRecord, redirects: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.record = record
        self.redirects = redirects

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.removeprefix("aten::")
        before = STORAGE(args[0]).nbytes() if name in RESIZES else None
        if self.redirects:  # a function of torch's own may name the GPU too, where the function mode is off
            kwargs = _all_on_cpu(kwargs or {})
        try:
            result = func(*args, **(kwargs or {}))
        except RuntimeError:
            if name not in ALLOWED:  # it was torch that should have computed, whatever stopped it
                self.record.computed[name] += 1
            raise
        if before is not None and poison.byte is not None:
            storage_bytes(args[0])[before:].fill_(poison.byte)
        self.record.seen(name, result, args, func._schema.is_mutable)
        return result


class _Function(TorchFunctionMode):
    def __init__(self, record: TorchRecord, redirects: bool) -> None:
        super().__init__()
        self.record = record
        self.redirects = redirects

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        kwargs = {key: value for key, value in (kwargs or {}).items() if key != "pin_memory"}
        if func is torch.device:
            return func(*args, **kwargs)  # it is sent to the CPU where it is used
        if name in LEAVES_TORCH:
            self.record.computed[name] += 1
            self.record.left |= self.record.holds_made(args)
        if not self.redirects:
            return func(*args, **kwargs)
        if name in ("cpu", "cuda", "to") and args and isinstance(args[0], torch.Tensor):
            return _moved(name, func, args, kwargs)
        on_host = devices.factory_on_host(kwargs) if name in FACTORIES else _made_from_host(args, kwargs)
        result = func(*map(_on_cpu, args), **_all_on_cpu(kwargs))
        if on_host:
            devices.mark(item for item in _flat(result) if isinstance(item, torch.Tensor))
        return result


def _moved(name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A tensor moved to where it was asked to be; a move to another device is a copy."""
    tensor, was = args[0], devices.on_host(args[0])
    target = "cpu" if name == "cpu" else "cuda" if name == "cuda" else target_of(args[1:], kwargs)
    to_host = was if target is None else not is_gpu(target)
    result = tensor
    if name == "to":
        numbered = ["cpu" if type(arg) is int else _on_cpu(arg) for arg in args[1:]]
        result = func(tensor, *numbered, **_all_on_cpu(kwargs))
    if to_host != was and pointer_of(result) == pointer_of(tensor):
        result = result.clone()
    if to_host:
        devices.mark([result])
    return result


def _made_from_host(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether what an operation makes of its arguments is on the CPU, as they are."""
    if kwargs.get("device") is not None:
        return not is_gpu(kwargs["device"])
    return any(map(devices.on_host, _flat(list(args))))


@contextmanager
def watched(at_import: TorchRecord | None = None, *, redirects: bool = True) -> Iterator[TorchRecord]:
    """Records every torch operation made inside: at import, or in a call after it. `redirects` sends what asks for a
    GPU to the CPU."""
    record = TorchRecord(at_import)
    with _Function(record, redirects), _Dispatch(record, redirects):
        yield record


@contextmanager
def unwatched() -> Iterator[None]:
    """Our own torch operations in the middle of a watched call: neither recorded nor redirected."""
    with torch._C.DisableTorchFunction(), torch.utils._python_dispatch._disable_current_modes():
        yield


def _on_cpu(value: Any) -> Any:
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type in ("cuda", "hip") else value
    if isinstance(value, str) and value.split(":")[0] in ("cuda", "hip"):
        return "cpu"
    return value


def _all_on_cpu(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The same with devices on the CPU; a number names a GPU."""
    return {k: "cpu" if k == "device" and type(v) is int else _on_cpu(v) for k, v in kwargs.items()}


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]
