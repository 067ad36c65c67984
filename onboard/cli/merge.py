"""`onboard merge`: the shards of a run as one report."""

from pathlib import Path
from typing import Annotated

import typer

from onboard.cli.options import Json, PassphraseFile


def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="The --out folders of all shards.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Keep the merged results here.")],
    *,
    profile: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The device profile, where the shards were given one.")
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Sign the report with this key.")] = None,
    passphrase_file: PassphraseFile = None,
    json: Json = False,
) -> None:
    """Prove that the shards of `conform --shard` are one whole run, and write its report."""
    from conformance.errors import UsageError
    from conformance.run.merge import merge as merge_shards
    from onboard import console
    from onboard.cli.conform import load_signing_key
    from onboard.cli.measure import conclude

    if out.absolute() in [folder.absolute() for folder in folders]:
        raise UsageError(f"{out} is one of the shards", hint="name another folder with --out")
    secret = None if key is None else load_signing_key(key, passphrase_file)
    report = merge_shards(folders, out, console.say, profile_file=profile)
    raise typer.Exit(conclude(report, out, secret, as_json=json))
