"""`compile.*`: whole graphs through `torch.compile`, judged by the float64 reference that eager is judged by.

What ran is proven, not assumed: Dynamo made one graph without a break, the second call made no other, and what
Inductor generated was called. The device's own eager results are no reference: both may be wrong in the same way.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import shutil
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch

from conformance.checks import programs
from conformance.checks.contract import Case, Judgement
from conformance.checks.programs import BACKWARD, FORWARD, Program, with_gradients
from conformance.device import execution
from conformance.device.trace import Span, trace
from conformance.inputs.samples import Sample
from conformance.oracle import judge as oracle
from conformance.oracle.trial import Trial
from conformance.spec.operators import Oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from conformance.checks.contract import Context
    from conformance.device.profile import Profile
    from conformance.oracle.judge import Finding
    from conformance.spec.suite import Suite

STANDARD = ("aot_eager", "eager", "inductor")
OWN = "own"

#: Generating and compiling C++ takes a second or two for each program: some stand for all.
_INDUCTOR = frozenset({"layer-norm", "mlp", "pointwise", "reduction"})
_DRAWS = 2

#: As eager composites are judged: by how far the answer moves when inputs and intermediate results round. Where terms
#: cancel, three or eight draws find too little for some element of a thousand: there the bound is that of the largest.
_ELEMENTWISE = Oracle(rung="conditioned")
_NORMWISE = Oracle(rung="conditioned", scale="whole")


class NotCompiledError(AssertionError):
    """The function ran, but not the way that was asked for."""


@dataclass(slots=True)
class Compile:
    """A check over programs; its groups are the compile backends, so that what one of them sets up is set up once.

    The group `own` stands for the backends that the profile names beyond those of PyTorch.
    """

    id: str
    programs: tuple[Program, ...]

    def groups(self, suite: Suite) -> Iterator[tuple[str, str]]:  # noqa: ARG002 - the contract's signature
        return ((backend, "any") for backend in (*STANDARD, OWN))

    def names(self, suite: Suite, operator: str, dtype: str) -> list[str]:  # noqa: ARG002
        return [program.name for program in self._of(operator)]

    def cases(
        self, context: Context, operator: str, dtype: str, names: Collection[str] | None = None,  # noqa: ARG002
    ) -> Iterator[Case]:  # fmt: skip
        with compiler_setup():
            for program in self._of(operator):
                yield Case(
                    name=program.name,
                    layout=None,
                    variant="backward" if program.gradients else "forward",
                    size=sum(torch.Size(shape).numel() for shape in program.shapes),
                    run=partial(perform, program, operator, context),
                    repro=partial(script, program, operator, context.profile),
                )

    def _of(self, backend: str) -> tuple[Program, ...]:
        return tuple(p for p in self.programs if backend != "inductor" or p.name in _INDUCTOR)


@contextlib.contextmanager
def compiler_setup() -> Iterator[None]:
    """Give the cases of a group an empty compiler cache, so that nothing passes on what an earlier run left behind."""
    import torch._inductor.config as inductor_config
    from torch._dynamo import reset
    from torch._inductor.utils import fresh_cache

    # One thread: a worker must not start a pool of processes. The instruction sets are those of the processor: every
    # compiler that takes torch's headers knows them, and trying each out takes longer than all the programs.
    settings = inductor_config.patch({"compile_threads": 1, "cpp.vec_isa_ok": True})
    with fresh_cache(), settings:
        yield
    reset()


def perform(program: Program, backend: str, context: Context) -> Judgement:
    """Compile and run the program with a backend, or with each of the profile's own; the worst of them is judged."""
    claimed = context.profile.compile_backends
    if backend == OWN:
        wanted = [name for name in claimed if name not in STANDARD]
        if not wanted:
            return Judgement("unsupported", message="the profile names no compile backend of its own")
    elif backend == "inductor" and claimed and backend not in claimed:
        return Judgement("unsupported", message=f"the profile claims {', '.join(claimed)}, not inductor")
    else:
        wanted = [backend]
    judgements = [_compiled(program, name, context) for name in wanted]
    return next((j for j in judgements if j.outcome != "pass"), judgements[0])


def _compiled(program: Program, backend: str, context: Context) -> Judgement:
    if backend == "inductor" and context.device.type == "cpu" and not host_compiler():
        message = "no C++ compiler on this machine: Inductor cannot generate code for the host (set CXX or install g++)"
        return Judgement("error", message=message)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # compilers warn of settings that would be faster
        if backend == "inductor" and not generates_code_for(context.device):
            kind = context.device.type
            message = f"Inductor has no code generator for {kind}: nothing called register_backend_for_device({kind!r})"
            return Judgement("error", message=message)
        try:
            draws = run_compiled(program, backend, context.device)
            findings = [measured(program, draw, found) for draw, (found, _) in enumerate(draws)]
        except NotCompiledError as problem:
            return Judgement("wrong", error=1.0, bound=0.0, rung="exact", message=f"{backend}: {problem}")
    served = execution.judge(draws[-1][1], context.device.type)
    order = ("wrong", "unjudged", "pass")
    finding = min(findings, key=lambda f: (order.index(f.outcome), -f.measure.ratio))
    measure = finding.measure
    message = {"wrong": f"{backend}: {measure.message}", "unjudged": finding.unjudged or ""}.get(finding.outcome, "")
    return Judgement(
        finding.outcome,
        measure.error,
        measure.bound,
        measure.rung,
        message,
        execution=served.execution,
        kernels=served.kernels,
    )


def run_compiled(
    program: Program, backend: str, device: torch.device
) -> list[tuple[tuple[torch.Tensor, ...], tuple[Span, ...]]]:
    """Compile the program and run it on each draw of inputs; give the host results and the trace of each call.

    Raises NotCompiledError when the results come from another way than one compiled graph, or lie elsewhere, or the
    inputs were written to. What the compiler raises passes through.
    """
    from torch._dynamo import list_backends, reset
    from torch._dynamo.utils import counters

    if backend not in list_backends(exclude_tags=()):
        raise NotCompiledError(f"torch._dynamo.list_backends() has no {backend!r}")
    reset()
    counters.clear()
    function = torch.compile(program.function, backend=backend, fullgraph=True, dynamic=False)
    found: list[tuple[tuple[torch.Tensor, ...], tuple[Span, ...]]] = []
    for draw in range(_DRAWS):
        spans: tuple[Span, ...] = ()
        inputs = [tensor.to(device) for tensor in program.inputs(draw)]
        call = partial(with_gradients, function, *inputs) if program.gradients else partial(function, *inputs)
        if draw == 0:
            results = call()
        else:
            results, spans = traced(call)
            _require_compiled(program, backend, spans)
        _require_graphs(counters)
        for result in results:
            if result.device.type != device.type:
                raise NotCompiledError(f"a result lies on {result.device} where {device.type} is due")
        for tensor, before in zip(inputs, program.inputs(draw), strict=True):
            if not torch.equal(tensor.cpu(), before):
                raise NotCompiledError("the compiled function wrote to its inputs")
        found.append((tuple(result.cpu() for result in results), spans))
    return found


def traced(call: Callable[[], tuple[torch.Tensor, ...]]) -> tuple[tuple[torch.Tensor, ...], tuple[Span, ...]]:
    """Run the call under the profiler, with the marks that Inductor makes only for a profiler it knows of."""
    results: list[tuple[torch.Tensor, ...]] = []
    with mock.patch("torch.autograd.profiler._is_profiler_enabled", new=True):
        spans, error = trace(lambda: results.append(call()))
    if error is not None:
        raise error
    return results[0], spans


def _require_graphs(counters: Any) -> None:
    graphs = counters["stats"]["unique_graphs"]
    if graphs != 1:
        raise NotCompiledError(
            f"Dynamo made {graphs} graphs where 1 is due: {'eager ran' if not graphs else 'it broke'}"
        )
    if counters["graph_break"]:
        raise NotCompiledError(f"Dynamo broke the graph: {next(iter(counters['graph_break']))}")


def _require_compiled(program: Program, backend: str, spans: tuple[Span, ...]) -> None:
    everything = [inner for span in spans for inner in span.walk()]
    if not any(span.name.startswith("Torch-Compiled Region") for span in everything):
        raise NotCompiledError("the second call did not enter a compiled region")
    if backend != "inductor":
        return
    called = sum(span.name.startswith("## Call CompiledFxGraph") for span in everything)
    due = 2 if program.gradients else 1
    if called < due:
        raise NotCompiledError(f"what Inductor generated was called {called} times where {due} are due")
    alone = sorted(program.fused & {span.base.rstrip("_") for span in everything if "::" in span.name})
    if alone:
        raise NotCompiledError(f"Inductor generated no code for {', '.join(alone)}: they ran as calls of their own")


@functools.cache
def _trial(program: Program, draw: int) -> Trial:
    """What the host knows about one draw of a program, shared by the backends."""
    function = partial(with_gradients, program.function) if program.gradients else program.function
    oracle_of = _NORMWISE if program.sums else _ELEMENTWISE
    return Trial(function, Sample(tuple(program.inputs(draw)), {}), "float32", oracle_of)


def measured(program: Program, draw: int, found: tuple[torch.Tensor, ...]) -> Finding:
    """Measure host results against the float64 reference; raises NotCompiledError where their kind is wrong."""
    trial = _trial(program, draw)
    arguments = len(program.shapes)
    due = trial.host[:-arguments]
    if len(found) != len(due):
        raise NotCompiledError(f"{len(found)} results where {len(due)} are due")
    for i, (got, want) in enumerate(zip(found, due, strict=True)):
        if got.dtype is not want.dtype or got.shape != want.shape:
            kinds = [f"{tensor.dtype} {tuple(tensor.shape)}" for tensor in (got, want)]
            raise NotCompiledError(f"result {i} is {kinds[0]} where {kinds[1]} is due")
    return oracle.judge(trial, list(found), [True] * arguments)


def host_compiler() -> str | None:
    """Find the C++ compiler that Inductor would use for the host."""
    import torch._inductor.config as inductor_config

    configured = inductor_config.cpp.cxx
    names = configured if isinstance(configured, (tuple, list)) else (configured,)
    return next((path for name in names if name and (path := shutil.which(name))), None)


def generates_code_for(device: torch.device) -> bool:
    """Whether Inductor knows how to schedule kernels for the device; it says no more than a KeyError where not."""
    from torch._inductor.codegen import common

    common.init_backend_registration()
    return common.get_scheduling_for_device(device.type) is not None


def script(program: Program, backend: str, profile: Profile) -> str:
    """Write a script that compiles the program and prints how far each result is from float64."""
    own = [name for name in profile.compile_backends if name not in STANDARD]
    name = own[0] if backend == OWN and own else backend
    parts = ["from __future__ import annotations\n\nimport torch"]
    if profile.import_module:
        parts[0] += f"\nimport {profile.import_module}"
    helpers: list[Callable[..., object]] = [
        programs.wave,
        *([with_gradients] if program.gradients else []),
        program.function,
    ]
    parts += [inspect.getsource(helper).replace("-> Tensors", "").strip() for helper in helpers]
    run = "with_gradients({}, *{})" if program.gradients else "{}(*{})"
    numbered = ", ".join(f"({shape}, {i + 1})" for i, shape in enumerate(program.shapes))
    function = program.function.__name__
    parts.append(
        f"inputs = [wave(shape, i) for shape, i in [{numbered}]]\n"
        f'compiled = torch.compile({function}, backend="{name}", fullgraph=True, dynamic=False)\n'
        f"due = {run.format(function, '[t.double() for t in inputs]')}\n"
        f"found = {run.format('compiled', f'''[t.to({profile.device!r}) for t in inputs]''')}\n"
        "for result, exact in zip(found, due):\n"
        "    print(result.device, (result.cpu().double() - exact).abs().max().item())"
    )
    return "\n\n\n".join(parts) + "\n"


CHECKS = (Compile("compile.smoke", FORWARD), Compile("compile.backward", BACKWARD))
