"""`onboard spec`: the suite itself."""

from typing import Annotated

import typer

from onboard.cli.options import Json

app = typer.Typer(help="Look at the suite and what it covers, or freeze its plan.", invoke_without_command=True)


@app.callback()
def _group(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        from onboard import console

        console.out(context.get_help())


@app.command("list")
def list_(json: Json = False) -> None:
    """List levels and operators of the suite, with its version and digest."""
    from conformance.spec.suite import load_suite
    from onboard import console

    suite = load_suite()
    levels = [{"level": one.name, "after": list(one.after), "summary": one.summary} for one in suite.levels.values()]
    operators = [{"operator": one.name, "family": one.family} for one in suite.operators.values()]
    if json:
        identity = {"name": suite.name, "version": suite.version, "digest": suite.digest}
        console.write_json(
            {"schema": "onboard/spec/1", "suite": identity, "levels": levels, "operators": operators},
        )
        return
    console.out(f"{suite.name} {suite.version}, sha256 {suite.digest}")
    for level in suite.levels.values():
        after = f" (after {', '.join(level.after)})" if level.after else ""
        console.out(f"\nlevel {level.name}{after}\n  {level.summary}")
    families: dict[str, list[str]] = {}
    for name, operator in suite.operators.items():
        families.setdefault(operator.family, []).append(name)
    for family, names in families.items():
        console.out(f"\nfamily {family}: {len(names)} operators\n  {', '.join(names)}")


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An operator (softmax) or an overload (aten::add.out).")],
    json: Json = False,
) -> None:
    """Show one operator as the suite declares it, or one overload: who serves it, and which case reaches it."""
    from conformance.spec.suite import load_suite
    from onboard import console
    from onboard.publish import specification

    document = specification.described(load_suite(), name)
    if json:
        console.write_json({"schema": "onboard/spec-entry/1", **document})
        return
    for line in specification.entry_lines(document):
        console.out(line)


@app.command("coverage")
def coverage(
    missing: Annotated[
        bool, typer.Option("--missing", metavar="", help="List what is not reached, and why it need not be.")
    ] = False,
    of: Annotated[
        str | None,
        typer.Option("--of", metavar="NAMES", help="These only: opinfo,core,kernel,backend,aten."),
    ] = None,
    measure: Annotated[
        bool,
        typer.Option("--measure", metavar="", help="Run the plan on the host anew (minutes); exit 1 where it differs."),
    ] = False,
    json: Json = False,
) -> None:
    """Print the denominators of the installed torch, and how much of each the plan reaches when it is run.

    An overload is reached where a planned case calls it on the device and what comes of it is compared with the oracle.
    """
    from conformance.coverage.apart import look
    from conformance.coverage.table import OPINFO
    from conformance.spec.denominators import PARTS, load_rules
    from conformance.spec.suite import load_suite, require_known
    from onboard import console
    from onboard.cli.options import words
    from onboard.publish import specification

    known = [OPINFO, *PARTS]
    wanted = words(of) or tuple(known)
    require_known("denominator", list(wanted), known)
    suite = load_suite()
    found = look(suite, anew=measure)
    document = specification.covered(found, load_rules(suite.root), wanted)
    if json:
        console.write_json({"schema": "onboard/coverage/1", **document})
    else:
        console.print_lines(specification.coverage_lines(document, missing=missing))
    if not found.holds:
        raise typer.Exit(1)


@app.command("freeze")
def freeze() -> None:
    """Write into the suite what holds for the installed torch: every case that has to run, and what that reaches."""
    from conformance.coverage.apart import freeze as freeze_coverage
    from conformance.run.planning import freeze as freeze_plan
    from conformance.spec.suite import load_suite
    from onboard import console

    suite = load_suite()
    path, plan = freeze_plan(suite)
    console.out(f"{path}: torch {plan.torch}, {plan.size} cases in {len(plan.groups)} groups, sha256 {plan.digest}")
    for path, what in freeze_coverage(suite):
        console.out(f"{path}: {what}")
