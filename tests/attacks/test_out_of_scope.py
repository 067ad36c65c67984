"""One vendor signs for another's device."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("devices", [("neuron",), ("tr",), ("TRN",), ("trn2", "xtrn"), ()])
def test_a_device_out_of_scope_is_untrusted(bench, trusting, devices):
    bench.rejected("signer", status="UNTRUSTED", trust=trusting(bench.key, devices=devices))


def test_one_of_several_is_in_scope(bench, trusting):
    assert bench.verify(trust=trusting(bench.key, devices=("neuron", "trn"))).status == "VALID"


def test_a_report_that_claims_the_device_in_scope_has_to_be_of_it(bench, trusting):
    bench.restate(lambda document: document["predicate"]["onboard"].update(device="neuron"))
    bench.rejected("summary", trust=trusting(bench.key, devices=("neuron",)))
