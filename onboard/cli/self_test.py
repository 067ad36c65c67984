"""`onboard self-test`: measure the suite itself."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onboard.cli.options import Json

if TYPE_CHECKING:
    from conformance.selftest.implementations.alarms import Tally
    from conformance.selftest.implementations.implementation import Implementation
    from conformance.selftest.implementations.known import Known
    from conformance.selftest.inject import Fault
    from conformance.selftest.power import Verdict
    from conformance.spec.plan import Plan
    from conformance.spec.suite import Suite


def self_test(
    faults: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Also the faults in this module's REGISTRY; repeatable."),
    ] = None,
    only: Annotated[str | None, typer.Option(metavar="GLOB", help="Only faults like sort.*")] = None,
    implementations: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Also serve cases by these: threads-2, shuffled, references, decompositions, inductor, or none. "
            "Default: the first four; with --only, none.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--every-case", help="Serve every case by each implementation, not a few of each group.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=512, help="Default: one per processor, at most 8.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Of the inputs.")] = 0,
    json: Json = False,
) -> None:
    """Inject known defects into the host's kernels, one after the other, and count those that the suite notices.

    Then serve cases by other implementations that are right, and count those that fail: false alarms, but for the
    explained ones.
    """
    import os

    # A second thread of torch sleeps as soon as its work is done: so it takes no time, and it shows when it works.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from conformance.run.planning import plan_for
    from conformance.selftest.implementations.known import read_known
    from conformance.selftest.power import measure
    from conformance.spec.suite import load_suite
    from onboard import console

    chosen = _chosen(faults or [], only)
    others = _implementations(implementations, only)
    known = read_known()
    suite = load_suite()
    plan = plan_for(suite, console.say)
    count = 0

    def done(verdict: "Verdict") -> None:
        nonlocal count
        count += 1
        console.say(f"{count} of {len(chosen)}: {'caught' if verdict.caught else 'MISSED'} {verdict.fault}")

    verdicts = measure(suite, plan, chosen, seed=seed, workers=workers or 0, done=done)
    tallies = _serve(others, known, suite, plan, every=every, seed=seed, workers=workers or 0)
    stale = _expired(known, tallies)
    if json:
        console.write_json(_document(verdicts, tallies, stale))
    else:
        _show(verdicts)
        _show_implementations(tallies, stale)
    quiet = not stale and not any(tally.unexplained for tally in tallies.values())
    raise typer.Exit(0 if quiet and all(v.caught and not v.false_alarms for v in verdicts) else 1)


def _implementations(names: str | None, only: str | None) -> "list[Implementation]":
    from conformance.selftest.implementations.implementation import DEFAULT, chosen

    if names is None:
        return [] if only is not None else chosen(DEFAULT)
    return [] if names == "none" else chosen([name.strip() for name in names.split(",")])


def _serve(
    others: "list[Implementation]",
    known: "tuple[Known, ...]",
    suite: "Suite",
    plan: "Plan",
    *,
    every: bool,
    seed: int,
    workers: int,
) -> "dict[str, Tally]":
    from conformance.selftest.implementations.alarms import measure
    from onboard import console

    if not others:
        return {}
    names = ", ".join(other.id for other in others)

    def done(groups: int, total: int) -> None:
        if groups % 100 == 0 or groups == total:
            console.say(f"{groups} of {total} groups: {names}")

    return measure(suite, plan, others, known, every=every, seed=seed, workers=workers, done=done)


def _expired(known: "tuple[Known, ...]", tallies: "dict[str, Tally]") -> list[str]:
    from conformance.selftest.implementations.alarms import expired

    return [f"{name} on {', '.join(entry.operators)}: {entry.reason}" for name, entry in expired(known, tallies)]


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


def _document(verdicts: "list[Verdict]", tallies: "dict[str, Tally]", stale: list[str]) -> dict[str, object]:
    return {
        "schema": "onboard/self-test/1",
        "faults": {
            "total": len(verdicts),
            "caught": sum(v.caught for v in verdicts),
            "missed": [v.fault for v in verdicts if not v.caught],
        },
        "false_alarms": {
            "null fault": sorted({case for v in verdicts for case in v.false_alarms}),
            **{name: [alarm.case for alarm in tally.unexplained] for name, tally in tallies.items()},
        },
        "implementations": {
            name: {
                "cases": tally.run,
                "reached": tally.hit,
                "left": tally.left,
                "explained": [
                    {"case": alarm.case, "reason": alarm.reason} for alarm in tally.alarms if alarm.reason is not None
                ],
            }
            for name, tally in tallies.items()
        },
        "expired": stale,
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


def _show_implementations(tallies: "dict[str, Tally]", stale: list[str]) -> None:
    from onboard import console

    for name, tally in tallies.items():
        for alarm in tally.unexplained:
            console.out(f"FALSE ALARM  {alarm.case} on {name}\n        {alarm.outcome}: {alarm.message}")
    for text in stale:
        console.out(f"EXPIRED  known.yaml explains what no case shows any more, {text}")
    if tallies:
        console.out("\nimplementation     cases  reached  false alarms  explained")
    for name, tally in tallies.items():
        unexplained = len(tally.unexplained)
        over = f"  its time was over before {tally.left} groups" if tally.left else ""
        explained = len(tally.alarms) - unexplained
        console.out(f"{name:<16} {tally.run:>7} {tally.hit:>8} {unexplained:>13} {explained:>10}{over}")
