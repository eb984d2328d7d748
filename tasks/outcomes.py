"""The names of every way an evaluation can end.

They live in `tasks`, the leftmost package, because faults and negative controls name them too.
"""

from enum import StrEnum


class Status(StrEnum):
    """The verdict on one candidate. Only `CORRECT` counts as solved; `INFRA_ERROR` counts against nobody."""

    CORRECT = "correct"
    WRONG = "wrong"
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    REJECTED = "rejected"
    INFRA_ERROR = "infra_error"


class Stage(StrEnum):
    """The stages of an evaluation, in order; the first that fails gives the status."""

    STATIC = "static"
    LOAD = "load"
    RUN = "run"
    CONTRACT = "contract"
    COMPARE = "compare"
    TIME = "time"


class Reason(StrEnum):
    """Why a candidate was not `correct`: the code beside the status."""

    # static
    NO_CODE = "no_code"
    CUT_OFF = "cut_off"
    SYNTAX_ERROR = "syntax_error"
    ESCAPE = "escape"
    # load
    LOAD_ERROR = "load_error"
    NO_ENTRY = "no_entry"
    # run
    COMPILATION = "compilation"
    OUT_OF_RESOURCES = "out_of_resources"
    EXCEPTION = "exception"
    OUT_OF_BOUNDS_WRITE = "out_of_bounds_write"
    DIED = "died"
    DEADLINE = "deadline"
    NOT_INTERPRETABLE = "not_interpretable"
    # contract
    NO_LAUNCH = "no_launch"
    TORCH_COMPUTE = "torch_compute"
    NOT_FROM_KERNEL = "not_from_kernel"
    ALIASES_INPUT = "aliases_input"
    STRUCTURE = "structure"
    SHAPE = "shape"
    DTYPE = "dtype"
    INPUT_MUTATED = "input_mutated"
    OVERWRITTEN = "overwritten"
    SURVIVORS = "survivors"
    NOT_REPRODUCIBLE = "not_reproducible"
    REMEMBERS = "remembers"
    PROTOCOL = "protocol"
    # compare
    MISMATCH = "mismatch"
    NON_FINITE = "non_finite"
    PROPERTY = "property"
    DISTRIBUTION = "distribution"
    # the machine's own failure
    INFRASTRUCTURE = "infrastructure"
