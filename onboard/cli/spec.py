"""`onboard spec`: the suite itself."""

import typer

from onboard.cli.options import Json

app = typer.Typer(help="Look at the suite, or freeze its plan.", invoke_without_command=True)


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


@app.command("freeze")
def freeze() -> None:
    """Write the plan for the installed torch into the suite: every case that has to run, with its digest."""
    from conformance.run.planning import freeze as freeze_plan
    from conformance.spec.suite import load_suite
    from onboard import console

    path, plan = freeze_plan(load_suite())
    console.out(f"{path}: torch {plan.torch}, {plan.size} cases in {len(plan.groups)} groups, sha256 {plan.digest}")
