"""What a model needs of a device, from options to report. Never imports torch: the model runs in a process apart."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.device.resolve import resolve_profile
from conformance.errors import EnvironmentFailure, UsageError
from conformance.needs.groups import concerned
from conformance.needs.helper import Helper
from conformance.needs.model import Target, parse_target
from conformance.needs.report import BROKEN, CallResult, Report, needs_of, tasks_of
from conformance.run.planning import installed_torch
from conformance.spec.suite import load_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.device.profile import Profile
    from conformance.spec.plan import Plan
    from conformance.spec.suite import Suite

#: Seconds for the whole model to run once, or to be compiled; times the profile's timing factor on the device.
MODEL_SECONDS = 600.0
_NOT_RUN = {"answer": "not measured", "message": "", "error": None, "bound": None, "rung": None}


@dataclass(frozen=True, slots=True)
class NeedsOptions:
    """What a user may ask: the model as `MODEL.py:build`, the device, and whether it is compiled as well."""

    model: str
    device: str
    compiled: bool = True
    profile: Path | None = None
    import_module: str | None = None
    suite: Path | None = None


def find_needs(options: NeedsOptions, note: Callable[[str], None]) -> Report:
    """Run the model, make its calls on the device one by one, and report; `note` is told of steps that take long.

    Raises UsageError where the model is none, or raises on the host, and EnvironmentFailure where there is no device.
    """
    began = time.monotonic()
    with _survey(options, note) as survey:
        return survey.report(began, compiled=options.compiled)


def groups_of(options: NeedsOptions, plan: Plan, note: Callable[[str], None]) -> frozenset[tuple[str, str]]:
    """The groups (operator, dtype) of the plan that the eager model is concerned with; compiled it is not run.

    Both what the host calls and what the device would call count. `note` is told of what no group reaches. Raises as
    `find_needs` does.
    """
    began = time.monotonic()
    with _survey(options, note) as survey:
        called = survey.overloads()
        dtypes = frozenset[str]().union(*called.values())
        operators = {(g.operator, g.dtype) for g in plan.groups if g.check.startswith("operators.")}
        reached = survey.reached(sorted(group for group in operators if group[1] in dtypes))
    found, unreached = concerned(called, reached)
    seconds = time.monotonic() - began
    note(f"the model calls {len(called)} overloads: {len(found)} groups of the suite, found in {seconds:.1f} s")
    if unreached:
        note(f"no group reaches {len(unreached)} of them: {', '.join(unreached)}")
    return found


@contextlib.contextmanager
def _survey(options: NeedsOptions, note: Callable[[str], None]) -> Iterator[Survey]:
    target = parse_target(options.model)
    suite = load_suite(options.suite)
    profile = resolve_profile(
        options.device, suite_root=suite.root, profile_file=options.profile, import_module=options.import_module
    )
    installed_torch()
    scratch = Path(tempfile.mkdtemp(prefix="onboard-needs-"))
    survey = Survey(target, suite, profile, options.import_module, scratch, note)
    try:
        yield survey
    finally:
        survey.close()
        shutil.rmtree(scratch, ignore_errors=True)


class Survey:
    """The steps of one survey in their order, and what they have found so far."""

    def __init__(
        self,
        target: Target,
        suite: Suite,
        profile: Profile,
        import_module: str | None,
        scratch: Path,
        note: Callable[[str], None],
    ) -> None:
        folder = scratch / "calls"
        folder.mkdir()
        self._target, self._suite, self._profile, self._note = target, suite, profile, note
        self.helper = Helper(
            {
                "file": str(target.file), "function": target.function, "folder": str(folder), "suite": str(suite.root),
                "profile": asdict(profile), "import": import_module,
            },
            scratch / "output.txt",
        )  # fmt: skip
        self._seconds = MODEL_SECONDS * profile.timing
        self._seen: dict[str, dict[str, Any]] = {}
        self._counts: dict[str, dict[str, int]] = {}
        self._failed: dict[str, str] = {}
        self._notes: list[str] = []
        self._listened_as = profile.device

    def close(self) -> None:
        self.helper.close()

    def report(self, began: float, *, compiled: bool) -> Report:
        """All steps, and what they amount to."""
        gradients = self._host()
        brought = self._device()
        self._listen()
        graphs, breaks = self._compile() if compiled else (None, ())
        if not compiled:
            self._notes.append("not compiled: --no-compile")
        names = sorted({seen["overload"] for seen in self._seen.values()})
        table = self._require("table", self._seconds, overloads=names)
        results = self._results()
        needs = needs_of(results, table["table"])
        whole = self._whole(results)
        return Report(
            model=f"{self._target.file.name}:{self._target.function}",
            profile=self._profile.name,
            device=self._profile.device,
            simulated=self._profile.simulated or bool(brought["device"].get("simulated")),
            torch=brought["torch"],
            key=table["key"],
            listened_as=self._listened_as,
            needs=needs,
            tasks=tasks_of(results, needs),
            calls={phase: sum(counts.values()) for phase, counts in self._counts.items()},
            gradients=gradients,
            failed=self._failed,
            graphs=graphs,
            breaks=breaks,
            whole=whole,
            notes=tuple(self._notes),
            seconds=time.monotonic() - began,
        )

    def overloads(self) -> dict[str, frozenset[str]]:
        """The overloads that the host's model and the device's call, with the dtypes of their tensors."""
        self._host()
        self._take(self._require("listen", MODEL_SECONDS, keep=False, **{"as": "host"}))
        if self._profile.device != "cpu":
            self._device()
            self._listen(keep=False)
        found: dict[str, set[str]] = {}
        for seen in self._seen.values():
            found.setdefault(seen["overload"], set()).update(seen["dtypes"])
        return {name: frozenset(dtypes) for name, dtypes in found.items()}

    def reached(self, groups: list[tuple[str, str]]) -> dict[tuple[str, str], frozenset[str]]:
        """For each group (operator, dtype) of the suite, the overloads that the host calls for it."""
        reply = self._require("reach", MODEL_SECONDS, groups=[list(group) for group in groups])
        return {(operator, dtype): frozenset(found) for operator, dtype, found in reply["reached"]}

    def _host(self) -> bool:
        reply = self.helper.ask("host", MODEL_SECONDS)
        problem = _problem(reply)
        if problem:
            raise UsageError(f"the model does not come back from the host: {problem}", hint=self._last())
        return bool(reply["gradients"])

    def _device(self) -> dict[str, Any]:
        # Autograd counts the devices at the first backward of a process, which the host has had.
        self.helper.close()
        reply = self.helper.ask("device", self._seconds)
        problem = _problem(reply)
        if problem:
            raise EnvironmentFailure(f"no device {self._profile.name!r}: its backend does not load, {problem}",
                                     hint=self._last())  # fmt: skip
        return reply

    def _listen(self, *, keep: bool = True) -> None:
        """What the model calls as the device would; where that can't be followed, as the host does, and it is said."""
        reply = self.helper.ask("listen", self._seconds, keep=keep, **{"as": "device"})
        problem = _problem(reply) or reply.get("failed")
        if problem is None:
            self._take(reply)
            return
        self._listened_as = "cpu"
        self._notes.append(
            f"the calls of {self._profile.device} could not be followed ({problem}): listed are those of the host"
        )
        stuck = reply.get("stuck")
        again = self._require("listen", MODEL_SECONDS, keep=keep, **{"as": "host"})
        self._take(again)
        for key, seen in reply.get("seen", {}).items() if stuck else ():
            if seen["overload"] == stuck and key not in self._seen:
                self._take({"seen": {key: {**seen, "unkept": "the host has no kernel for it"}},
                            "counts": {phase: {key: counts[key]} for phase, counts in reply["counts"].items()
                                       if key in counts}})  # fmt: skip

    def _compile(self) -> tuple[int | None, tuple[str, ...]]:
        reply = self.helper.ask("compile", self._seconds)
        problem = _problem(reply) or reply.get("failed")
        if "seen" in reply:
            self._take(reply)
        if problem:
            self._failed["compiled"] = problem
            return None, ()
        return reply["graphs"], tuple(reply["breaks"])

    def _results(self) -> list[CallResult]:
        """Each distinct call made on the device; one that kills its process costs itself alone."""
        seconds = (self._suite.first_call_seconds + self._suite.case_seconds) * self._profile.timing
        self._note(f"{len(self._seen)} distinct calls are made on {self._profile.device}")
        results = []
        for key, seen in self._seen.items():
            common = {
                "overload": seen["overload"], "text": seen["text"], "dtypes": tuple(seen["dtypes"]),
                "calls": {phase: counts[key] for phase, counts in self._counts.items() if key in counts},
            }  # fmt: skip
            if seen["unkept"]:
                results.append(CallResult(**common, answer="not measured", message=seen["unkept"], measured=False))
                continue
            reply = self.helper.ask("call", seconds, key=key)
            if "died" in reply:
                found: dict[str, Any] = {"answer": "crash", "message": f"the process died: {reply['died']}"}
            elif "late" in reply:
                found = {"answer": "timeout", "message": f"no answer within {reply['late']:g} seconds"}
            else:
                found = {**reply, "blame": tuple(reply["blame"])}
            results.append(CallResult(**common, **found))
        return results

    def _whole(self, results: list[CallResult]) -> dict[str, Any]:
        """The model as a whole on the device, where nothing that it calls eagerly is known to stop it."""
        eager = [r for r in results if r.calls.get("forward") or r.calls.get("backward")]
        stops = {r.overload for r in eager if r.execution == "absent" or r.answer in BROKEN - {"wrong"}}
        random = {r.overload for r in eager if r.rung == "random" or r.message.startswith("its values are random")}
        if stops:
            return {**_NOT_RUN, "message": f"it can't run: {', '.join(sorted(stops))}"}
        if random:
            return {**_NOT_RUN, "message": f"its values are random: {', '.join(sorted(random))}"}
        self._note(f"the whole model runs on {self._profile.device}")
        reply = self.helper.ask("whole", self._seconds)
        if "died" in reply:
            return {**_NOT_RUN, "answer": "crash", "message": f"the process died: {reply['died']}"}
        if "late" in reply:
            return {**_NOT_RUN, "answer": "timeout", "message": f"no answer within {reply['late']:g} seconds"}
        return {name: reply[name] for name in _NOT_RUN}

    def _take(self, reply: dict[str, Any]) -> None:
        self._seen.update(reply["seen"])
        for phase, counts in reply["counts"].items():
            self._counts.setdefault(phase, {}).update(counts)

    def _require(self, step: str, seconds: float, **fields: Any) -> dict[str, Any]:
        """A step that a model which has run on the host does not fail but by the machine's fault."""
        reply = self.helper.ask(step, seconds, **fields)
        problem = _problem(reply) or reply.get("failed")
        if problem:
            raise UsageError(f"the model runs on the host, but not a second time: {problem}", hint=self._last())
        return reply

    def _last(self) -> str | None:
        lines = self.helper.output().splitlines()
        # Python's own handler of signals says where it was: the innermost line of code comes first.
        where = [below for above, below in itertools.pairwise(lines) if above.endswith("(most recent call first):")]
        return f"the last that it said: {(where or lines)[-1].strip()}" if lines else None


def _problem(reply: dict[str, Any]) -> str | None:
    if "died" in reply:
        return f"its process died: {reply['died']}"
    if "late" in reply:
        return f"no answer within {reply['late']:g} seconds"
    return None
