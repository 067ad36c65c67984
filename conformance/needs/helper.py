"""The parent's end of the process that runs the model: it starts it, waits for it, and outlives it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from conformance.errors import EnvironmentFailure, UsageError
from conformance.run import wire

if TYPE_CHECKING:
    from pathlib import Path

#: Seconds for a process to import torch. The first import from a cold disk takes tens of seconds.
START_SECONDS = 180.0
_TAIL = 8000


class Helper:
    """Asks a process for one step after the other; one that has died is replaced before the next step.

    A reply with `died` names the signal or exit code, one with `late` the seconds that were waited. What is wrong with
    the model raises UsageError, and what is wrong with the machine EnvironmentFailure.
    """

    def __init__(self, request: dict[str, Any], log: Path) -> None:
        self._request = request
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._reader: wire.Reader | None = None
        self._on_device = False

    def ask(self, step: str, seconds: float, **fields: Any) -> dict[str, Any]:
        """Have one step done, within so many seconds."""
        if self._process is None:
            self._start()
            if self._on_device:
                self._load(seconds)
        reply = self._exchange({"step": step, **fields}, seconds)
        if step == "device" and "device" in reply:
            self._on_device = True
        return _checked(reply)

    def output(self) -> str:
        """The last that the processes wrote to stdout and stderr."""
        return self._log.read_bytes()[-_TAIL:].decode("utf-8", errors="replace").strip() if self._log.exists() else ""

    def close(self) -> None:
        """End the process and all that it started."""
        if self._process is not None:
            self._end(grace=0)

    def _load(self, seconds: float) -> None:
        reply = _checked(self._exchange({"step": "device"}, seconds))
        if "device" not in reply:
            raise EnvironmentFailure("the device does not come up again after a crash", hint="run `onboard doctor`")

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "conformance.needs.child", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # The backend is loaded when its turn comes, and what the model does on the host comes before it.
                env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
                start_new_session=True,
            )
        theirs.close()
        self._channel, self._reader = ours, wire.Reader(ours)
        reply = self._exchange(self._request, START_SECONDS)
        if "ready" not in reply:
            last = self.output().splitlines()[-1:] or ["no output"]
            raise EnvironmentFailure(f"torch can't be started: {last[0]}", hint="run `onboard doctor`")

    def _exchange(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        assert self._channel is not None and self._reader is not None  # noqa: S101, PT018 - for the type checker
        deadline = time.monotonic() + seconds
        try:
            wire.send(self._channel, message)
        except OSError:
            return {"died": self._end()}
        while True:
            found = self._reader.messages()
            if found:
                return found[0]
            left = deadline - time.monotonic()
            if left <= 0:
                self._end(grace=0)
                return {"late": seconds}
            ready, _, _ = select.select([self._channel], [], [], left)
            if ready and not self._reader.receive():
                return {"died": self._end()}

    def _end(self, grace: float = 5) -> str:
        """Kill what is left of the process, and say what it died of."""
        process, channel = self._process, self._channel
        assert process is not None and channel is not None  # noqa: S101, PT018 - for the type checker
        self._process = None
        channel.close()
        try:
            code = process.wait(grace)  # it has hung up, so it is about to end by itself: its own exit code counts
        except subprocess.TimeoutExpired:
            code = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "no answer" if code is None else _death(code)


def _death(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _checked(reply: dict[str, Any]) -> dict[str, Any]:
    if "usage" in reply:
        raise UsageError(reply["usage"], hint=reply["hint"])
    if "environment" in reply:
        raise EnvironmentFailure(reply["environment"], hint=reply["hint"])
    return reply
