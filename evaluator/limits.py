"""How long each stage of an evaluation may take, and how much a worker may send."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Seconds a stage may take before the worker is killed, and bytes that one message may carry.

    Compilation has a deadline of its own, for each kernel and specialisation; a call's deadline is for the rest of it.
    """

    load_s: float = 30.0
    compile_s: float = 60.0
    call_s: float = 30.0
    answer_bytes_max: int = 2**30
    source_bytes_max: int = 2**20
