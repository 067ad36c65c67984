"""`onboard devices`: what is described, what is installed, what torch offers."""

from __future__ import annotations

import json

import pytest

PROFILE = """
profile: {name}
device: {name}
vendor: "[bold]Acme[/bold] \\x1b[31m"
simulated: {simulated}
package: {{import: torch_{name}, distribution: torch-{name}}}
levels: [bring-up]
"""


def _backend(name, profile):
    entries = f"[onboard.profiles]\n{name} = torch_{name}:onboard.yaml\n"
    # Importing a package only to list its profile would be wrong: this one can't be imported.
    files = {f"torch_{name}/__init__.py": "raise SystemExit(9)", f"torch_{name}/onboard.yaml": profile}
    return (f"torch-{name}", "3.2.1", entries, files)


@pytest.fixture(scope="module")
def site(install):
    return install(
        _backend("acme", PROFILE.format(name="acme", simulated="true")),
        _backend("bad", "profile: bad\ndevice: bad\ndevice: worse\n"),
    )


@pytest.fixture(scope="module")
def listed(onboard, site):
    ran = onboard("devices", "--json", PYTHONPATH=site)
    return ran, json.loads(ran.out)


def test_a_backends_own_profile_is_listed_without_importing_it(listed):
    ran, document = listed
    assert ran.code == 0
    assert document["schema"] == "onboard/devices/1"
    (profile,) = (one for one in document["profiles"] if one["profile"] == "acme")
    assert profile == {
        "profile": "acme",
        "device": "acme",
        "vendor": "[bold]Acme[/bold] \x1b[31m",
        "package": "torch_acme",
        "distribution": "torch-acme",
        "installed": True,
        "version": "3.2.1",
        "simulated": True,
        "levels": ["bring-up"],
        "origin": "torch-acme",
        "source": "onboard.yaml",
    }


def test_the_profiles_of_the_suite_are_listed_with_their_torch_device(listed):
    profiles = {one["profile"]: one for one in listed[1]["profiles"]}
    assert profiles["trn"]["device"] == "neuron"
    assert profiles["trn"]["installed"] is False
    assert profiles["cpu"]["installed"] is True
    assert profiles["trn"]["origin"] == "suite"


def test_a_bad_profile_is_a_problem_and_not_the_end(listed):
    (problem,) = listed[1]["problems"]
    assert "onboard.yaml:3" in problem


def test_what_torch_offers_is_listed(listed):
    assert {"device": "cpu", "count": 1} in listed[1]["torch"]["devices"]


def test_the_table_is_plain_text_at_80_columns(onboard, site):
    ran = onboard("devices", PYTHONPATH=site, COLUMNS="80")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "\x1b" not in ran.out
    assert "[bold]" in ran.out
    assert "SIMULATED" in ran.out
    assert "warning: " in ran.err
    assert "warning: " not in ran.out
