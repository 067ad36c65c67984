"""The ways a model is run to learn what it calls: as the host does, as the device would, and compiled."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from conformance.checks.programs import wave
from conformance.errors import UsageError
from conformance.needs.model import MOST_TEXT, Model, build, raised
from conformance.needs.stand_in import Listener, StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.needs.calls import Book
    from conformance.needs.model import Target

FORWARD, BACKWARD, COMPILED = "forward", "backward", "compiled"
_SEED = 1


class NotTracedError(Exception):
    """The model could not be followed; the text says why. `stuck` is the overload that the host has no kernel for."""

    def __init__(self, text: str, stuck: str | None = None) -> None:
        super().__init__(text)
        self.stuck = stuck


@dataclass(frozen=True, slots=True)
class Graphs:
    """What Dynamo made of the model: how many forward graphs, and why it ended each before the end of the model."""

    count: int
    breaks: tuple[str, ...]


def run_plainly(target: Target) -> bool:
    """Run the model on the host and say whether its outputs need gradients; raises UsageError where the host can't."""
    model = build(target)
    torch.manual_seed(_SEED)
    try:
        outputs = tensors_of(model.module(*model.args, **model.kwargs))
    except Exception as error:
        raise raised("the model raises on the host:", error, target.file) from error
    if not outputs:
        raise UsageError(
            "the model returns no tensor",
            hint="tensors are looked for in tuples, lists, dictionaries and what torch.utils._pytree knows",
        )
    try:
        return differentiate(outputs)
    except Exception as error:
        hint = "a model for inference alone says so by module.requires_grad_(False)"
        raise UsageError(
            f"{raised('the backward of the model raises on the host:', error).message}", hint=hint
        ) from error


def listen(target: Target, device: torch.device, book: Book) -> None:
    """Run the model forward and, where its outputs need gradients, backward, and enter its calls into the book.

    With the device `cpu` these are the host's calls. Otherwise they are those of the device, made by stand-ins; where
    that fails, NotTracedError says why.
    """
    listener = Listener(device, book)
    model = build(target)
    try:
        with listener:
            moved = on_device(model, device)
            torch.manual_seed(_SEED)
            listener.phase = FORWARD
            outputs = tensors_of(moved.module(*moved.args, **moved.kwargs))
            listener.phase = None
            seeds = seeds_of(outputs)
            listener.phase = BACKWARD
            if seeds:
                torch.autograd.backward([t for t, _ in seeds], [s for _, s in seeds])
    except Exception as error:
        if listener.stuck:
            text = f"the device is asked for {listener.stuck}, which the host has no kernel for"
            raise NotTracedError(text, listener.stuck) from error
        raise NotTracedError(one_line(error)) from error


def listen_compiled(target: Target, device: torch.device, book: Book) -> Graphs:
    """Compile the model on the device and enter the calls of the graphs that AOTAutograd hands a compile backend.

    The graphs themselves run on the host, so the device copies and does nothing else, but for what stands between two
    graphs. Raises NotTracedError where Dynamo or AOTAutograd gives up, or makes no graph.
    """
    import torch._functorch.config as functorch_config
    from torch._dynamo import reset
    from torch._dynamo.backends.common import aot_autograd
    from torch._dynamo.utils import counters
    from torch._functorch._aot_autograd.utils import make_boxed_func

    breaks: list[str] = []

    def compiler(graph: torch.fx.GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        boxed: Callable[..., Any] = make_boxed_func(lambda *args: _run_graph(graph, args, device, book))
        return boxed

    aot = aot_autograd(fw_compiler=compiler, bw_compiler=compiler)

    def backend(graph: Any, inputs: Sequence[torch.Tensor]) -> Callable[..., Any]:
        if graph.compile_subgraph_reason.graph_break:
            breaks.append(_reason(graph.compile_subgraph_reason))
        done: Callable[..., Any] = aot(graph, inputs)
        return done

    reset()
    counters.clear()
    model = build(target)
    try:
        with functorch_config.patch(enable_autograd_cache=False), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            moved = on_device(model, device)
            compiled = torch.compile(moved.module, backend=backend, dynamic=False)
            torch.manual_seed(_SEED)
            differentiate(tensors_of(compiled(*moved.args, **moved.kwargs)))
    except Exception as error:
        raise NotTracedError(one_line(error)) from error
    graphs = counters["stats"]["unique_graphs"]
    breaks += [str(reason).splitlines()[0] for reason in counters["graph_break"]]
    if not graphs:
        raise NotTracedError("Dynamo made no graph of it: all of it runs eagerly")
    return Graphs(graphs, tuple(dict.fromkeys(breaks)))


def _reason(found: Any) -> str:
    """Why Dynamo ended a graph before the end of the model, and at which line of it."""
    lines = [line.strip() for line in str(found.reason).splitlines() if line.strip()]
    place = f" (line {found.user_stack[-1].lineno}: {found.user_stack[-1].line})" if found.user_stack else ""
    return f"{lines[0] if lines else 'no reason'}{place}"


def _run_graph(graph: torch.fx.GraphModule, args: tuple[Any, ...], device: torch.device, book: Book) -> Any:
    listener = Listener(device, book)

    def fetch(value: Any) -> Any:
        return listener.wrap(value.detach().cpu()) if isinstance(value, torch.Tensor) else value

    with torch.no_grad():
        inputs = [fetch(value) for value in args]
        with listener:
            listener.phase = COMPILED
            results = graph(*inputs)
            listener.phase = None
    return tree_map(lambda value: value.on_host.to(device) if isinstance(value, StandIn) else value, results)


def on_device(model: Model, device: torch.device) -> Model:
    """The model and its arguments on the device; a tensor that wants a gradient does so there."""

    def move(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return value.detach().to(device).requires_grad_(value.requires_grad)

    return Model(model.module.to(device), tree_map(move, model.args), tree_map(move, model.kwargs))


def tensors_of(outputs: Any) -> list[torch.Tensor]:
    """The tensors among the outputs of a model, in order."""
    return [leaf for leaf in tree_leaves(outputs) if isinstance(leaf, torch.Tensor)]


def seeds_of(outputs: Sequence[torch.Tensor]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Each output that needs a gradient, with a fixed one: 1 for a single number, else values in [-1, 1]."""

    def seed(output: torch.Tensor) -> torch.Tensor:
        made = torch.ones(output.shape) if output.numel() == 1 else wave(tuple(output.shape), 50)
        return made.to(output.dtype).to(output.device)

    return [(output, seed(output)) for output in outputs if output.requires_grad]


def differentiate(outputs: Sequence[torch.Tensor]) -> bool:
    """Run the backward from fixed gradients; False where no output needs one."""
    seeds = seeds_of(outputs)
    if seeds:
        torch.autograd.backward([output for output, _ in seeds], [seed for _, seed in seeds])
    return bool(seeds)


def one_line(error: BaseException) -> str:
    """The kind of an exception and the first sentence of its text; torch goes on for pages."""
    text = (str(error).strip().splitlines() or [""])[0].partition(". ")[0]
    return f"{type(error).__name__}: {text[:MOST_TEXT]}" if text else type(error).__name__
