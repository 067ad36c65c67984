"""The supervisor: hands groups to workers, pins every crash and hang to its case, and loses nothing."""

from __future__ import annotations

import random
import selectors
import signal
from collections import deque
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from conformance.errors import EnvironmentFailure
from conformance.results import Row, as_row
from conformance.run import slot as slots
from conformance.run import wire
from conformance.run.listener import Running
from conformance.run.pool import Pool, Worker, describe_exit
from conformance.run.worker import SICK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.run.journal import Journal
    from conformance.run.listener import Listener
    from conformance.spec.plan import Group

TICK = 0.05
STACK_DUMP_SECONDS = 1.0
MAX_FAILED_STARTS = 3


@dataclass(frozen=True, slots=True)
class Limits:
    """Deadlines in seconds: of a case, of what a first call may take beyond it, of a worker's start.

    First calls are the first case on a worker or in a group, and every case of a check that `compiling` names by glob.
    """

    case: float
    first_call: float
    compiling: tuple[str, ...] = ()
    start: float = 180.0


@dataclass(slots=True)
class Supervisor:
    """Runs groups on `count` workers; `rows` maps case ids to results, one for each case at the end.

    Rows that are there before it runs are those of an earlier run that broke off, with its `environment`: their cases
    are not run again. With `repeat` every case is run so often, the groups in another order each time: what does not
    end alike is `flaky`.
    """

    pool: Pool
    limits: Limits
    journal: Journal
    listener: Listener
    count: int
    rows: dict[str, Row] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    repeat: int = 1
    _turn: int = 1
    _queue: deque[tuple[Group, set[int]]] = field(default_factory=deque)
    _workers: dict[int, Worker] = field(default_factory=dict)
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _spared: set[str] = field(default_factory=set)
    _failed_starts: int = 0
    _met: bool = False
    _planned: int = 0

    def run(self, groups: Iterable[Group]) -> None:
        """Run everything; raises EnvironmentFailure when the device cannot be brought up at all.

        On KeyboardInterrupt the rows so far stand; what is missing is the caller's to mark.
        """
        todo = [(group, self._done(group)) for group in groups]
        self._planned = sum(len(group.names) for group, _ in todo)
        self._queue = deque((group, done) for group, done in todo if len(done) < len(group.names))
        if self.environment:
            self.listener.started(self._planned, self.environment)
            for row in self.rows.values():
                self.listener.row(row)
        self._selector.register(self.pool.socket, selectors.EVENT_READ, None)
        try:
            self._work()
            for turn in range(2, self.repeat + 1):
                self._turn = turn
                mixed = random.Random(turn).sample(todo, len(todo))  # noqa: S311 - no secret
                self._queue = deque((group, set()) for group, _ in mixed)
                self._work()
        finally:
            for worker in list(self._workers.values()):
                worker.kill(signal.SIGKILL)
                self._forget(worker)
            self._selector.close()
            self.journal.sync()

    def _work(self) -> None:
        """Run what is in the queue, to its end."""
        if self._queue and not self._workers:
            self._spawn()
        while self._queue or any(w.group for w in self._workers.values()):
            self._step()

    def _done(self, group: Group) -> set[int]:
        """The numbers of the cases that have a row already."""
        return {number for number, case in enumerate(group.cases()) if case in self.rows}

    def _step(self) -> None:
        for key, _ in self._selector.select(TICK):
            worker: Worker | None = key.data
            if worker is None:
                if not self.pool.receive(self._workers):
                    raise EnvironmentFailure("the fork server has ended", hint="go on with --resume")
            else:
                self._hear(worker)
        for worker in list(self._workers.values()):
            if worker.hung_up and worker.exit_code is not None:
                self._bury(worker)
            else:
                self._watch(worker)
                if worker.ready and worker.group is None and not worker.hung_up:
                    self._assign(worker)
        while self.environment and self._queue and len(self._workers) < self.count:
            self._spawn()
        self.listener.tick([_running(w, w.group) for w in self._workers.values() if w.group])

    def _spawn(self) -> None:
        worker = self.pool.spawn()
        self._workers[worker.number] = worker
        self._selector.register(worker.channel, selectors.EVENT_READ, worker)

    def _forget(self, worker: Worker) -> None:
        if not worker.hung_up:
            self._selector.unregister(worker.channel)
        worker.close()
        del self._workers[worker.number]

    def _hear(self, worker: Worker) -> None:
        open_ = worker.reader.receive()
        for message in worker.reader.messages():
            if "rows" in message:
                self._record(worker, message)
            elif "finished" in message:
                self._finish(worker, set(message["finished"]), "the check made no such case")
            elif "broken" in message:
                self._finish(worker, worker.done, message["broken"], outcome="error")
            elif "ready" in message:
                self._made_ready(worker, message["ready"])
            elif "failed" in message:
                self._start_failed(message["failed"], message["traceback"])
        if not open_:
            worker.hung_up = True
            self._selector.unregister(worker.channel)
        elif worker.ready and worker.group is None:
            self._assign(worker)  # at once, not at the next tick

    def _made_ready(self, worker: Worker, environment: dict[str, Any]) -> None:
        worker.ready = True
        self._failed_starts = 0
        self._check(environment)
        self._met = True

    def _check(self, environment: dict[str, Any]) -> None:
        """Tell of the environment that the first worker has met, which has to be that of the run that goes on."""
        if not self.environment:
            self.environment = environment
            self.journal.environment(environment)
            self.listener.started(self._planned, environment)
        elif not self._met and environment != self.environment:  # a run that goes on, on its first worker
            other = sorted(name for name in {*environment, *self.environment}
                           if environment.get(name) != self.environment.get(name))  # fmt: skip
            raise EnvironmentFailure(
                f"a worker has another {other[0]} than the run began with: {environment.get(other[0])!r} in place of "
                f"{self.environment.get(other[0])!r}",
                hint="one run is of one machine and one version of everything: measure again without --resume",
            )

    def _start_failed(self, problem: str, trace: str) -> None:
        self._failed_starts += 1
        if not self.environment or self._failed_starts >= MAX_FAILED_STARTS:
            error = EnvironmentFailure(f"the device cannot be brought up: {problem}", hint=_last_frame(trace))
            error.add_note(trace) if hasattr(error, "add_note") else None
            raise error

    def _assign(self, worker: Worker) -> None:
        if not self._queue:
            return
        group, done = self._next()
        worker.group, worker.done = group, done
        task = {
            "check": group.check, "operator": group.operator, "dtype": group.dtype,
            "names": group.names, "done": sorted(done), "scripted": self._scripted(group, done),
        }  # fmt: skip
        try:
            wire.send(worker.channel, task)
        except OSError:  # it died between two groups: its end is about to be reported
            worker.group = None
            self._queue.appendleft((group, done))

    def _scripted(self, group: Group, done: set[int]) -> list[int]:
        """The done cases that have a reproducer: only a smaller one gets another."""
        return sorted(n for n in done if self.rows[f"{group.id}/{group.names[n]}"].repro is not None)

    def _next(self) -> tuple[Group, set[int]]:
        """The first group in the queue; while a compiler is at work elsewhere, the first that needs none.

        What a compiler sets up in a process costs as much as many cases: one worker after the other would pay for it,
        and both would wait for the same locks of its caches.
        """
        if any(self._compiles(worker.group) for worker in self._workers.values()):
            for place, waiting in enumerate(self._queue):
                if not self._compiles(waiting[0]):
                    del self._queue[place]
                    return waiting
        return self._queue.popleft()

    def _record(self, worker: Worker, message: dict[str, Any]) -> None:
        worker.fresh = False
        worker.sick = message["sick"]
        for number, fields in message["rows"]:
            worker.done.add(number)
            row = as_row(fields)
            if worker.sick and number == message["rows"][-1][0]:
                problem = (
                    f"afterwards the device no longer adds 1 and 1; the case itself said: {row.outcome}: {row.message}"
                )
                row = replace(row, outcome="crash", error=None, bound=None, rung=None, message=problem)
            self._keep(row)

    def _keep(self, row: Row) -> None:
        if self._turn > 1:
            before = self.rows[row.case]
            if before.outcome in (row.outcome, "flaky"):
                return
            said = f"{before.outcome} at first, {row.outcome} in turn {self._turn} of {self.repeat}"
            problem = next((one.message for one in (row, before) if one.message), "")
            flaky = replace(before, outcome="flaky", error=None, bound=None, rung=None, message=f"{said}: {problem}")
            self.rows[row.case] = flaky
            self.journal.append(flaky)
            return
        self.rows[row.case] = row
        self.journal.append(row)
        self.listener.row(row)

    def _finish(self, worker: Worker, done: set[int], problem: str, *, outcome: str = "missing") -> None:
        """Close the group at hand: every planned case that did not come back gets its outcome here."""
        group = worker.group
        if group is None:
            return
        for number in range(len(group.names)):
            if number not in done:
                self._keep(_row(group, number, outcome, problem))
        worker.group = None

    def _watch(self, worker: Worker) -> None:
        """Kill a worker whose case is over its deadline, after it was asked for a stack dump."""
        number, seconds = worker.slot.read()
        if number == slots.IDLE:
            return
        if number == slots.STARTING:
            limit = self.limits.start
        else:
            preparing = slots.prepared(number) is not None
            first = preparing or worker.fresh or not worker.done or self._compiles(worker.group)
            limit = self.limits.case + (self.limits.first_call if first else 0.0)
        if seconds <= limit:
            return
        if worker.killed_for is None:
            worker.killed_for = f"no result within {limit:g} s"
            worker.kill(signal.SIGABRT)
        elif seconds > limit + STACK_DUMP_SECONDS:
            worker.kill(signal.SIGKILL)

    def _is_spared(self, worker: Worker, group: Group, number: int) -> bool:
        """Whether a case gets a second worker: its first was killed from outside, which need not be its fault.

        The kernel kills what takes too much memory, and takes the largest process: the second time it is the case's.
        """
        case = f"{group.id}/{group.names[number]}"
        if worker.exit_code != -signal.SIGKILL or worker.killed_for is not None or case in self._spared:
            return False
        self._spared.add(case)
        return True

    def _compiles(self, group: Group | None) -> bool:
        return group is not None and any(fnmatchcase(group.check, glob) for glob in self.limits.compiling)

    def _bury(self, worker: Worker) -> None:
        """A worker has ended: give the running case its outcome and the rest of its group to another worker."""
        how = describe_exit(worker.exit_code)
        if not worker.ready:
            problem = worker.killed_for or how
            if worker.exit_code != 0:  # exit 0 follows a failure that was told in words
                self._start_failed(f"the process ended while the backend was loading ({problem})", worker.log_tail())
        elif worker.group is not None:
            group = worker.group
            number = _blamed(worker, group)
            if number is not None and self._is_spared(worker, group, number):
                number = None
            if number is not None and number not in worker.done:
                outcome = "timeout" if worker.killed_for else "crash"
                message = worker.killed_for or how
                tail = "\n".join(worker.log_tail().splitlines()[-12:])
                self._keep(_row(group, number, outcome, f"{message}\n{tail}".strip()))
                worker.done.add(number)
            worker.group = None
            if len(worker.done) < len(group.names):
                self._queue.appendleft((group, worker.done))
        self._forget(worker)
        if self._queue and len(self._workers) < self.count:
            self._spawn()


def _running(worker: Worker, group: Group) -> Running:
    number, seconds = worker.slot.read()
    return Running(worker.number, group.id, group.names[number] if 0 <= number < len(group.names) else None, seconds)


def _blamed(worker: Worker, group: Group) -> int | None:
    """The case that a dead worker was in: running it, making its inputs, or about to begin with the group.

    None where all cases had ended, and where a worker ended itself because of the device: its last row says so.
    """
    if worker.exit_code == SICK and worker.sick:
        return None
    number, _ = worker.slot.read()
    prepared = slots.prepared(number)
    if prepared is not None:
        return prepared if prepared < len(group.names) else None
    return number if number >= 0 else next((n for n in range(len(group.names)) if n not in worker.done), None)


def _row(group: Group, number: int, outcome: str, message: str) -> Row:
    """A result that the supervisor gives because the worker could not."""
    case = f"{group.id}/{group.names[number]}"
    parts = group.names[number].split("/")
    layout, variant = (parts[1], parts[2]) if len(parts) == 3 else (None, None)
    dtype = None if group.dtype == "any" else group.dtype
    return Row(
        case, group.check, group.operator, None, dtype, layout, variant, outcome, None, None, None, None, 0.0, message
    )


def _last_frame(trace: str) -> str | None:
    """The last `File ...` line of a traceback: where a backend's import went wrong."""
    frames = [line.strip() for line in trace.splitlines() if line.strip().startswith("File ")]
    return f"at {frames[-1]}" if frames else None
