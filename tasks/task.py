"""What a task is: the record that every file under `tasks/<Category>/` fills in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from tasks.draw import Draw
    from tasks.judges import Judge


@dataclass(frozen=True)
class Case:
    """One call of the entry function.

    `args` and `kwargs` hold CPU tensors and plain values (numbers, strings, None, `torch.dtype`,
    `torch.Generator`, lists and tuples of them). `label` names the family ("last tile", "one column",
    "strided view"), which is all that a model ever hears about a hidden case besides its dtype.
    """

    label: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """The least work that a call can do: bytes read and written once each, and floating-point operations."""

    bytes_min: int
    flops: int


Cases = Callable[["Draw"], Iterator[Case]]


@dataclass(frozen=True)
class Task:
    """One operator to be written in Triton.

    `reference` is plain PyTorch with exactly the parameters of `signature`; what it returns fixes structure,
    shapes and dtypes. `exact` computes the same in float64 (default: `reference` on inputs and dtype arguments
    raised to float64). `mutates` names parameters that the call must change in place; their contents after the
    call are judged like outputs, and every other input must be left alone. `returns=False` says that the
    returned value is not judged. `writes_to` names an optional parameter ("out") that, when given,
    receives the result and is the returned object. `allow` lists torch operations, as `aten` names without
    overload ("cumsum"), that a candidate may call beyond allocation, views and copies. A `stochastic` task's results
    need not be the same from call to call.

    `public`, `hidden` and `timed` draw cases: small ones that are shown to the model in kind; ones whose
    shapes and values the candidate can't know; and several large sizes for a GPU. `stand_ins` are the timed
    cases of the CPU tier: small, but several programs each; traffic is counted on them.
    """

    id: str
    entry: str
    signature: str
    text: str
    reference: Callable[..., Any]
    public: Cases
    hidden: Cases
    timed: Cases
    stand_ins: Cases
    judge: Judge
    cost: Callable[..., Cost]
    exact: Callable[..., Any] | None = None
    aliases: tuple[str, ...] = ()
    mutates: tuple[str, ...] = ()
    returns: bool = True
    writes_to: str | None = None
    allow: frozenset[str] = frozenset()
    stochastic: bool = False

    @property
    def category(self) -> str:
        return self.id.split("/")[0]

    @property
    def entries(self) -> tuple[str, ...]:
        """The function names that a candidate may define, the preferred one first."""
        return (self.entry, *self.aliases)

    @property
    def judging(self) -> str:
        """How close the result must come, in a sentence; empty where only the text tells."""
        from tasks.describe import judging

        return judging(self)

    @property
    def launch_rules(self) -> list[str]:
        """What counts as a Triton solution."""
        from tasks.describe import launch_rules

        return launch_rules(self)


def nbytes(*tensors: torch.Tensor | None) -> int:
    """Bytes of the elements of `tensors`, each counted once; None counts nothing."""
    return sum(t.numel() * t.element_size() for t in tensors if t is not None)
