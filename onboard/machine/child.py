"""A probe in a process of its own: it may crash, hang or print what it likes, and the caller gets an answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Seconds for one probe. A first `import torch` from a cold disk takes tens of seconds.
DEADLINE = 180.0
_TAIL = 4000

# The child sees exactly the modules that this process sees, whatever the working directory holds.
_BOOT = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from onboard.machine.probe import main
main(*sys.argv[2:])
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a probe said. `error` is one line and `detail` the traceback or the last output, when it failed."""

    data: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    detail: str = ""


def ask(kind: str, argument: str = "", deadline: float = DEADLINE) -> Answer:
    """Run one probe of `onboard.machine.probe` and wait for it, at most `deadline` seconds."""
    with tempfile.TemporaryDirectory(prefix="onboard-probe-") as folder:
        answer_file, output_file = Path(folder, "answer.json"), Path(folder, "output.txt")
        command = [sys.executable, "-c", _BOOT, json.dumps(sys.path), kind, argument, str(answer_file)]
        with output_file.open("wb") as output:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
            try:
                code = child.wait(deadline)
            except subprocess.TimeoutExpired:
                return Answer(error=f"no answer after {deadline:g} seconds", detail=_tail(output_file))
            finally:
                _end(child)
        if not answer_file.is_file():
            return Answer(error=_death(code), detail=_tail(output_file))
        data: dict[str, Any] = json.loads(answer_file.read_text(encoding="utf-8"))
    if "error" in data:
        return Answer(error=str(data["error"]), detail=str(data["traceback"]))
    return Answer(data=data)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the child's process group."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    child.wait()


def _death(code: int) -> str:
    if code >= 0:
        return f"the process ended with exit code {code} before it could answer"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the process died of {name}"


def _tail(path: Path) -> str:
    return path.read_bytes()[-_TAIL:].decode("utf-8", errors="replace").strip()
