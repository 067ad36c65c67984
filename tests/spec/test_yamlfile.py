"""Every complaint about a suite file names the file, the line and what to do."""

from __future__ import annotations

import math

import pytest

from conformance.errors import UsageError
from conformance.spec.operators import load_family
from conformance.spec.yamlfile import read_yaml


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "file.yaml"
        path.write_text(text)
        return read_yaml(path, "specs/file.yaml")

    return read


def complaint(call, *args):
    with pytest.raises(UsageError) as caught:
        call(*args)
    assert caught.value.exit_code == 2
    return caught.value


def test_yaml_1_1_surprises_are_plain_text(read):
    values = read("a: no\nb: 12:30\nc: 2026-01-01\nd: 1e3\ne: 007\nf: 'null'\n").mapping()
    assert [values[k].value for k in "abcdef"] == ["no", "12:30", "2026-01-01", 1000.0, "007", "null"]


def test_numbers_and_words_are_read(read):
    values = read("a: -3\nb: 0.5\nc: true\nd: null\ne: -inf\nf: nan\ng: 1_000\n").mapping()
    assert [values[k].value for k in "abcdeg"] == [-3, 0.5, True, None, -math.inf, 1000]
    assert math.isnan(values["f"].value)


def test_a_duplicate_key_names_its_line(read):
    error = complaint(read, "a: 1\nb: 2\na: 3\n")
    assert "specs/file.yaml:3" in error.message
    assert "twice" in error.message


def test_an_alias_bomb_is_refused_before_it_grows(read):
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    assert "aliases" in complaint(read, "\n".join(lines)).message


def test_a_self_reference_is_refused(read):
    assert "aliases" in complaint(read, "a: &a [*a]\n").message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1, 2\n", "specs/file.yaml:2"),
        ("a: !!python/object/apply:os.system [ls]\n", "expected"),
        ("a: !!binary aGk=\n", "tag"),
        ("", "empty"),
        ("a: 1\n---\nb: 2\n", "specs/file.yaml"),
        ("[" * 50 + "]" * 50, "nested"),
        ("[" * 100_000, "specs/file.yaml"),
        ("? [a]\n: 1\n", "plain text"),
    ],
)
def test_broken_files_are_refused_with_their_place(read, text, message):
    def use(text):
        read(text).mapping()["a"].text()

    assert message in complaint(use, text).message


def test_a_huge_file_and_binary_are_refused(tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\n" * 300_000)
    assert "larger" in complaint(read_yaml, tmp_path / "a.yaml").message
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in complaint(read_yaml, tmp_path / "b.yaml").message


FAMILY = """\
family: test
level: inference
since: 1
dtypes: [float32, bfloat16]
oracle: {rung: dot, terms: ones}
operators:
  mm:
  addmm:
    oracle: {extra: 2, dtypes: {bfloat16: {rung: unjudged, why: no bound yet}}}
"""


def family(tmp_path, text=FAMILY):
    path = tmp_path / "test.yaml"
    path.write_text(text)
    return {spec.name: spec for spec in load_family(path, "specs/operators/test.yaml")}


def test_operators_inherit_from_their_family_and_state_what_differs(tmp_path):
    specs = family(tmp_path)
    assert (specs["mm"].oracle.rung, specs["mm"].oracle.terms, specs["mm"].oracle.extra) == ("dot", "ones", 0)
    assert (specs["addmm"].oracle.rung, specs["addmm"].oracle.extra) == ("dot", 2)
    assert specs["addmm"].oracle_for("bfloat16").rung == "unjudged"
    assert specs["addmm"].oracle_for("float32").rung == "dot"


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("rung: dot", "rung: dots", ":5: oracle.rung: 'dots' is none of", "did you mean dot"),
        ("level: inference", "levle: inference", ":2: levle: unknown field", "did you mean level"),
        ("since: 1", "since: one", ":3: since: expected a whole number", None),
        ("since: 1", "since: true", ":3: since: expected a whole number", None),
        ("{extra: 2,", "{extra: two,", ":9: operators.addmm.oracle.extra", None),
        (", why: no bound yet", "", "needs a reason", "why"),
        ("[float32, bfloat16]", "[float23]", ":4: dtypes[0]: 'float23'", "float32"),
        ("[float32, bfloat16]", "float32", "expected a list", None),
        ("family: test\n", "", "'family' is missing", None),
    ],
)
def test_a_wrong_field_names_file_line_field_and_hint(tmp_path, old, new, message, hint):
    error = complaint(family, tmp_path, FAMILY.replace(old, new))
    assert message in error.message
    assert error.message.startswith("specs/operators/test.yaml:")
    if hint:
        assert hint in (error.hint or "")
