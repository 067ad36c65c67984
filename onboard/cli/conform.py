"""`onboard conform`: measure a device."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onboard.cli.options import Json, PassphraseFile

if TYPE_CHECKING:
    from onboard.attest.keys import SigningKey

_SELECTION = "Selection"


def conform(
    *,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="A profile or a torch device: trn, cuda, cpu.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the results here. Default: onboard-results/NAME.")
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEVEL", help="Judge this level; repeatable. Default: those claimed.", rich_help_panel=_SELECTION
        ),
    ] = None,
    checks: Annotated[
        str | None, typer.Option(metavar="GLOB", help="Only checks like runtime.*", rich_help_panel=_SELECTION)
    ] = None,
    ops: Annotated[
        str | None, typer.Option(metavar="GLOB", help="Only operators like conv*", rich_help_panel=_SELECTION)
    ] = None,
    dtypes: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these, e.g. float32,int64", rich_help_panel=_SELECTION)
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Only a case of each kind: seconds.", rich_help_panel=_SELECTION)
    ] = False,
    last_failed: Annotated[
        bool,
        typer.Option("--last-failed", help="Only what failed in the run in --out.", rich_help_panel=_SELECTION),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL.py:build", help="Only what this model calls, see onboard needs", rich_help_panel=_SELECTION
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Only this part of N, for one of N machines; auto in a Slurm array or an indexed Job.",
            rich_help_panel=_SELECTION,
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=512, help="Default: one per processor, at most 8.")
    ] = None,
    repeat: Annotated[
        int, typer.Option(metavar="N", min=1, max=1000, help="Run every case so often; what differs is flaky.")
    ] = 1,
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Of the inputs.")] = 0,
    profile: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read the device profile from this file.")
    ] = None,
    import_: Annotated[
        str | None, typer.Option("--import", metavar="MODULE", help="Import this for a backend without entry point.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Go on with the run in this folder that broke off, with the options it had."),
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Sign the report with this key.")] = None,
    passphrase_file: PassphraseFile = None,
    json: Json = False,
) -> None:
    """Measure a device against the suite: what is native, what falls back, what is wrong and by how much."""
    from conformance.errors import UsageError
    from conformance.run.api import ConformOptions, failed_cases
    from conformance.run.broken import options_of
    from conformance.spec.shards import shard_of
    from onboard.cli.measure import default_folder, measure
    from onboard.cli.options import words

    asked = ConformOptions(
        device=device or "",
        out=out or default_folder(device or ""),
        levels=tuple(level or ()),
        checks=checks,
        ops=ops,
        dtypes=words(dtypes),
        model=model,
        smoke=smoke,
        workers=workers or 0,
        seed=seed,
        profile=profile,
        import_module=import_,
        repeat=repeat,
        shard=None if shard is None else shard_of(shard),
    )
    if shard is not None and (model is not None or last_failed):
        raise UsageError("--shard takes the whole plan or globs of it, not --model or --last-failed")
    if shard is not None and key is not None:
        raise UsageError("a shard is not signed", hint="onboard merge signs what all shards amount to")
    if resume is not None:
        blank = ConformOptions(device="", out=asked.out, workers=asked.workers)
        if asked != blank or out is not None or last_failed:
            raise UsageError("--resume goes on with the options that the run had", hint="only --workers can be another")
        options = options_of(resume, blank)
    elif device is None:
        raise UsageError("name the device with --device", hint="`onboard devices` lists those that are known")
    else:
        options = replace(asked, only=failed_cases(asked.out)) if last_failed else asked
    secret = None if key is None else load_signing_key(key, passphrase_file)
    raise typer.Exit(measure(options, secret, as_json=json))


def load_signing_key(key: Path, passphrase_file: Path | None) -> "SigningKey":
    """Unlock the key before the run: a wrong passphrase must not cost a measurement."""
    from onboard.attest.keys import load_key
    from onboard.cli.options import passphrase

    return load_key(key, passphrase(passphrase_file))
