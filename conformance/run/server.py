"""The fork server: imports torch and the OpInfo catalogue once, then forks a worker in milliseconds.

Started as `python -m conformance.run.server FD REGISTRY`, where REGISTRY is the module that
knows the checks. `multiprocessing`'s own server is not used: it re-runs the main
program in every child, swallows an ImportError of its preload, and loses exit codes when it dies.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from conformance.run import wire


def preload(registry: str) -> dict[str, Any]:
    """Import what every worker needs and undo what the catalogue's import changes; says what it found.

    Importing OpInfo freezes the flags of `torch.backends`, so that a backend that sets one on import would fail here
    and nowhere else; the freeze is lifted again.
    """
    gc.disable()  # a million objects that all stay: looking for garbage among them takes a second of these five
    import torch
    from torch.testing._internal import common_methods_invocations

    importlib.import_module(registry).all_checks()
    torch.backends.__allow_nonbracketed_mutation_flag = True  # noqa: SLF001 - it has no public name
    threads = threading.active_count()
    if threads != 1 or len(list(Path("/proc/self/task").iterdir())) != 1:
        raise RuntimeError("the fork server has more than one thread: forking it is not safe")
    gc.freeze()  # nor do workers look there, which would also copy the pages that they share
    gc.enable()
    return {"torch": torch.__version__, "opinfo": len(common_methods_invocations.op_db)}


def serve(sock: socket.socket, registry: str) -> None:
    """Fork a worker for each request, and report each worker's end, until the supervisor hangs up."""
    try:
        wire.send(sock, {"ready": preload(registry)})
    except BaseException:  # noqa: BLE001 - whatever keeps torch from loading is told, then the server ends
        wire.send(sock, {"failed": traceback.format_exc()})
        return
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    reader = wire.Reader(sock)
    sources: list[Any] = [sock, wake_read]
    while True:
        ready, _, _ = select.select(sources, [], [])
        if wake_read in ready:
            os.read(wake_read, 4096)
        _report_ends(sock)
        if sock not in ready:
            continue
        if not reader.receive(max_fds=4):
            return
        for request in reader.messages():
            channel, log = reader.take_fds(2)
            pid = _fork(sock, channel, log, request, (wake_read, wake_write))
            os.close(channel)
            os.close(log)
            wire.send(sock, {"forked": pid, "worker": request["worker"]})


def _report_ends(sock: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        wire.send(sock, {"ended": pid, "status": os.waitstatus_to_exitcode(status)})


def _fork(sock: socket.socket, channel: int, log: int, request: dict[str, Any], wake: tuple[int, int]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        sock.close()
        for fd in wake:
            os.close(fd)
        os.setsid()
        _die_with_parent()
        os.dup2(log, 1)
        os.dup2(log, 2)
        from conformance.run import worker

        worker.main(socket.socket(fileno=channel), request)
        code = 0
    except BaseException:  # noqa: BLE001 - a child must never return into the server's loop
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _die_with_parent() -> None:
    import ctypes

    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the supervisor's to answer
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
    os._exit(0)  # taking the catalogue apart object by object would hold the supervisor up for seconds
