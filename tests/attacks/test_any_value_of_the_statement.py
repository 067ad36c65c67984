"""Every single value of a signed statement replaced by every hostile one: nothing crashes, nothing passes."""

from __future__ import annotations

import copy

import pytest

from onboard.attest.strictjson import dump

HOSTILE = (
    None,
    True,
    False,
    0,
    -1,
    2**63 - 1,
    1.5,
    1e308,
    "",
    "x",
    "\x00\x1b[31m",
    "9" * 10_000,
    [],
    [[]],
    {},
    {"": None},
)

#: What no verifier can know without the backend, the torch and the clock of the vendor: claims, and only claims.
CLAIMS = {
    ("subject", 0, "name"),
    ("subject", 0, "digest", "sha256"),
    ("predicate", "configuration", 4, "digest", "sha256"),
    ("predicate", "configuration", 4, "annotations"),
    ("predicate", "configuration", 4, "annotations", "digestOf"),
}


def paths(value, here=()):
    yield here
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths(child, (*here, key))


def replaced(document, path, value):
    if not path:
        return value
    changed = copy.deepcopy(document)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


def value_at(document, path):
    for key in path:
        document = document[key]
    return document


def test_no_value_but_the_listed_claims_can_be_changed(bench):
    document = bench.statement()
    accepted = set()
    for path in paths(document):
        for hostile in HOSTILE:
            before = value_at(document, path)
            if type(before) is type(hostile) and before == hostile:
                continue
            bench.seal(dump(replaced(document, path, hostile)))
            if bench.verify().status != "INVALID":
                accepted.add(path)
    assert accepted <= CLAIMS
    # The list is no longer than it has to be.
    assert accepted == CLAIMS - {
        ("subject", 0, "digest", "sha256"),
        ("predicate", "configuration", 4, "digest", "sha256"),
    }


@pytest.mark.parametrize("where", [("subject", 0), ("predicate", "configuration", 4)])
def test_a_digest_that_has_the_form_of_one_is_a_claim(bench, where):
    """Who holds the wheel compares it: a verifier without it can't."""
    bench.restate(lambda document: value_at(document, where)["digest"].update(sha256="0" * 64))
    assert bench.verify().status == "VALID"


def test_no_member_can_be_left_out(bench):
    document = bench.statement()
    for path in paths(document):
        if path and isinstance(path[-1], str):
            changed = copy.deepcopy(document)
            del value_at(changed, path[:-1])[path[-1]]
            bench.seal(dump(changed))
            assert bench.verify().status == "INVALID" or path in CLAIMS, path
