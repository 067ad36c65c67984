"""`onboard devices`: the devices that are described, and those that torch offers on this machine."""

from onboard.cli.options import Json


def devices(json: Json = False) -> None:
    """List device profiles, whether their backends are installed, and what torch offers on this machine."""
    from onboard import console
    from onboard.machine.child import ask
    from onboard.machine.profiles import list_profiles
    from onboard.machine.show import devices_document, devices_table

    listing = list_profiles()
    offered = ask("autoload")
    if json:
        console.write_json(devices_document(listing, offered))
        return
    console.console().print(devices_table(listing))
    if offered.error is None:
        shown = ", ".join(f"{one['device']} ({one['count']})" for one in offered.data["devices"])
        console.out(f"\ntorch on this machine offers: {shown}")
    else:
        console.out(f"\ntorch on this machine can't be imported: {offered.error}")
        console.say("hint: onboard doctor shows the traceback")
    for problem in listing.problems:
        console.say(f"warning: {problem}")
