"""A simulated device passed off as hardware."""

from __future__ import annotations

from conformance.results import ENVIRONMENT_NAME

SIMULATED = {"torch": "2.13.0+cpu", "device": {"type": "trn", "count": 2, "simulated": True}, "seed": 0}


def test_a_statement_that_hides_it_is_noticed(unsigned):
    unsigned.run(environment=SIMULATED).sign()
    assert unsigned.verify().simulated is True
    unsigned.restate(lambda document: document["predicate"]["onboard"].update(simulated=False))
    # The standard result was lowered for the simulation, too.
    unsigned.rejected("verdict", "summary")


def test_a_report_that_hides_what_the_driver_said_is_noticed(unsigned):
    unsigned.forge(environment=SIMULATED, simulated=False)
    unsigned.run(environment=SIMULATED)
    unsigned.sign()
    unsigned.edit("report.json", lambda document: document.update(simulated=False))
    unsigned.restate(
        lambda document: (
            document["predicate"].update(result="PASSED") or document["predicate"]["onboard"].update(simulated=False)
        )
    )
    found = unsigned.rejected("summary")
    assert "the driver says that it is a simulation" in next(c.detail for c in found.checks if c.id == "summary")


def test_an_environment_that_does_not_name_the_device_is_noticed(unsigned):
    unsigned.run().sign()
    unsigned.edit(ENVIRONMENT_NAME, lambda document: document.pop("device"))
    unsigned.rejected("summary")
