"""A registry of checks whose cases crash, hang, exit, flood and lie, for the tests of the runner."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from conformance.checks.contract import Case, Judgement


def ok():
    return Judgement("pass", error=0.0, bound=0.0, rung="exact")


def segfault():
    ctypes.string_at(0)


def abort():
    os.abort()


def leave():
    os._exit(3)


def sys_exit():
    sys.exit(4)


def deaf_loop():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        time.sleep(1)


def wrong():
    return Judgement("wrong", error=1.0, bound=0.0, rung="exact")


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def killed_once():
    """Killed from outside the first time that it runs, as by a kernel that is out of memory."""
    if not ONCE.exists():
        ONCE.touch()
        killed()
    return ok()


def sometimes():
    """Passes the first time that it runs, and raises from then on."""
    if ONCE.exists():
        raise RuntimeError("not this time")
    ONCE.touch()
    return ok()


def nap():
    time.sleep(3)
    return ok()


def flood():
    sys.stdout.write("x" * 5_000_000)
    sys.stdout.flush()
    return ok()


def long_error():
    raise RuntimeError("y" * 5_000_000)


def detached_child():
    if os.fork() == 0:
        os.setsid()
        time.sleep(2)
        os._exit(0)
    return ok()


def alone():
    """Passes unless another process is in this function at the same time."""
    try:
        LOCK.touch(exist_ok=False)
    except FileExistsError:
        return Judgement("wrong", error=1.0, bound=0.0, rung="exact")
    time.sleep(0.3)
    LOCK.unlink()
    return ok()


ONCE = Path(tempfile.gettempdir()) / "once"
LOCK = Path(tempfile.gettempdir()) / "alone"

ACTS = {
    "ok": ok,
    "ok-then-abort": ok,
    "alone": alone,
    "segfault": segfault,
    "abort": abort,
    "leave": leave,
    "sys-exit": sys_exit,
    "deaf-loop": deaf_loop,
    "killed": killed,
    "killed-once": killed_once,
    "sometimes": sometimes,
    "wrong": wrong,
    "wrong-small": wrong,
    "nap": nap,
    "flood": flood,
    "long-error": long_error,
    "detached-child": detached_child,
}


class Acts:
    """Each operator name is a script: `ok,segfault,ok` makes three cases that act so."""

    id = "operators.forward"

    def cases(self, context, operator, dtype, names=None):
        for number, act in enumerate(operator.split(",")):
            if act == "unmakable":
                raise ValueError("inputs cannot be made")
            if act == "abort-preparing":
                os.abort()
            if act != "absent-case":
                size = 5 if act == "wrong" else 1
                yield Case(f"case-{number:04}", None, None, size, ACTS[act], lambda: "import torch\n")
            if act == "ok-then-abort":
                os.abort()


def all_checks():
    return {"operators.forward": Acts(), "compile.smoke": Acts()}
