"""The suite's words and the code say the same: every case has its sentence and every sentence its case."""

import pytest

from conformance.checks import compile as compiled
from conformance.checks import runtime
from conformance.data import specs_dir
from conformance.errors import UsageError
from conformance.spec.checks import load_checks

CHECKS = {check.id: check for check in (*runtime.CHECKS, *compiled.CHECKS)}


def test_every_check_has_its_file():
    assert sorted(load_checks(specs_dir() / "checks")) == sorted(CHECKS)


@pytest.mark.parametrize("check_id", sorted(CHECKS))
def test_code_and_suite_agree(check_id):
    check, spec = CHECKS[check_id], load_checks(specs_dir() / "checks")[check_id]
    planned = {subject: sorted(check.names(None, subject, dtype)) for subject, dtype in check.groups(None)}
    assert planned == {subject: spec.names(subject) for subject in spec.cases}


@pytest.mark.parametrize("check_id", sorted(CHECKS))
def test_names_can_stand_in_a_plan(check_id):
    check = CHECKS[check_id]
    for subject, dtype in check.groups(None):
        assert dtype == "any"
        names = check.names(None, subject, dtype)
        assert names
        assert len(set(names)) == len(names)
        assert not any(set(name) & set("/ ") for name in (subject, *names))


GOOD = "check: runtime.x\nlevel: bring-up\nsince: 1\nsummary: s\ncases:\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"{GOOD}  a: {{b: It should work.}}\n", r"runtime\.x\.yaml:6: cases\.a\.b: a case says"),
        (f"{GOOD}  a: {{}}\n", "a subject without cases"),
        (f"{GOOD}  a: {{must: It MUST., names: []}}\n", "a case says"),
        (f"{GOOD}  a: {{must: It MUST work., names: []}}\n", "a subject without cases"),
        (f"{GOOD}  a: {{must: It MUST work., names: [b, b]}}\n", "b stands here twice"),
        (f"{GOOD}  a: {{must: It MUST work.}}\n", "'names' is missing"),
        (GOOD.replace("runtime.x", "runtime.y") + "  a: {b: It MUST work.}\n", "the file is named"),
        (GOOD.replace("bring-up", "bringup") + "  a: {b: It MUST work.}\n", "is none of"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path, text, complaint):
    (tmp_path / "runtime.x.yaml").write_text(text)
    with pytest.raises(UsageError, match=complaint):
        load_checks(tmp_path)
