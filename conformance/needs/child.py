"""The process that runs the user's model: it does one step for each request, and may die of any of them."""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.errors import EnvironmentFailure, UsageError
from conformance.results import encode_number
from conformance.run import wire
from conformance.run.worker import SICK, healthy_probe

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from conformance.needs.calls import Book


class Server:
    """The steps, and what one leaves for the next: the device, once it is loaded."""

    def __init__(self, request: dict[str, Any]) -> None:
        from conformance.needs.model import Target
        from conformance.spec.suite import load_suite

        self._request = request
        self._target = Target(Path(request["file"]), request["function"])
        self._folder = Path(request["folder"])
        self._suite = load_suite(Path(request["suite"]))
        self._device: torch.device | None = None
        self._probe: Callable[[], bool] | None = None
        self.sick = False

    def step(self, message: dict[str, Any]) -> dict[str, Any]:
        """Do one step; what is wrong with the model or the machine is part of the reply."""
        try:
            found: dict[str, Any] = getattr(self, f"do_{message['step']}")(message)
        except UsageError as error:
            return {"usage": error.message, "hint": error.hint}
        except EnvironmentFailure as error:
            return {"environment": error.message, "hint": error.hint}
        return found

    def do_host(self, _: dict[str, Any]) -> dict[str, Any]:
        from conformance.needs.passes import run_plainly

        return {"gradients": run_plainly(self._target)}

    def do_device(self, _: dict[str, Any]) -> dict[str, Any]:
        import torch

        from conformance.device.load import describe_device, load_device
        from conformance.device.profile import Profile

        fields = {**self._request["profile"]}
        for name in ("levels", "compile_backends"):
            fields[name] = tuple(fields[name])
        try:
            self._device = load_device(Profile(**fields), self._request["import"])
        except EnvironmentFailure:
            raise
        except BaseException as error:
            text = (str(error).splitlines() or [""])[0]
            raise EnvironmentFailure(f"the backend can't be loaded: {type(error).__name__}: {text}") from error
        self._probe = healthy_probe(self._device)
        return {"device": describe_device(self._device), "torch": torch.__version__}

    def do_listen(self, message: dict[str, Any]) -> dict[str, Any]:
        import torch

        from conformance.needs.calls import Book
        from conformance.needs.passes import NotTracedError, listen

        book = Book(self._folder if message["keep"] else None)
        device = self._live if message["as"] == "device" else torch.device("cpu")
        try:
            listen(self._target, device, book)
        except NotTracedError as error:
            return {"failed": str(error), "stuck": error.stuck, **_book(book)}
        return _book(book)

    def do_compile(self, _: dict[str, Any]) -> dict[str, Any]:
        from conformance.needs.calls import Book
        from conformance.needs.passes import NotTracedError, listen_compiled

        book = Book(self._folder)
        try:
            graphs = listen_compiled(self._target, self._live, book)
        except NotTracedError as error:
            return {"failed": str(error), "stuck": None, **_book(book)}
        return {"graphs": graphs.count, "breaks": list(graphs.breaks), **_book(book)}

    def do_call(self, message: dict[str, Any]) -> dict[str, Any]:
        from conformance.needs.answer import answer
        from conformance.needs.calls import load

        found = asdict(answer(load(self._folder, message["key"]), self._live, self._suite))
        if found["answer"] == "error" and self._probe is not None and not self._probe():
            self.sick = True
        return _encoded(found)

    def do_whole(self, _: dict[str, Any]) -> dict[str, Any]:
        from conformance.needs.whole import whole

        return _encoded(asdict(whole(self._target, self._live)))

    def do_table(self, message: dict[str, Any]) -> dict[str, Any]:
        from conformance.device.census import dispatch_key, resolve

        key = dispatch_key(self._live.type)
        return {"key": key, "table": {name: resolve(name, key) for name in message["overloads"]}}

    def do_reach(self, message: dict[str, Any]) -> dict[str, Any]:
        from conformance.needs.groups import reaching

        groups = [(operator, dtype) for operator, dtype in message["groups"]]
        return {"reached": [[*group, sorted(found)] for group, found in reaching(groups).items()]}

    @property
    def _live(self) -> torch.device:
        if self._device is None:
            raise RuntimeError("the device is not loaded yet")
        return self._device


def _book(book: Book) -> dict[str, Any]:
    return {"seen": {key: asdict(seen) for key, seen in book.seen.items()}, "counts": book.counts}


def _encoded(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "error": encode_number(found["error"]), "bound": encode_number(found["bound"])}


def main(fd: int) -> None:
    """Serve one parent until it hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    faulthandler.enable(file=sys.stderr, all_threads=True)
    channel = socket.socket(fileno=fd)
    reader = wire.Reader(channel)
    request = reader.wait()
    if request is None:
        return
    import torch

    torch.set_num_threads(1)  # as workers do: a sum has the same order on every machine
    server = Server(request)
    wire.send(channel, {"ready": True})
    while (message := reader.wait()) is not None:
        wire.send(channel, server.step(message))
        if server.sick:
            os._exit(SICK)


if __name__ == "__main__":
    main(int(sys.argv[1]))
