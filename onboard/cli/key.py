"""`onboard key`: signing keys."""

import datetime as dt
from pathlib import Path
from typing import Annotated

import typer

from onboard.cli.options import PassphraseFile, passphrase, words

app = typer.Typer(help="Make signing keys.", invoke_without_command=True)


@app.callback()
def _group(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        from onboard import console

        console.out(context.get_help())


@app.command("new")
def new(
    *,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where to write the encrypted private key; must not exist.")
    ],
    name: Annotated[str, typer.Option(metavar="TEXT", help="Who signs with it.")],
    role: Annotated[str, typer.Option(metavar="ROLE", help="vendor or wg.")] = "vendor",
    devices: Annotated[str, typer.Option(metavar="A,B", help="The torch devices it may sign for, e.g. trn,trn2.")] = "",
    days: Annotated[
        int, typer.Option(metavar="N", min=1, max=3660, help="For how many days the stanza lets it count.")
    ] = 730,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Write a new Ed25519 key, encrypted, and print the stanza for trust.toml that makes it count."""
    from conformance.errors import UsageError, did_you_mean
    from onboard import console
    from onboard.attest.keys import new_key
    from onboard.attest.trust import ROLES, Signer, stanza

    scope = words(devices)
    if role not in ROLES:
        raise UsageError(f"--role: {role!r} is none of {', '.join(ROLES)}", hint=did_you_mean(role, ROLES))
    if role == "vendor" and not scope:
        raise UsageError("a vendor's key needs a scope", hint="for instance --devices trn")
    if not name.strip() or not name.isprintable():
        raise UsageError("--name: one line of printable text is wanted", hint='for instance --name "Example Vendor"')
    now = dt.datetime.now(tz=dt.timezone.utc).replace(microsecond=0)
    public = new_key(out, passphrase(passphrase_file, confirm=True))
    until = now + dt.timedelta(days=days)
    console.say(f"wrote {out}. Keep it and its passphrase; the stanza below belongs into the verifier's trust.toml.")
    console.out(stanza(Signer(name, role, public, devices=scope, valid_after=now, valid_before=until)).rstrip("\n"))
