"""`--device NAME` finds one profile, or says what is missing; nothing is imported for it."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint

import pytest

from conformance.data import specs_dir
from conformance.device import resolve
from conformance.device.profile import load_profile
from conformance.errors import EnvironmentFailure, UsageError


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package with a profile, as an entry point would show it. The package fails when it is imported."""
    entries = []
    monkeypatch.setattr(resolve, "entry_points", lambda group: entries if group == resolve.PROFILE_GROUP else [])

    def install(name, package, text):
        folder = tmp_path / package / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("raise RuntimeError('imported')\n")
        (folder / "onboard.yaml").write_text(text)
        monkeypatch.syspath_prepend(str(folder.parent))
        entries.append(EntryPoint(name, f"{package}:onboard.yaml", resolve.PROFILE_GROUP))

    return install


def find(device, **options):
    return resolve.resolve_profile(device, suite_root=specs_dir(), **options)


def test_an_installed_backend_comes_before_the_published_profile_and_is_not_imported(install):
    install("trn", "torch_fake_trn", "profile: trn\ndevice: trn\nsimulated: true\npackage: {import: torch_fake_trn}\n")
    profile = find("trn")
    assert (profile.device, profile.simulated, profile.import_module) == ("trn", True, "torch_fake_trn")
    assert "torch_fake_trn" not in sys.modules


def test_the_published_profile_of_an_absent_backend_says_what_to_install(install):
    with pytest.raises(EnvironmentFailure) as caught:
        find("trn")
    assert caught.value.exit_code == 3
    for word in ("torch_neuronx", "specs/devices/trn.yaml", "'neuron'"):
        assert word in caught.value.message
    assert "onboard new-backend trn" in caught.value.hint


def test_two_backends_with_different_profiles_of_one_name_are_an_error_that_names_both(install):
    install("acc", "torch_first", "profile: acc\ndevice: acc\n")
    install("acc", "torch_second", "profile: acc\ndevice: other\n")
    with pytest.raises(UsageError, match=r"torch_first and torch_second"):
        find("acc")


def test_a_profile_file_wins(install, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("profile: mine\ndevice: cpu\n")
    assert find("trn", profile_file=path).name == "mine"


def test_a_name_of_torchs_vocabulary_that_nobody_serves(install):
    with pytest.raises(EnvironmentFailure) as caught:
        find("hpu")
    assert "--import" in caught.value.hint


def test_an_unknown_device_gets_a_suggestion(install):
    with pytest.raises(UsageError) as caught:
        find("cpuu")
    assert "did you mean cpu" in caught.value.hint


def test_import_names_a_backend_without_entry_point(install):
    assert find("anything", import_module="json").name == "anything"
    with pytest.raises(EnvironmentFailure, match="no_such_module"):
        find("anything", import_module="no_such_module")


def test_every_published_profile_is_valid():
    paths = sorted((specs_dir() / "devices").glob("*.yaml"))
    assert paths
    for path in paths:
        profile = load_profile(path)
        assert profile.name == path.stem
        assert len(profile.digest) == 64


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("profile: a\n", "'device' is missing"),
        ("profile: a\ndevice: a\ndtypes: {}\nlevles: []\n", "unknown field"),
        ("profile: a\ndevice: a\nsimulated: yes\n", "expected true or false"),
        ("profile: a\ndevice: a\nlevels: bring-up\n", "expected a list"),
    ],
)
def test_a_wrong_profile_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        load_profile(path)
