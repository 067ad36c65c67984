from __future__ import annotations

import json

import pytest

from onboard.attest.strictjson import MalformedError, dump, member, parse, texts


def test_ordinary_documents_mean_what_the_standard_parser_says():
    document = b' {"a": [1, -2.5e3, true, null, "\\u00e9\\n{[", {"b": {}}], "\\ud83d\\ude00": 9007199254740993}\n'
    assert parse(document, "x") == json.loads(document)


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (b'{"result": "FAILED", "result": "PASSED"}', "'result' occurs twice"),
        (b'[{"a": {"k": 1, "k": 1}}]', "'k' occurs twice"),
        (b'{"a": 1, "\\u0061": 2}', "'a' occurs twice"),
        (b'{"error": NaN}', "NaN is not JSON"),
        (b"[Infinity]", "Infinity is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"[1e999]", "too large"),
        (b"[-1e999]", "too large"),
        (b"[" + b"9" * 5000 + b"]", "5000 digits"),
        (b"[" + b"9" * 20 + b"]", "20 digits"),
        (b"[0." + b"1" * 5000 + b"]", "5002 characters"),
        (b"[" * 100_000, "nested more than"),
        (b"[" * 100_000 + b"]" * 100_000, "nested more than"),
        (b'{"a":' * 100_000, "nested more than"),
        (b'["\xff"]', "not UTF-8"),
        (b'\xef\xbb\xbf{"a": 1}', "not JSON"),
        (b'["\\ud800"]', "not UTF-8"),
        (b'{"\\udc00": 1}', "not UTF-8"),
        (b"[1] [2]", "Extra data"),
        (b"", "not JSON"),
        (b"{'a': 1}", "not JSON"),
        (b'["a\nb"]', "not JSON"),
    ],
)
def test_documents_with_more_than_one_meaning_are_refused(document, complaint):
    with pytest.raises(MalformedError, match=complaint) as caught:
        parse(document, "the file")
    assert caught.value.message.startswith("the file: ")
    assert caught.value.exit_code == 1


def test_size_is_refused_before_parsing():
    with pytest.raises(MalformedError, match="101 bytes, more than the 100"):
        parse(b" " * 101, "x", max_bytes=100)
    assert parse(b"1" + b" " * 99, "x", max_bytes=100) == 1


def test_brackets_inside_strings_are_not_nesting():
    document = dump(["[{" * 1000, '\\"[[' * 1000])
    assert parse(document, "x", max_depth=1) == json.loads(document)


def test_depth_counts_levels_not_brackets():
    wide = b"[" + b",".join([b"[]"] * 1000) + b"]"
    assert len(parse(wide, "x", max_depth=2)) == 1000
    with pytest.raises(MalformedError, match="more than 1 level"):
        parse(wide, "x", max_depth=1)


def test_equal_values_are_written_as_equal_bytes():
    assert dump({"b": 1, "a": [1.5, "é"]}) == dump({"a": [1.5, "é"], "b": 1}) == b'{"a":[1.5,"\\u00e9"],"b":1}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump([float("nan")])


def test_member_checks_presence_and_kind():
    assert member({"a": 1}, "a", int, "x") == 1
    assert member({"a": True}, "a", bool, "x") is True
    for value, key, kind in [({}, "a", int), ({"a": "1"}, "a", int), ({"a": True}, "a", int), ([], "a", int)]:
        with pytest.raises(MalformedError):
            member(value, key, kind, "x")


def test_texts_are_strings_only():
    assert texts({"a": ["x", "y"]}, "a", "x") == ("x", "y")
    with pytest.raises(MalformedError, match="strings only"):
        texts({"a": ["x", 1]}, "a", "x")
