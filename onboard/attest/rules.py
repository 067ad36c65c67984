"""What verification checks, in its order: id, title, the status that a failure gives, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One check by name; `status` is what the report becomes when it fails."""

    id: str
    title: str
    status: str
    remedy: str


_AGAIN = "ask the vendor for the folder as `onboard conform --key` wrote it"
_TAMPERED = "don't use this report: it is not what was signed, or not what was measured"

FILES = Rule("files", "The folder holds the files of a report and nothing else", "INVALID", _AGAIN)
ENVELOPE = Rule("envelope", "The envelope is well formed and has exactly one signature", "INVALID", _AGAIN)
SIGNATURE = Rule(
    "signature",
    "A trusted key signed the statement",
    "INVALID",
    "check where the report comes from; the vendor's stanza belongs into the trust file",
)
STATEMENT = Rule("statement", "The statement is a test result that this version reads", "INVALID", _AGAIN)
SIGNER = Rule(
    "signer",
    "The signer is a vendor, in scope, and its key counts at this time",
    "UNTRUSTED",
    "ask who may sign for this device, then correct the trust file",
)
EVIDENCE = Rule("evidence", "Every file is the one that was signed for", "INVALID", _AGAIN)
SUITE = Rule(
    "suite",
    "It was measured with the suite that this verifier has",
    "INVALID",
    "verify with the release of torch-onboard that has this suite",
)
PLAN = Rule("plan", "The plan and the levels are those of the suite", "INVALID", _TAMPERED)
RESULTS = Rule("results", "The results are well formed", "INVALID", _AGAIN)
CASES = Rule("cases", "Every required case has exactly one result", "INVALID", _TAMPERED)
OUTCOMES = Rule("outcomes", "Every outcome follows from its error and bound", "INVALID", _TAMPERED)
VERDICT = Rule("verdict", "Counts, groups, levels and verdict follow from the results", "INVALID", _TAMPERED)
SUMMARY = Rule("summary", "The summary and the environment say what the statement says", "INVALID", _TAMPERED)
TIMES = Rule("times", "The times are in order", "INVALID", "check --at and the clock of this machine")
AGE = Rule("age", "The measurement is recent", "STALE", "ask the vendor to measure again")
TORCH = Rule("torch", "The torch is recent", "STALE", "ask the vendor to measure on a newer torch")
CURRENT = Rule("suite-current", "The suite is not withdrawn", "STALE", "measure again with a newer torch-onboard")

#: What is checked once there is a statement that a trusted key signed.
CONTENT = (EVIDENCE, SUITE, PLAN, RESULTS, CASES, OUTCOMES, VERDICT, SUMMARY, TIMES, AGE, TORCH, CURRENT)
