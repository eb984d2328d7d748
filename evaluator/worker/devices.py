"""Where a candidate's tensors would be on a machine with a GPU: those that are on the CPU are told from the rest.

Everything is on the CPU here. A tensor that was made without `device=`, or moved there, is out of a kernel's reach
on a GPU; it is known by the address of its storage, and kept, so that the address stays its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

FACTORIES = {
    "arange", "as_tensor", "empty", "empty_permuted", "empty_strided", "eye", "from_numpy", "full", "linspace",
    "logspace", "ones", "rand", "randint", "randn", "randperm", "scalar_tensor", "tensor", "tril_indices",
    "triu_indices", "zeros",
}  # fmt: skip
NOT_GIVEN = object()


class Devices:
    """The storages that lie on the CPU, and the default device."""

    def __init__(self) -> None:
        self.default = "cpu"
        self._host: dict[int, torch.Tensor] = {}
        self._at_load: dict[int, torch.Tensor] = {}

    def begin_call(self) -> None:
        """Forgets what a call before left; what the file made when it was loaded stays known."""
        self._host = dict(self._at_load)

    def loaded(self) -> None:
        """The candidate's module has been run."""
        self._at_load = dict(self._host)

    def on_host(self, tensor: Any) -> bool:
        """Whether a tensor would be on the CPU."""
        return bool(self._host) and pointer_of(tensor) in self._host

    def mark(self, tensors: Iterable[torch.Tensor]) -> None:
        """These are on the CPU."""
        for tensor in tensors:
            pointer = pointer_of(tensor)
            if pointer:
                self._host[pointer] = tensor

    def factory_on_host(self, kwargs: Mapping[str, Any]) -> bool:
        """Whether a tensor that is made with these arguments lies on the CPU. A device of None is passed on from a
        caller who does not care."""
        device = kwargs.get("device", NOT_GIVEN)
        if device is NOT_GIVEN:
            return not is_gpu(self.default)
        return device is not None and not is_gpu(device)

    def set_default(self, device: Any) -> None:
        """Stands for `torch.set_default_device`."""
        self.default = str(device or "cpu")


def is_gpu(device: Any) -> bool:
    """Whether a device, or its name, is a GPU."""
    if isinstance(device, int) and not isinstance(device, bool):
        return True
    return str(device).split(":")[0] in ("cuda", "hip")


def pointer_of(tensor: Any) -> int:
    """The address of a tensor's storage; 0 for what has none."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided or tensor.is_meta:
        return 0
    return tensor.untyped_storage().data_ptr()


def target_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The device that `Tensor.to` is asked for; None when it is asked for a dtype only."""
    for value in (*args, kwargs.get("device"), kwargs.get("other")):
        if isinstance(value, torch.Tensor):
            return "cpu" if devices.on_host(value) else "cuda"
        if isinstance(value, (torch.device, str)) or type(value) is int:
            return value
    return None


devices = Devices()
