"""An operator as the suite declares it: its family, level, dtypes, and the rung of the oracle that judges it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from conformance.spec.yamlfile import Node, read_yaml

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from conformance.spec.cases import WrittenCase

RUNGS = ("exact", "dot", "residual", "random", "conditioned", "unjudged")
DTYPES = (
    "float32", "bfloat16", "int64", "bool", "complex64", "float64", "float16", "int32", "int16", "int8", "uint8",
    "float8_e4m3fn",
)  # fmt: skip
#: Asked for beside what an operator requires, of fewer samples.
OPTIONAL = ("float64", "float16", "int32", "int16", "int8", "uint8", "complex64")
JUDGES = ("values", "numbers", "metadata")
REFERENCES = ("float64", "host")
ROUNDS = ("accumulator", "storage")
SCALES = ("element", "whole", "one", "inputs")
TERMS = ("ones", "inputs", "bins", "window-1", "window-2", "window-3")
EQUATIONS = (
    "svd", "svd-of-old", "svd-lowrank", "pca-lowrank", "eigh", "eigvalsh", "eig", "eigvals", "qr", "geqrf", "ldl",
)  # fmt: skip
TIES = ("dim", "k-dim", "alone", "plane-1", "plane-2", "plane-3")
#: The checks whose cases are judged by the rung of the overload that they call.
OVERLOADS = ("operators.overloads", "operators.cases")
#: How much further from the answer than the host a device may be where the host's kernel misses the bound itself.
BEYOND_HOST = 4.0
LAYOUTS = ("plain", "offset", "strided")
LEVELS = ("bring-up", "inference", "training", "compile", "distributed", "extra")


@dataclass(frozen=True, slots=True)
class Oracle:
    """How an operator is judged: the rung, its parameters, and why where it deviates from its family.

    `terms` names how the number of terms of a dot is found; `extra` counts roundings beyond those of the contraction
    (alpha, beta, bias). `judge`: `values`, `numbers` (the sign of a zero is left open) or `metadata` (the values are
    left open altogether). `reference`: the same call in float64, or the `host`'s own kernel at the same dtype, for
    what is defined by the format. `law` names the distribution of a random operator. `ties` says how indices relate to
    the input where tying values leave them open. `host_off` says why the host's kernel is known to miss the bound: a
    case in which it does is judged by the host's own distance. `rounds`: the format in which the conditioned rung lets
    inputs and inner results be rounded. `scale`: `whole` for what is bounded by norms, so that every element has the
    bound of the largest; `one` or `inputs` for what is left of a difference of numbers of size one, or of the size of
    the inputs, and is only known to be small beside those. `equations` are those of a factorization, for the rung
    `residual`. `labels` is the place of an argument of 1 and -1 that is compared and not computed with: no rounding
    moves it. `why` is required where nothing is judged.
    """

    rung: str
    terms: str | None = None
    extra: int = 0
    why: str | None = None
    judge: str = "values"
    reference: str = "float64"
    law: str | None = None
    ties: str | None = None
    host_off: str | None = None
    rounds: str = "accumulator"
    scale: str = "element"
    equations: str | None = None
    labels: int | None = None


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """One OpInfo entry (`name` is its full name, variant included) with its place in the suite.

    `layouts` are those that its arguments may have; `view` says that its result shares the memory of its input;
    `largest` leaves out samples with more elements; `host_arguments` counts those of its tensors, from 0, that PyTorch
    wants on the host; `special` says that it is also called with NaN, infinities and zeros of both signs; `optional`
    are further dtypes, of which fewer samples are asked; `leaves_out` gives checks (or a part of one: a layout, as in
    `operators.out/strided`, or a call, as in `operators.dtypes/uint8/sample-0000`) that are not planned, with reasons;
    `gradient` is the oracle of its gradients, where it is not the usual one; `cases` are written calls: an
    operator that has nothing but those need not be an OpInfo entry.
    """

    name: str
    family: str
    level: str
    since: int
    dtypes: tuple[str, ...]
    oracle: Oracle
    by_dtype: dict[str, Oracle]
    must: str | None
    aten: tuple[str, ...] = ()
    layouts: tuple[str, ...] = LAYOUTS
    view: bool = False
    largest: int | None = None
    host_arguments: tuple[int, ...] = ()
    special: bool = True
    optional: tuple[str, ...] = OPTIONAL
    leaves_out: dict[str, str] = field(default_factory=dict)
    gradient: Oracle | None = None
    cases: tuple[WrittenCase, ...] = ()

    def oracle_for(self, dtype: str) -> Oracle:
        """The oracle at a dtype; what is said of bfloat16 holds for float16 as well, where nothing is said of that."""
        half = self.by_dtype.get("bfloat16", self.oracle) if dtype == "float16" else self.oracle
        return self.by_dtype.get(dtype, half)

    def oracle_of(self, check: str, dtype: str) -> Oracle | None:
        """The oracle of a check's cases at a dtype; None where their answer would depend on chance or is not judged."""
        oracle = self.oracle_for(dtype)
        if check == "operators.forward":
            return oracle
        if check in OVERLOADS:
            return Oracle("conditioned")  # each overload has its own
        if oracle.rung in ("random", "unjudged") or oracle.judge == "metadata":
            return None
        return self._gradients(oracle, dtype) if check.startswith("operators.backward") else oracle

    def _gradients(self, oracle: Oracle, dtype: str) -> Oracle | None:
        """How gradients are judged: those of sums of products are such sums, others by the conditioned rung.

        In the half formats they may be added up in the format itself: so PyTorch does where a tensor is used twice, and
        so do its own kernels that scatter.
        """
        half = dtype in ("bfloat16", "float16")
        if self.gradient is not None:
            known = self.gradient.host_off or oracle.host_off
            return replace(self.gradient, rounds="storage" if half else self.gradient.rounds, host_off=known)
        if oracle.rung == "residual":
            return None  # of factors that are not unique no gradient is
        rounds = "storage" if half else oracle.rounds
        if oracle.rung == "dot" and oracle.terms in (None, "ones"):
            # What is linear in each argument has gradients that are, with a scale or an expanded factor on the way.
            return replace(oracle, extra=oracle.extra + 2, rounds=rounds)
        return Oracle("conditioned", scale=oracle.scale, rounds=rounds, host_off=oracle.host_off, labels=oracle.labels)


#: Overloads whose operator the suite has under another name.
_ALIASES = {
    "convolution": "nn.functional.conv2d",
    "convolution_backward": "nn.functional.conv2d",
    "max_pool2d_with_indices": "nn.functional.max_pool2d",
    "max_pool3d_with_indices": "nn.functional.max_pool3d",
    "native_dropout": "nn.functional.dropout",
}


def operator_named(overload: str, operators: Container[str]) -> str | None:
    """The suite's operator for the name of an overload without its variant, or None."""
    wanted = overload.strip("_")
    if overload in _ALIASES:
        return _ALIASES[overload]
    candidates = (overload, wanted, f"nn.functional.{wanted}", wanted.replace("_", ".", 1))
    return next((name for name in candidates if name in operators), None)


_FIELDS = ("oracle", "dtypes", "level", "since", "must", "aten", "layouts", "view", "largest", "host_arguments",
           "special", "leaves_out", "gradient")  # fmt: skip
_CHOICES = {"terms": TERMS, "judge": JUDGES, "reference": REFERENCES, "ties": TIES, "rounds": ROUNDS,
            "scale": SCALES, "equations": EQUATIONS}  # fmt: skip
_TEXTS = ("why", "law", "host_off")
_COUNTS = ("extra", "labels")


def load_family(path: Path, source: str) -> list[OperatorSpec]:
    """Read one family; every operator inherits what the family says and states only what differs."""
    root = read_yaml(path, source)
    needed = ["family", "level", "since", "dtypes", "oracle", "operators"]
    top = root.record(needed, ["must", "layouts", "view", "special", "leaves_out", "gradient"])
    base = read_oracle(top["oracle"], None)
    common = _by_dtype(top["oracle"], base)
    dtypes = top["dtypes"].texts(DTYPES)
    specs = []
    for name, node in top["operators"].mapping().items():
        fields = {} if node.value is None else node.record([], _FIELDS)
        oracle = read_oracle(fields["oracle"], base) if "oracle" in fields else base
        overrides = dict(common)
        if "oracle" in fields:
            overrides = _by_dtype(fields["oracle"], oracle)
        if oracle.rung == "random" and not oracle.law:
            node.fail("a random operator needs a law", hint="add `oracle: {law: ...}`")
        specs.append(
            OperatorSpec(
                name=name,
                family=top["family"].text(),
                level=(fields["level"] if "level" in fields else top["level"]).text(LEVELS),
                since=(fields["since"] if "since" in fields else top["since"]).integer(low=1),
                dtypes=fields["dtypes"].texts(DTYPES) if "dtypes" in fields else dtypes,
                oracle=oracle,
                by_dtype=overrides,
                must=fields["must"].text() if "must" in fields else None,
                aten=fields["aten"].texts() if "aten" in fields else (),
                layouts=_inherited("layouts", fields, top).texts(LAYOUTS) if "layouts" in {*fields, *top} else LAYOUTS,
                host_arguments=_numbers(fields, "host_arguments"),
                largest=fields["largest"].integer(low=1) if "largest" in fields else None,
                view=_inherited("view", fields, top).boolean() if "view" in {*fields, *top} else False,
                optional=tuple(
                    d for d in OPTIONAL if d not in (fields["dtypes"].texts(DTYPES) if "dtypes" in fields else dtypes)
                ),
                leaves_out={**_reasons(top), **_reasons(fields)},
                gradient=_gradient({**top, **fields}),
                special=_inherited("special", fields, top).boolean() if "special" in {*fields, *top} else True,
            )
        )
    return specs


def _gradient(fields: dict[str, Node]) -> Oracle | None:
    return read_oracle(fields["gradient"], Oracle("conditioned")) if "gradient" in fields else None


def _reasons(fields: dict[str, Node]) -> dict[str, str]:
    if "leaves_out" not in fields:
        return {}
    return {check: node.text() for check, node in fields["leaves_out"].mapping().items()}


def _numbers(fields: dict[str, Node], name: str) -> tuple[int, ...]:
    return tuple(node.integer(low=0) for node in fields[name].items()) if name in fields else ()


def _inherited(name: str, fields: dict[str, Node], top: dict[str, Node]) -> Node:
    return fields[name] if name in fields else top[name]


def read_oracle(node: Node, base: Oracle | None) -> Oracle:
    """An oracle as the suite writes it, over the one that it adds to."""
    fields = node.record([] if base else ["rung"], ["rung", *_COUNTS, "dtypes", *_CHOICES, *_TEXTS])
    found: dict[str, Any] = {name: fields[name].text(_CHOICES[name]) for name in _CHOICES if name in fields}
    found |= {name: fields[name].text() for name in _TEXTS if name in fields}
    found |= {name: fields[name].integer(low=0) for name in _COUNTS if name in fields}
    if "rung" in fields:
        found["rung"] = fields["rung"].text(RUNGS)
    # What is said of one dtype or one operator adds to what stands above; a reason holds only where it is given.
    oracle = replace(base, **{"why": None, **found}) if base else Oracle(**found)
    if oracle.rung == "unjudged" and not oracle.why:
        node.fail("what is not judged needs a reason", hint="add `why:`")
    if (oracle.rung == "residual") != (oracle.equations is not None):
        node.fail("the rung `residual` and `equations:` go together", hint=f"equations: {', '.join(EQUATIONS)}")
    return oracle


def _by_dtype(node: Node, base: Oracle) -> dict[str, Oracle]:
    fields = node.mapping()
    if "dtypes" not in fields:
        return {}
    found = {}
    for dtype, child in fields["dtypes"].mapping().items():
        if dtype not in DTYPES:
            child.fail(f"unknown dtype {dtype!r}", hint=f"known dtypes: {', '.join(DTYPES)}")
        found[dtype] = read_oracle(child, base)
    return found
