"""A backend that no one here wrote: torchvulkan, where it and a Vulkan driver are installed.

The tests run the command as a user does and hold its answers against the backend's own word, not against ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec

import pytest

#: Seconds. Without a frozen plan for the installed torch the plan alone takes a minute.
PATIENCE = 600


def why_not() -> str | None:
    """Why the backend cannot be measured here, or None where it can."""
    if find_spec("torchvulkan") is None:
        return "torchvulkan is not installed: pip install --no-deps torchvulkan==0.2.1"
    probe = "import torchvulkan, sys; sys.exit(0 if torchvulkan.is_available() else 7)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode == 7:
        return "no Vulkan 1.3 driver: apt-get install mesa-vulkan-drivers gives a software device"
    # An import that fails is not a reason to skip: the tests run, and fail with what conform makes of it.
    return None


@pytest.fixture(scope="module")
def conform(tmp_path_factory):
    """Run `onboard conform --device vulkan` on a selection; give the exit code and the document on stdout."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)

    def conform(*selection, **environment):
        out = tmp_path_factory.mktemp("vulkan")
        command = [sys.executable, "-m", "onboard", "conform", "--device", "vulkan", "--out", str(out), "--json"]
        done = subprocess.run(
            [*command, *selection],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={**os.environ, **environment},
            check=False,
        )
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    return conform


pytestmark = pytest.mark.vulkan


def every_case_has_an_outcome(document):
    return document["planned"] > 0 and sum(document["outcomes"].values()) == document["planned"]


def test_the_smoke_selection_completes_and_loses_no_case(conform):
    code, document = conform("--ops", "add", "--dtypes", "float32,int64")
    assert every_case_has_an_outcome(document)
    assert document["outcomes"]["pass"] == document["planned"]
    assert document["execution"] == {"native": 1, "composite": 0, "fallback": 0, "absent": 0}
    assert (document["device"], document["backend"]["name"]) == ("vulkan", "torchvulkan")
    assert document["verdict"] == "incomplete", "a selection is not the whole level"
    assert code == 0


@pytest.mark.skipif(
    find_spec("torchvulkan") is not None and version("torchvulkan") != "0.2.1",
    reason="the defect was confirmed by hand on torchvulkan 0.2.1",
)
def test_a_defect_confirmed_by_hand_is_found_and_named(conform):
    """atan(1) is 0.7853948 there, 3.3e-6 off pi/4."""
    code, document = conform("--ops", "atan", "--dtypes", "float32")
    assert every_case_has_an_outcome(document)
    assert document["outcomes"]["wrong"] > 0
    assert [(finding["operator"], finding["outcome"]) for finding in document["findings"]] == [("atan", "wrong")]
    assert code == 1


WITNESS = """
import json, warnings
import torch, torchvulkan
from conformance.device.execution import observe

torch.set_warn_always(True)
device = torch.device("vulkan")
real, whole = torch.rand(64, 64).to(device), torch.arange(64).to(device)
few, many = torch.ones((), device=device), torch.ones(64, dtype=torch.complex64).to(device)
calls = {
    "exp": lambda: real.exp(),
    "mm": lambda: real @ real,
    "add": lambda: whole + whole,
    "index_select of no dimensions": lambda: few.index_select(0, whole[:1]),
    "exp of complex": lambda: many.exp(),
    "fill of complex": lambda: many.fill_(1),
    "add of bfloat16": lambda: real.bfloat16() + 1,
}
found = {}
for name, call in calls.items():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        seen = observe(call, device)
    found[name] = [seen.execution, any("torchvulkan" in str(one.message) for one in said)]
print(json.dumps(found))
"""


@pytest.mark.usefixtures("conform")
def test_what_the_backend_warns_of_is_what_is_called_fallback():
    """Its warnings are a witness that our tracing has no part in. bfloat16 is native where the driver has the type."""
    done = subprocess.run(
        [sys.executable, "-c", WITNESS], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {name for name, (execution, _) in found.items() if execution == "fallback"} == {
        name for name, (_, warned) in found.items() if warned
    }
    assert found["exp"] == ["native", False]
    assert found["exp of complex"] == ["fallback", True]


def test_the_module_named_on_the_command_line_serves_a_device_without_profile(conform, tmp_path):
    """The backend has no entry point: what the profile says, `--import` says as well."""
    profile = tmp_path / "bare.yaml"
    profile.write_text("profile: bare\ndevice: vulkan\n")
    _, document = conform("--profile", str(profile), "--import", "torchvulkan", "--ops", "add", "--dtypes", "float32")
    assert (document["profile"], document["outcomes"]["pass"]) == ("bare", document["planned"])
