"""The whole way in one run: scaffold a backend, build it, conform it, sign, verify; then break a kernel and be told so.

Run by `make demo`. Everything lands in `demo/`; a demo that ran before is replaced. Each command is printed as a user
would type it.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "demo"
PACKAGE = DEMO / "torch-trn"
RESULTS = DEMO / "results"
KEY = DEMO / "vendor.pem"
TRUST = DEMO / "trust.toml"
PASSPHRASE = DEMO / "passphrase"
BIN = Path(sys.executable).parent

KERNEL = PACKAGE / "csrc" / "kernels" / "exp.cpp"
RIGHT = "std::exp(self)"
WRONG = "std::exp(self) * T(1.001)"


def main() -> None:
    began = time.monotonic()
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir()
    chapter("1. Scaffold a backend for a device named trn")
    run(
        "onboard",
        "new-backend",
        "trn",
        "--output",
        relative(DEMO),
        "--vendor",
        "Example Vendor",
        "--no-input",
    )
    chapter("2. Build it against the installed torch")
    build()
    chapter("3. A new process, nothing imported but torch")
    run("python", "-c", "import torch; print(torch.ones(2, 2, device='trn') @ torch.ones(2, 2, device='trn'))")
    chapter("4. A key, and who trusts it")
    PASSPHRASE.touch(mode=0o600)
    PASSPHRASE.write_text(secrets.token_urlsafe(24))
    stanza = run(
        "onboard", "key", "new", "--out", relative(KEY), "--name", "Example Vendor", "--devices", "trn",
        "--passphrase-file", relative(PASSPHRASE), capture=True,
    )  # fmt: skip
    TRUST.write_text(stanza)
    chapter("5. Conform: measure it, and sign what was measured")
    conform_seconds = conform()
    chapter("6. Verify, offline, as a reviewer would")
    run("onboard", "verify", relative(RESULTS), "--trust", relative(TRUST), "--require", "bring-up")
    chapter("7. Break one kernel: exp is off by a thousandth")
    break_and_mend()
    total = time.monotonic() - began
    print(f"\nDone in {total:.0f} s, of which the conformance run took {conform_seconds:.0f} s.")
    print(f"  the package:       {relative(PACKAGE)}")
    print(f"  the signed report: {relative(RESULTS)}/report.dsse.json")
    print(f"  open this:         {RESULTS / 'summary.html'}")


def build() -> None:
    run("python", "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "-e", relative(PACKAGE))


def conform() -> float:
    began = time.monotonic()
    run("onboard", "conform", "--device", "trn", "--out", relative(RESULTS), "--key", relative(KEY),
        "--passphrase-file", relative(PASSPHRASE))  # fmt: skip
    return time.monotonic() - began


def break_and_mend() -> None:
    """Change one constant, rebuild, and demand that conform names exactly this operator; then put the kernel back."""
    source = KERNEL.read_text()
    if source.count(RIGHT) != 1:
        sys.exit(f"demo: {KERNEL} is not the kernel that this demo knows how to break")
    broken = DEMO / "results-broken"
    try:
        KERNEL.write_text(source.replace(RIGHT, WRONG))
        build()
        run("onboard", "conform", "--device", "trn", "--ops", "*exp*", "--out", relative(broken), expect=1)
    finally:
        KERNEL.write_text(source)
    report = json.loads((broken / "report.json").read_text())
    named = [finding["operator"] for finding in report["findings"] if finding["outcome"] == "wrong"]
    if named != ["exp"]:
        sys.exit(f"demo: the broken kernel is exp, but conform named {named}")
    chapter("8. The reproducer, pasted")
    script = run("onboard", "repro", relative(broken), report["findings"][0]["id"], capture=True)
    print(run("python", "-c", script, capture=True, show=False), end="")
    chapter("9. The kernel is put back")
    build()
    run("onboard", "conform", "--device", "trn", "--ops", "*exp*", "--out", relative(broken))


def chapter(title: str) -> None:
    print(f"\n\033[1m{title}\033[0m\n" if sys.stdout.isatty() else f"\n{title}\n", flush=True)


def relative(path: Path) -> Path:
    return path.relative_to(ROOT)


def run(*words: str | Path, capture: bool = False, show: bool = True, expect: int = 0) -> str:
    """Run one command of this environment and end the demo when its exit code is not the expected one."""
    command = [str(word) for word in words]
    if show:
        print(f"$ {shlex.join(command)}", flush=True)
    began = time.monotonic()
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    output = subprocess.PIPE if capture else None
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=output, text=True, check=False)
    if done.returncode != expect:
        sys.exit(f"demo: exit code {done.returncode} where {expect} was expected")
    if show:
        if capture:
            print(done.stdout, end="")
        print(f"  ({time.monotonic() - began:.1f} s)", flush=True)
    return done.stdout or ""


if __name__ == "__main__":
    main()
