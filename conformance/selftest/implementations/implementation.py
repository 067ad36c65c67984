"""An implementation that may serve the device's side of a case, and which there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.errors import UsageError, did_you_mean
from conformance.selftest.implementations.inductor import Inductor
from conformance.selftest.implementations.replacing import Decompositions, references
from conformance.selftest.implementations.shuffled import Shuffled
from conformance.selftest.implementations.threads import threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from conformance.selftest.inject import Hits


@dataclass(frozen=True, slots=True)
class Implementation:
    """`around` surrounds one call on the device and counts a hit for each call that went to the implementation.

    At most `cases` of a group are served by it, at `dtypes` and in `checks` alone where there are any. After `seconds`
    no further group is, if there is such a limit.
    """

    id: str
    what: str
    around: Callable[[Hits], AbstractContextManager[Any]]
    cases: int
    dtypes: tuple[str, ...] = ()
    seconds: float | None = None
    checks: tuple[str, ...] = ()

    def takes(self, check: str, dtype: str) -> bool:
        return (not self.dtypes or dtype in self.dtypes) and (not self.checks or check in self.checks)


#: What a function of Python can serve: it has no gradients of its own, and is asked for no overload, layout or `out=`.
_OF_VALUES = ("operators.forward", "operators.dtypes", "operators.sizes", "operators.arguments")

IMPLEMENTATIONS: dict[str, Implementation] = {
    made.id: made
    for made in (
        Implementation("threads-2", "the host's kernels on two threads", threads, 6),
        Implementation("shuffled", "the host's kernels, their sums in another order", Shuffled, 6),
        Implementation("references", "the functions of torch._refs", references, 6, checks=_OF_VALUES),
        Implementation("decompositions", "torch._decomp's definitions of aten overloads", Decompositions, 6),
        Implementation("inductor", "code that Inductor generates", Inductor, 1, ("float32", "bfloat16"), 600.0),
    )
}
#: What needs no compiler.
DEFAULT = ("threads-2", "shuffled", "references", "decompositions")


def chosen(names: Sequence[str]) -> list[Implementation]:
    """The implementations of these names; raises UsageError for one that there is not."""
    for name in names:
        if name not in IMPLEMENTATIONS:
            known = list(IMPLEMENTATIONS)
            raise UsageError(
                f"there is no implementation {name!r}", hint=did_you_mean(name, known) or f"known: {', '.join(known)}"
            )
    return [IMPLEMENTATIONS[name] for name in dict.fromkeys(names)]
