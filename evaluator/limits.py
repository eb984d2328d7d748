"""How long each stage of an evaluation may take, how much a worker may send, and what it may take of a machine."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Seconds a stage may take before the worker is killed, and bytes that one message may carry.

    Compilation has a deadline of its own, for each kernel and specialisation; a call's deadline is for the rest of it.
    Memory, file and processor limits hold for each process of a worker; the folder and the number of processes (its
    threads count too) for all of them together.
    """

    load_s: float = 30.0
    compile_s: float = 60.0
    call_s: float = 30.0
    answer_bytes_max: int = 2**30
    source_bytes_max: int = 2**20
    memory_bytes_max: int = 16 * 2**30
    file_bytes_max: int = 256 * 2**20
    folder_bytes_max: int = 2**30
    files_max: int = 256
    processes_max: int = 512
    processor_s: int = 1800
    log_bytes_max: int = 4000
