"""All kinds of faults, in the order in which they stack: what leaves no Python behind comes last."""

from __future__ import annotations

from tasks.errors import unknown
from tasks.faults import (
    compilation,
    contract,
    fusion,
    memory,
    numerics,
    quantisation,
    reductions,
    slow,
    tiles,
)
from tasks.faults.fault import Fault
from tasks.outcomes import Reason

_MODULES = (slow, memory, tiles, numerics, reductions, quantisation, fusion, contract, compilation)
_ALL = tuple(fault for module in _MODULES for fault in module.FAULTS)
_LAST = frozenset({Reason.SYNTAX_ERROR, Reason.NO_CODE})
FAULTS: tuple[Fault, ...] = tuple(sorted(_ALL, key=lambda fault: bool(fault.reasons & _LAST)))


def fitting(source: str) -> list[Fault]:
    """The faults that can be put into `source`, in the catalog's order."""
    return [fault for fault in FAULTS if fault.apply(source) is not None]


def by_name(name: str) -> Fault:
    """The fault of this name. Raises UserError, with near matches."""
    for fault in FAULTS:
        if fault.name == name:
            return fault
    raise unknown("fault", name, (fault.name for fault in FAULTS))
