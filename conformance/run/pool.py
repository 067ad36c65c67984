"""The fork server and its workers as the supervisor sees them: sockets, slots, logs, exit codes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.errors import EnvironmentFailure
from conformance.run import slot as slots
from conformance.run import wire

if TYPE_CHECKING:
    from conformance.spec.plan import Group

LOG_TAIL = 4_000
REGISTRY = "conformance.checks.registry"
#: The server must have one thread, or forking it is not safe: BLAS libraries start theirs on import.
SERVER_ENVIRONMENT = {
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    "PYTHONUNBUFFERED": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


@dataclass(slots=True)
class Worker:
    """One worker process and what it is doing. `pid` and `exit_code` arrive from the fork server."""

    number: int
    channel: socket.socket
    reader: wire.Reader
    slot: slots.Slot
    log: Path
    pid: int | None = None
    exit_code: int | None = None
    ready: bool = False
    group: Group | None = None
    done: set[int] = field(default_factory=set)
    fresh: bool = True
    killed_for: str | None = None
    sick: bool = False
    hung_up: bool = False

    def log_tail(self) -> str:
        """The last lines that the process wrote to its standard streams."""
        try:
            with self.log.open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - LOG_TAIL))
                return file.read().decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def kill(self, sig: int) -> None:
        """Signal the worker's process group, which is its own since it called setsid."""
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, sig)

    def close(self) -> None:
        self.channel.close()
        self.slot.close()


class Pool:
    """Starts the fork server, and workers from it. `request` is what each worker is told on its start."""

    def __init__(self, folder: Path, request: dict[str, Any], registry: str = REGISTRY) -> None:
        self.folder = folder
        self._request = {**request, "registry": registry}
        self._started = 0
        ours, theirs = socket.socketpair()
        environment = {**os.environ, **SERVER_ENVIRONMENT}
        environment.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder / "inductor"))
        self._server_log = folder / "server.log"
        with self._server_log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "conformance.run.server", str(theirs.fileno()), registry],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        theirs.close()
        self.socket = ours
        self._reader = wire.Reader(ours)
        self._early_ends: dict[int, int] = {}

    def wait_ready(self) -> dict[str, Any]:
        """What the server has preloaded; raises EnvironmentFailure with the cause when torch or OpInfo is not there."""
        message = self._reader.wait()
        if message is None:
            tail = self._server_log.read_text(errors="replace").strip().splitlines()[-1:]
            raise EnvironmentFailure(f"the fork server ended before it was ready: {' '.join(tail) or 'no output'}")
        if "failed" in message:
            last = message["failed"].strip().splitlines()[-1]
            raise EnvironmentFailure(
                f"torch's test catalogue cannot be loaded: {last}",
                hint="run `onboard doctor`: it says what is missing and how to get it",
            )
        ready: dict[str, Any] = message["ready"]
        return ready

    def spawn(self) -> Worker:
        """Ask for a worker; its pid and its readiness arrive later."""
        number = self._started
        self._started += 1
        ours, theirs = socket.socketpair()
        log = self.folder / f"worker-{number}.log"
        slot_path = self.folder / f"worker-{number}.slot"
        slot = slots.Slot(slot_path)
        with log.open("wb") as file:
            request = {**self._request, "worker": number, "slot": str(slot_path)}
            wire.send(self.socket, request, [theirs.fileno(), file.fileno()])
        theirs.close()
        return Worker(number, ours, wire.Reader(ours), slot, log)

    def receive(self, workers: dict[int, Worker]) -> bool:
        """Take the server's news: pids and exit codes. False when the server has ended."""
        alive = self._reader.receive()
        for message in self._reader.messages():
            if "forked" in message:
                worker = workers.get(message["worker"])
                if worker is not None:
                    worker.pid = message["forked"]
                    worker.exit_code = self._early_ends.pop(message["forked"], None)
            elif "ended" in message:
                owner = next((w for w in workers.values() if w.pid == message["ended"]), None)
                if owner is None:
                    self._early_ends[message["ended"]] = message["status"]
                else:
                    owner.exit_code = message["status"]
        return alive

    def close(self) -> None:
        """End the server; its workers die with it."""
        self.socket.close()
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def describe_exit(code: int | None) -> str:
    """`SIGSEGV` or `exit code 3`."""
    if code is None:
        return "ended without an exit code"
    if code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"
    return f"exit code {code}"
