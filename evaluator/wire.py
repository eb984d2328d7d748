"""How judge and worker talk: one strict JSON header, then raw frames whose lengths the header gives.

Nothing is ever pickled. Either side caps what it accepts before it allocates, and treats anything malformed as the
end of the conversation. Imports nothing of the project: the worker uses it too.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

import torch

# as they are before a worker loads a candidate, which may put others in their place
EMPTY, SET, STORAGE = torch.empty, torch.Tensor.set_, torch.Tensor.untyped_storage
NUMPY, CPU = torch.Tensor.numpy, torch.Tensor.cpu
HEADER_MAX = 4 * 2**20
FRAMES_MAX = 4096
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.complex128,
        torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64,
        torch.bool, torch.float8_e4m3fn, torch.float8_e5m2,
    )
}  # fmt: skip
LAYOUTS = {"strided": torch.strided, "sparse_coo": torch.sparse_coo}


class WireError(Exception):
    """The other side sent something that is not this protocol, or too much of it."""


class Ended(Exception):
    """The other side closed the connection."""


class DeadlinePassed(Exception):
    """Nothing complete arrived in time."""


def send(sock: socket.socket, header: dict[str, Any], frames: Sequence[bytes | memoryview] = ()) -> None:
    """One message. Raises OSError when the other side is gone."""
    body = json.dumps({**header, "frames": [len(frame) for frame in frames]}, allow_nan=False).encode()
    sock.sendall(struct.pack(">I", len(body)) + body)
    for frame in frames:
        sock.sendall(frame)


def receive(
    sock: socket.socket, *, deadline: float | None = None, bytes_max: int = 2**32
) -> tuple[dict[str, Any], list[bytearray]]:
    """The next message: its header and its frames, complete before `deadline` (a `time.monotonic` value).

    Raises Ended, DeadlinePassed, or WireError (malformed, or more than `bytes_max` bytes of frames).
    """
    (size,) = struct.unpack(">I", _exactly(sock, 4, deadline))
    if size > HEADER_MAX:
        raise WireError(f"header of {size} bytes")
    try:
        header = json.loads(bytes(_exactly(sock, size, deadline)), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise WireError("header is not JSON") from error
    lengths = header.get("frames") if isinstance(header, dict) else None
    if not isinstance(lengths, list) or len(lengths) > FRAMES_MAX:
        raise WireError("header has no list of frames")
    if not all(type(n) is int and n >= 0 for n in lengths) or sum(lengths) > bytes_max:
        raise WireError("frame lengths out of range")
    return header, [_exactly(sock, n, deadline) for n in lengths]


def pack(value: Any, frames: list[memoryview]) -> Any:
    """An argument as JSON; the storage of each tensor is appended to `frames`. Raises TypeError for other values."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return {"int": str(value)}
        case float():
            return {"float": value.hex() if math.isfinite(value) else str(value)}
        case torch.Tensor():
            frames.append(view_of(value))
            return {
                "tensor": len(frames) - 1,
                "dtype": str(value.dtype).removeprefix("torch."),
                "shape": list(value.shape),
                "strides": list(value.stride()),
                "offset": value.storage_offset(),
            }
        case torch.dtype():
            return {"dtype": str(value).removeprefix("torch.")}
        case torch.device():
            return {"device": str(value)}
        case torch.layout():
            return {"layout": str(value).removeprefix("torch.")}
        case torch.Generator():
            return {"generator": str(value.initial_seed())}
        case torch.Size():
            return {"size": list(value)}
        case list() | tuple():
            return {type(value).__name__: [pack(item, frames) for item in value]}
        case dict():
            return {"dict": [[pack(key, frames), pack(item, frames)] for key, item in value.items()]}
    raise TypeError(f"a {type(value).__name__} can't be an argument of a case")


def unpack(tree: Any, frames: Sequence[bytearray]) -> Any:
    """The value behind `pack`. Raises WireError for anything that `pack` doesn't write."""
    if tree is None or isinstance(tree, (bool, str)):
        return tree
    try:
        if "tensor" in tree:
            return _tensor(tree, frames[tree["tensor"]])
        ((kind, body),) = tree.items()
        match kind:
            case "int":
                return int(body)
            case "float":
                return float.fromhex(body) if "0x" in body else float(body)
            case "dtype":
                return DTYPES[body]
            case "device":
                return torch.device(body)
            case "layout":
                return LAYOUTS[body]
            case "generator":
                return torch.Generator().manual_seed(int(body))
            case "size":
                return torch.Size(int(size) for size in body)
            case "list":
                return [unpack(item, frames) for item in body]
            case "tuple":
                return tuple(unpack(item, frames) for item in body)
            case "dict":
                return {unpack(key, frames): unpack(item, frames) for key, item in body}
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError) as error:
        raise WireError(f"malformed value: {error}") from error
    raise WireError(f"unknown kind of value {kind!r}")


def storage_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The whole storage behind a tensor as a uint8 tensor that shares it."""
    storage = STORAGE(tensor)
    return SET(EMPTY(0, dtype=torch.uint8, device=storage.device), storage)


def view_of(tensor: torch.Tensor) -> memoryview:
    """The bytes of the whole storage behind a tensor: shared with a CPU tensor, a copy of another's."""
    return memoryview(NUMPY(CPU(storage_bytes(tensor))))  # type: ignore[arg-type]


def _tensor(tree: dict[str, Any], frame: bytearray) -> torch.Tensor:
    dtype, shape, strides, offset = DTYPES[tree["dtype"]], tree["shape"], tree["strides"], tree["offset"]
    numbers = [*shape, *strides, offset]
    if len(shape) != len(strides) or not all(type(n) is int and 0 <= n < 2**40 for n in numbers):
        raise WireError("shape, strides or offset out of range")
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if all(shape) else offset - 1
    if (last + 1) * dtype.itemsize > len(frame):
        raise WireError("tensor reaches past its bytes")
    room = torch.frombuffer(frame, dtype=torch.uint8) if frame else torch.empty(0, dtype=torch.uint8)
    return torch.empty(0, dtype=dtype).set_(room.untyped_storage(), offset, shape, strides)


def _exactly(sock: socket.socket, size: int, deadline: float | None) -> bytearray:
    room = bytearray(size)
    view, got = memoryview(room), 0
    while got < size:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise DeadlinePassed
            sock.settimeout(left)
        try:
            n = sock.recv_into(view[got:], min(size - got, 2**20))
        except TimeoutError as error:
            raise DeadlinePassed from error
        except ConnectionError as error:
            raise Ended from error
        if n == 0:
            raise Ended
        got += n
    return room


def _no_constant(name: str) -> Any:
    raise ValueError(name)
