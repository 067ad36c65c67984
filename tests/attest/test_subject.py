from __future__ import annotations

import base64
import hashlib
import json

import pytest

from conformance.errors import EnvironmentFailure
from onboard.attest.subject import distribution_subject, record_digest, wheel_subject


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Lay a distribution out as an installer does; gives its site folder."""

    def install(files, *, editable=False, entry_points="", name="torch-fake"):
        site = tmp_path / "site"
        info = f"{name.replace('-', '_')}-1.2.dist-info"
        whole = {
            **files,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n",
            f"{info}/INSTALLER": "pip",
        }
        if entry_points:
            whole[f"{info}/entry_points.txt"] = entry_points
        if editable:
            whole[f"{info}/direct_url.json"] = json.dumps({"url": "file:///x", "dir_info": {"editable": True}})
        rows = []
        for path, text in whole.items():
            target = site / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            rows.append(f"{path},sha256={digest},{len(text)}")
        (site / info / "RECORD").write_text("\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
        monkeypatch.syspath_prepend(str(site))
        return site

    return install


def test_the_installed_files_are_hashed(installed):
    site = installed({"torch_fake/__init__.py": "x = 1\n", "torch_fake/lib.so": "ELF"})
    before = distribution_subject("torch-fake")
    assert before.name == "torch-fake 1.2 (installed files)"
    assert distribution_subject("torch-fake") == before
    (site / "torch_fake/lib.so").write_text("ELf")
    assert distribution_subject("torch-fake").sha256 != before.sha256


def test_what_differs_between_machines_is_left_out(installed):
    site = installed({"torch_fake/__init__.py": "", "torch_fake/__pycache__/a.pyc": "1", "../bin/fake": "#!/a/python"})
    before = distribution_subject("torch-fake"), record_digest("torch-fake")
    for path in ("torch_fake/__pycache__/a.pyc", "../bin/fake", "torch_fake-1.2.dist-info/INSTALLER"):
        (site / path).write_text("else")
    record = site / "torch_fake-1.2.dist-info/RECORD"
    record.write_text(record.read_text().replace("bin/fake,sha256=", "bin/fake,sha256=0"))
    assert (distribution_subject("torch-fake"), record_digest("torch-fake")) == before


def test_the_order_of_a_record_does_not_matter_and_its_digests_do(installed):
    site = installed({"a.py": "1", "b.py": "2"})
    before = record_digest("torch-fake")
    record = site / "torch_fake-1.2.dist-info/RECORD"
    lines = record.read_text().splitlines()
    record.write_text("\n".join(reversed(lines)) + "\n")
    assert record_digest("torch-fake") == before
    record.write_text("\n".join(lines).replace("a.py,sha256=", "a.py,sha256=0") + "\n")
    assert record_digest("torch-fake") != before


@pytest.mark.parametrize("how", ["entry-point", "top-level"])
def test_an_editable_installation_is_hashed_by_its_sources(installed, tmp_path, monkeypatch, how):
    source = tmp_path / "source" / "torch_fake_sources"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(source.parent))
    files = {"_fake_editable.pth": "/elsewhere\n"}
    points = ""
    if how == "entry-point":
        points = "[torch.backends]\nfake = torch_fake_sources._load:autoload\n"
    else:
        files["torch_fake-1.2.dist-info/top_level.txt"] = "torch_fake_sources\n"
    installed(files, editable=True, entry_points=points)
    before = distribution_subject("torch-fake")
    assert before.name == "torch-fake 1.2 (editable installation and package folder)"
    (source / "__init__.py").write_text("raise SystemExit('imported!')\n")
    assert distribution_subject("torch-fake").sha256 != before.sha256


def test_an_editable_installation_without_sources_is_refused(installed):
    installed({"_fake_editable.pth": "/elsewhere\n"}, editable=True)
    with pytest.raises(EnvironmentFailure, match="can't be found"):
        distribution_subject("torch-fake")


def test_what_is_not_there_is_named(installed, tmp_path):
    for ask in (distribution_subject, record_digest):
        with pytest.raises(EnvironmentFailure, match="torch-absent"):
            ask("torch-absent")
    site = installed({"torch_fake/__init__.py": ""})
    (site / "torch_fake/__init__.py").unlink()
    with pytest.raises(EnvironmentFailure, match="can't be read"):
        distribution_subject("torch-fake")
    with pytest.raises(EnvironmentFailure, match="can't be read"):
        wheel_subject(tmp_path / "absent.whl")


def test_a_wheel_is_hashed_as_a_file(tmp_path):
    wheel = tmp_path / "fake-1.0-py3-none-any.whl"
    wheel.write_bytes(b"PK")
    subject = wheel_subject(wheel)
    assert (subject.name, subject.sha256) == (wheel.name, hashlib.sha256(b"PK").hexdigest())
