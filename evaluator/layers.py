"""The layers of defence that can be switched off one at a time, to show that each of them holds something back."""

from __future__ import annotations

from enum import StrEnum


class Layer(StrEnum):
    """Each is on unless an `Evaluator` was made `without` it, which every evaluation's assurance then says."""

    STATIC = "static"
    """The escape list on the syntax tree."""
    LAUNCHES = "launches"
    """Each call launches a kernel of the file, and a kernel is the last to write each output."""
    TORCH = "torch"
    """No torch operation beyond allocation, views, copies, and what the task allows."""
    KNOCKOUT = "knockout"
    """With every kernel turned into a no-op, a call must not return the same."""
    AGAIN = "again"
    """A call with the same tensors and other values must give other results, and leave the first ones alone."""
    REPEAT = "repeat"
    """The same call in a fresh process, over memory with another poison, must return the same bits; and a call with
    values that a process has seen must do the work that it did for them."""
    POISON = "poison"
    """Memory that is allocated and not written holds poison."""
    BOUNDS = "bounds"
    """No kernel stores outside the tensors of its launch."""
    INPUTS = "inputs"
    """Inputs must be left as they were."""
    ALIAS = "alias"
    """Outputs must not share memory with inputs, nor elements with each other."""
    FORM = "form"
    """Exact structure, type, shape, dtype, strides and device of what is returned."""
    TASKS = "tasks"
    """A process that runs a candidate has single-threaded Python, and nothing else runs when a call returns."""
    HIDDEN = "hidden"
    """Cases that are drawn when a source is judged."""
    NUMERICS = "numerics"
    """Values within the error budget of a float64 reference."""
