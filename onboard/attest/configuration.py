"""What a result depends on, as descriptors: suite, policy, plan, profile and torch, each with its digest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from conformance.spec.plan import Plan
    from conformance.spec.suite import Suite


@dataclass(frozen=True, slots=True)
class Configuration:
    """One thing that the result depends on: `sha256` in lowercase hex, `notes` in words, `uri` where it has one."""

    name: str
    sha256: str
    notes: dict[str, str]
    uri: str | None = None


def of_suite(suite: Suite) -> Configuration:
    return Configuration("suite", suite.digest, {"name": suite.name, "version": suite.version})


def of_policy(suite: Suite) -> Configuration:
    """Describe the policy, a part of the suite that has a digest of its own: it decides what a level forgives."""
    return Configuration("policy", hashlib.sha256((suite.root / "policy.yaml").read_bytes()).hexdigest(), {})


def of_plan(plan: Plan) -> Configuration:
    return Configuration("plan", plan.digest, {"torch": plan.torch, "cases": str(plan.size)})


def of_profile(name: str, sha256: str) -> Configuration:
    return Configuration("profile", sha256, {"profile": name})


def of_torch(version: str, record: str) -> Configuration:
    """Describe torch by its version and the digest of its RECORD, the list of its files and their digests."""
    return Configuration("torch", record, {"digestOf": "RECORD"}, torch_uri(version))


def torch_uri(version: str) -> str:
    """Give the package URL of a torch version, its local part (`+cpu`) encoded."""
    return f"pkg:pypi/torch@{quote(version, safe='.')}"
