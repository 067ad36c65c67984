"""`onboard self-test`: measure the suite itself."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onboard.cli.options import Json

if TYPE_CHECKING:
    from conformance.selftest.inject import Fault
    from conformance.selftest.power import Verdict


def self_test(
    faults: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Also the faults in this module's REGISTRY; repeatable."),
    ] = None,
    only: Annotated[str | None, typer.Option(metavar="GLOB", help="Only faults like sort.*")] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=512, help="Default: one per processor, at most 8.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Of the inputs.")] = 0,
    json: Json = False,
) -> None:
    """Inject known defects into the host's kernels, one after the other, and count those that the suite notices."""
    from conformance.run.planning import plan_for
    from conformance.selftest.power import measure
    from conformance.spec.suite import load_suite
    from onboard import console

    chosen = _chosen(faults or [], only)
    count = 0

    def done(verdict: "Verdict") -> None:
        nonlocal count
        count += 1
        console.say(f"{count} of {len(chosen)}: {'caught' if verdict.caught else 'MISSED'} {verdict.fault}")

    suite = load_suite()
    verdicts = measure(suite, plan_for(suite, console.say), chosen, seed=seed, workers=workers or 0, done=done)
    if json:
        console.write_json(_document(verdicts))
    else:
        _show(verdicts)
    raise typer.Exit(0 if all(v.caught and not v.false_alarms for v in verdicts) else 1)


def _chosen(files: list[Path], only: str | None) -> "dict[str, Fault]":
    from fnmatch import fnmatchcase

    from conformance.errors import UsageError
    from conformance.faults import REGISTRY
    from conformance.selftest.inject import load_faults

    known: dict[str, Fault] = dict(REGISTRY)
    for file in files:
        known |= load_faults(file)
    chosen = {name: fault for name, fault in known.items() if only is None or fnmatchcase(name, only)}
    if not chosen:
        raise UsageError(f"no fault is like {only!r}", hint=f"there are {len(known)}, as {min(known)}")
    return chosen


def _document(verdicts: "list[Verdict]") -> dict[str, object]:
    return {
        "schema": "onboard/self-test/1",
        "faults": {
            "total": len(verdicts),
            "caught": sum(v.caught for v in verdicts),
            "missed": [v.fault for v in verdicts if not v.caught],
        },
        "false_alarms": {"null fault": sorted({case for v in verdicts for case in v.false_alarms})},
        "verdicts": [
            {"fault": v.fault, "caught": v.caught, "reached": v.reached, "case": v.case, "outcome": v.outcome,
             "message": v.message}
            for v in verdicts
        ],
    }  # fmt: skip


def _show(verdicts: "list[Verdict]") -> None:
    from onboard import console

    for verdict in verdicts:
        if verdict.caught:
            console.out(f"caught  {verdict.fault}\n        {verdict.outcome} in {verdict.case}")
    for verdict in verdicts:
        if not verdict.caught:
            seen = f"hit in {verdict.reached} cases" if verdict.reached else "no case reaches it"
            console.out(f"MISSED  {verdict.fault}: {seen}")
    alarms = sorted({case for v in verdicts for case in v.false_alarms})
    for case in alarms:
        console.out(f"FALSE ALARM  {case} fails without a fault")
    caught = sum(v.caught for v in verdicts)
    share = 100 * caught / len(verdicts)
    console.out(
        f"\n{caught} of {len(verdicts)} faults caught ({share:.1f} %), {len(alarms)} false alarms under the null"
    )
