"""What a candidate does with torch: every operation seen, allowed ones told from computation, and who wrote what last.

A dispatch mode sees the operations that reach a tensor's data; a function mode sees what never gets that far
(`numpy`, `tolist`), and sends `device="cuda"` to the CPU. Neither stops anything: they record, and the judge decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from evaluator.wire import storage_bytes
from evaluator.worker.memory import poison

ALLOCATE = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "zeros", "zeros_like",
    "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full", "scalar_tensor",
}  # fmt: skip
POISONED = {name for name in ALLOCATE if "empty" in name}
VIEW = {
    "alias", "as_strided", "detach", "diagonal", "expand", "lift_fresh", "narrow", "permute", "real", "reshape",
    "_reshape_alias", "select", "slice", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold",
    "unsqueeze", "view", "view_as_complex", "view_as_real", "_unsafe_view", "_conj", "chunk", "movedim", "swapaxes",
    "expand_as", "view_as", "flatten", "unflatten", "resolve_conj", "resolve_neg", "set_", "resize_", "mT",
}  # fmt: skip
COPY = {"clone", "contiguous", "copy_", "_to_copy", "to", "fill_", "zero_", "copy"}
QUERY = {
    "is_pinned", "is_same_size", "size", "stride", "sym_size", "sym_stride", "sym_numel", "sym_storage_offset",
    "is_contiguous", "numel", "dim", "storage_offset", "_has_compatible_shallow_copy_type", "record_stream",
}  # fmt: skip
ALLOWED = ALLOCATE | VIEW | COPY | QUERY
LEAVES_TORCH = {"numpy", "tolist", "__dlpack__", "__array__"}


class TorchRecord:
    """The torch operations of one call, and which storages torch or a kernel wrote last (neither: nobody did)."""

    def __init__(self) -> None:
        self.computed: Counter[str] = Counter()
        self.kernel_wrote: set[int] = set()
        self.torch_wrote: set[int] = set()
        self.kept: list[Any] = []

    def seen(self, name: str, result: Any, args: tuple[Any, ...], mutates: bool) -> None:
        if name not in ALLOWED:
            self.computed[name] += 1
        tensors = [item for item in _flat(result) if isinstance(item, torch.Tensor)]
        self.kept += tensors  # a storage that stays alive keeps its address to itself
        if name in POISONED:
            if poison.byte is not None:
                for tensor in tensors:
                    storage_bytes(tensor).fill_(poison.byte)
        elif mutates or name not in VIEW:
            written = [args[0]] if mutates and args and isinstance(args[0], torch.Tensor) else tensors
            pointers = {tensor.untyped_storage().data_ptr() for tensor in written}
            self.torch_wrote |= pointers
            self.kernel_wrote -= pointers

    def launched(self, pointers: set[int]) -> None:
        """A kernel stored to the storages at these addresses."""
        self.kernel_wrote |= pointers

    def writer(self, pointer: int) -> str | None:
        """Who wrote this storage last: kernel, torch, or None."""
        return "kernel" if pointer in self.kernel_wrote else "torch" if pointer in self.torch_wrote else None


class _Dispatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, record: TorchRecord) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.record = record

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::")
        self.record.seen(name, result, args, func._schema.is_mutable)
        return result


class _Function(TorchFunctionMode):
    def __init__(self, record: TorchRecord) -> None:
        super().__init__()
        self.record = record

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in LEAVES_TORCH:
            self.record.computed[name] += 1
        elif name == "cuda" and args and isinstance(args[0], torch.Tensor):
            return args[0]
        args = tuple(_on_cpu(arg) for arg in args)
        return func(*args, **{key: _on_cpu(value) for key, value in (kwargs or {}).items() if key != "pin_memory"})


class DeviceRedirect(TorchFunctionMode):
    """Sends CUDA devices to the CPU while the candidate's module loads."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args = tuple(_on_cpu(arg) for arg in args)
        return func(*args, **{key: _on_cpu(value) for key, value in (kwargs or {}).items()})


@contextmanager
def watched() -> Iterator[TorchRecord]:
    """Records every torch operation made inside."""
    record = TorchRecord()
    with _Function(record), _Dispatch(record):
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


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]
