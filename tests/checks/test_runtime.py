"""The host passes what applies to it, and each probe notices the fault that it is there for."""

import ast
import copy
import inspect
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from conformance.checks import runtime
from conformance.checks.contract import Context
from conformance.checks.runtime import accelerator, copies, device, errors, kit, mandatory, rng, serialization
from conformance.checks.runtime.kit import Area, NotApplicableError, Probe, expect_bits, perform, script
from conformance.device.profile import Profile, default_profile

CPU = torch.device("cpu")


def context(**profile):
    return Context(CPU, Profile("cpu", "cpu", **profile), None, 0)


def judged(check, subject, name):
    for case in check.cases(context(), subject, "any"):
        if case.name == name:
            return case.run()
    raise LookupError(name)


ALL = [
    (check, subject, name)
    for check in runtime.CHECKS
    for subject, dtype in check.groups(None)
    for name in check.names(None, subject, dtype)
]
#: What the host has no part in; everything else applies to it.
NOT_ON_CPU = {
    "runtime.accelerator": None,
    "runtime.autoload": None,
    "runtime.device": {
        "between", "current", "further", "operators-leave-current", "restores", "restores-after-error", "select",
    },
    "runtime.errors": {"current-beyond", "mixed-devices", ("device", "index-beyond")},
    "runtime.mandatory": {"copy", "resize", ("_copy_from", "kernel"), ("_copy_from_and_resize", "kernel")},
}  # fmt: skip


@pytest.mark.parametrize(("check", "subject", "name"), ALL, ids=lambda v: v if isinstance(v, str) else v.id)
def test_the_host_passes_what_applies_to_it(check, subject, name):
    found = judged(check, subject, name)
    excused = NOT_ON_CPU.get(check.id, set())
    if excused is None or name in excused or (subject, name) in excused:
        assert found.outcome == "unsupported"
        assert found.message
    else:
        assert (found.outcome, found.error, found.bound, found.rung) == ("pass", 0.0, 0.0, "exact"), found.message


def test_the_order_of_cases_is_that_of_names():
    for check in runtime.CHECKS:
        for subject, dtype in check.groups(None):
            assert [c.name for c in check.cases(context(), subject, dtype)] == check.names(None, subject, dtype)


REAL_TO, REAL_CPU, REAL_COPY, REAL_CLONE = (getattr(torch.Tensor, n) for n in ("to", "cpu", "copy_", "clone"))
REAL_EMPTY = torch.empty
REAL_ALLOCATED = [0]


def method(name, function):
    return lambda patch: patch.setattr(torch.Tensor, name, function)


def operator(name, function):
    return lambda patch: patch.setattr(torch.ops.aten, name, function)


def without_offset(tensor, *arguments, **options):
    return REAL_TO(tensor.as_strided(tensor.shape, tensor.stride(), 0), *arguments, **options)


def as_if_dense(tensor, *arguments, **options):
    return REAL_TO(tensor.as_strided(tensor.shape, torch.empty(tensor.shape).stride()), *arguments, **options)


def quiet_nans(tensor):
    found = REAL_CLONE(tensor)
    if found.is_floating_point():
        found[found.isnan()] = float("nan")
    return found


def all_but_the_last(tensor, source, *arguments, **options):
    before = tensor.flatten()[-1:].clone()
    REAL_COPY(tensor, source, *arguments, **options)
    if tensor.numel() > 100:
        tensor.view(-1)[-1:] = before
    return tensor


def one_too_many(tensor, source, *arguments, **options):
    REAL_COPY(tensor, source, *arguments, **options)
    end = tensor.storage_offset() + sum((s - 1) * t for s, t in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    if tensor.numel() and end * tensor.element_size() < tensor.untyped_storage().nbytes():
        REAL_COPY(tensor.as_strided((1,), (1,), end), torch.full((1,), 99.0))
    return tensor


def first_row_only(tensor, source, *arguments, **options):
    if tensor.dim() == 2 and source.dim() == 1:
        return REAL_COPY(tensor[0], source)
    return REAL_COPY(tensor, source, *arguments, **options)


def truncating(tensor, *arguments, **options):
    if torch.bfloat16 in arguments and tensor.dtype is torch.float32:
        return (tensor.view(torch.int32) >> 16).to(torch.int16).view(torch.bfloat16)
    return REAL_TO(tensor, *arguments, **options)


def through_float32(tensor):
    return (
        int(torch.tensor(float(tensor.item()), dtype=torch.float32)) if tensor.dtype is torch.int64 else tensor.item()
    )


def same_numbers(patch):
    patch.setattr(torch, "rand", lambda *size, **_: torch.full(size, 0.5) + torch.arange(size[0]) * 1e-9)


def deaf_to_seeds(patch):
    patch.setattr(torch, "manual_seed", lambda _: None)


def ignore_generator(patch):
    real = torch.rand

    def rand(*size, device, generator=None):
        return real(*size, device=device)

    patch.setattr(torch, "rand", rand)


COPY_FAULTS = [
    ("layout", "offset-to-device", method("to", without_offset), "offset, to-device"),
    ("layout", "transposed-to-device", method("to", as_if_dense), "transposed, to-device"),
    ("layout", "stepped-within", method("clone", lambda t, **_: REAL_CLONE(t) * 1.5), "elements differ"),
    ("bits", "float32", method("cpu", quiet_nans), "bit patterns to the device and back"),
    ("round-trip", "float32", method("copy_", all_but_the_last), "1 of 257 elements differ, the first at 256"),
    ("target", "slice-within", method("copy_", one_too_many), "after a copy into its slice"),
    ("target", "column-to-device", method("copy_", one_too_many), "after a copy into its column"),
    ("memory", "broadcast-within", method("copy_", first_row_only), "a row copied into every row"),
    ("memory", "independent", method("to", lambda t, *_, **__: t), "a copy after its source was written"),
    ("convert", "float32-bfloat16-within", method("to", truncating), "float32 to torch.bfloat16"),
    ("memory", "onto-itself", method("copy_", lambda t, _: t.zero_()), "onto itself"),
]
MANDATORY_FAULTS = [
    ("as_strided", "window", operator("as_strided", lambda t, size, stride, offset: t.as_strided(size, stride)),
     "storage offset is 0"),
    ("as_strided", "shares", operator("as_strided", lambda t, *a: t.as_strided(*a).clone()), "the base after its view"),
    ("view", "shape", operator("view", lambda t, s: t.view(s).clone()), "the base after its view"),
    ("view", "refuses", operator("view", torch.Tensor.reshape), "nothing was raised"),
    ("view", "strided", operator("view", lambda t, s: t.reshape(s).contiguous()), "the strides are"),
    ("_reshape_alias", "alias", operator("_reshape_alias", lambda t, s, _: t.reshape(s).clone()), "the base after"),
    ("resize_", "grows", operator("resize_", lambda t, s: t.resize_(s).zero_()), "before the tensor grew"),
    ("resize_", "shrinks", operator("resize_", lambda t, s: t.resize_(s).zero_()), "after it shrank"),
    ("_local_scalar_dense", "value-int64", operator("_local_scalar_dense", through_float32), "9007199254740993 is due"),
    ("_local_scalar_dense", "offset", operator("_local_scalar_dense", lambda t: t.as_strided((), (), 0).item()),
     "1.0 where 3.0 is due"),
    ("empty_strided", "strides", operator("empty_strided", lambda s, _, **k: torch.empty(s, **k)), "the strides are"),
    ("set_.source_Tensor", "shares",
     operator("set_", SimpleNamespace(source_Tensor=lambda t, s: t.set_(s.clone()))), "the storage offset is 0"),
    ("set_.source_Storage", "whole",
     operator("set_", SimpleNamespace(source_Storage=lambda t, s: t.set_(s, 0, (2,)))), "the shape is (2,)"),
    ("set_.source_Storage_storage_offset", "part",
     operator("set_", SimpleNamespace(source_Storage_storage_offset=lambda t, s, o, *a: t.set_(s, 0, *a))),
     "the storage offset is 0"),
    ("empty.memory_format", "channels-last",
     operator("empty", SimpleNamespace(memory_format=lambda s, memory_format=None, **k: torch.empty(s, **k))),
     "channels_last strides"),
    ("empty.memory_format", "apart",
     operator("empty", SimpleNamespace(memory_format=lambda _, **__: SHARED)), "after another was made"),
    ("empty.memory_format", "shape",
     operator("empty", SimpleNamespace(memory_format=lambda s, dtype=None, **k: torch.empty(s, **k))), "the dtype"),
]  # fmt: skip
SHARED = torch.zeros(4)
RNG_FAULTS = [
    ("seed", "same", deaf_to_seeds, "after the same torch.manual_seed"),
    ("seed", "same", same_numbers, "two draws after one seed are the same"),
    ("seed", "another", same_numbers, "256 of 256 draws are the same"),
    ("seed", "range", lambda p: p.setattr(torch, "rand", lambda n, **_: torch.randn(n)), "where [0, 1) is due"),
    ("seed", "range", lambda p: p.setattr(torch, "rand", lambda n, **_: torch.full((n,), 0.25)), "the mean of 4096"),
    ("state", "round-trip", lambda p: p.setattr(torch, "set_rng_state", lambda _: None), "after set_rng_state"),
    ("state", "copy", lambda p: p.setattr(torch, "get_rng_state", lambda k=[]: live_state(k)), "taken before a draw"),
    ("generator", "own", ignore_generator, "generator seeded again"),
    ("generator", "apart", ignore_generator, "after a draw from another generator"),
]  # fmt: skip


def live_state(kept):
    """A state that is a view of the generator, as a backend that returns its own memory would give."""
    kept.append(torch.zeros(4, dtype=torch.uint8))
    real, state = torch.rand, kept[-1]

    def rand(*arguments, **options):
        state.add_(1)
        torch.rand = real
        return real(*arguments, **options)

    torch.rand = rand
    return state


SERIALIZATION_FAULTS = [
    ("copy", "deepcopy", lambda p: p.setattr(copy, "deepcopy", lambda t: t), "after its source was written"),
    ("save", "own", lambda p: corrupt_load(p, lambda t: torch.nan_to_num(t, nan=0.0)), "saved and loaded, own"),
    ("save", "views", lambda p: corrupt_load(p, torch.clone), "the strides are"),
    ("save", "parameters", lambda p: corrupt_load(p, lambda t: t + 1), "of a layer that was saved"),
]


def corrupt_load(patch, change):
    real = torch.load

    def load(*arguments, **options):
        found = real(*arguments, **options)
        if isinstance(found, dict):
            return {name: change(value) for name, value in found.items()}
        return [change(value) for value in found]

    patch.setattr(torch, "load", load)


ERROR_FAULTS = [
    ("memory", "negative-size", lambda p: p.setattr(torch, "empty", lambda *_, **__: None), "nothing was raised"),
    ("memory", "too-large", lambda p: p.setattr(torch, "empty", lambda *_, **__: None), "nothing was raised"),
    ("tensor", "copy-shape", method("copy_", lambda t, s: t.fill_(1)), "nothing was raised"),
    ("tensor", "index-beyond", method("__getitem__", lambda t, i: t), "nothing was raised"),
    ("tensor", "scalar-of-many", method("item", lambda t: 0.0), "nothing was raised"),
    ("tensor", "bad-view", method("view", lambda t, *s: t), "nothing was raised"),
    ("tensor", "window-beyond", method("as_strided", lambda t, *s: t), "nothing was raised"),
    ("tensor", "mixed-dtypes", lambda p: p.setattr(torch, "mm", lambda a, b: a), "nothing was raised"),
    ("device", "no-such-index", method("to", lambda t, d: t), "nothing was raised"),
    ("memory", "negative-size", method("to", lambda t, _: t + 1), "a clone after the error"),
]


class Fake:
    """A device's module with a current device; the host stands for its tensors."""

    def __init__(self, count=2, current=0, available=True):
        self.count, self.current, self.available = count, current, available

    def is_available(self):
        return self.available

    def device_count(self):
        return self.count

    def current_device(self):
        return self.current

    def set_device(self, index):
        self.current = index

    def synchronize(self):
        pass


class Guard:
    """`torch.accelerator.device_index`, right or with a fault."""

    def __init__(self, module, restores=True, sets=True):
        self.module, self.restores, self.sets = module, restores, sets

    def __call__(self, index):
        self.wanted = index
        return self

    def __enter__(self):
        self.before = self.module.current
        if self.sets:
            self.module.current = self.wanted

    def __exit__(self, *_):
        if self.restores:
            self.module.current = self.before


def device_fault(make=Fake, guard=Guard):
    def patch(monkeypatch):
        module = make()
        for where in (device, accelerator):
            monkeypatch.setattr(where, "not_on_cpu", lambda *_: None)
        monkeypatch.setattr(torch, "get_device_module", lambda _: module)
        monkeypatch.setattr(torch.accelerator, "device_index", guard(module))

    return patch


DEVICE_FAULTS = [
    ("module", "available", device_fault(lambda: Fake(available=1)), "is_available() returns 1"),
    ("module", "count", device_fault(lambda: Fake(count=0)), "device_count() returns 0"),
    ("module", "current", device_fault(lambda: Fake(current=2)), "returns 2 where there are 2 devices"),
    ("module", "current", device_fault(lambda: Fake(current="npu:0")), "where an int is due"),
    ("module", "select", device_fault(lambda: Deaf(current=1)), "after set_device(0) the current device is 1"),
    ("guard", "restores", device_fault(guard=lambda m: Guard(m, restores=False)), "after the guard the current"),
    ("guard", "restores", device_fault(guard=lambda m: Guard(m, sets=False)), "inside the guard of 1"),
    ("guard", "restores-after-error", device_fault(guard=lambda m: Guard(m, restores=False)), "after an exception"),
    ("default", "context", lambda p: p.setattr(torch, "empty", on_meta), "lies on"),
    ("default", "set-default", lambda p: p.setattr(torch, "tensor", on_meta), "lies on"),
]  # fmt: skip


def on_meta(*_, **__):
    return REAL_EMPTY(2, device="meta")


class Deaf(Fake):
    def set_device(self, index):
        pass


@pytest.mark.parametrize("name", ["restores", "restores-after-error"])
def test_a_right_guard_passes(monkeypatch, name):
    device_fault()(monkeypatch)
    assert judged(device.CHECK, "guard", name).outcome == "pass"


class Event:
    def __init__(self, device=None, enable_timing=False):
        pass

    def record(self, *_):
        pass

    def synchronize(self):
        pass

    def query(self):
        return False

    def elapsed_time(self, _):
        return 1e9


class Stream:
    device = CPU


def accelerated(**functions):
    """Let `torch.accelerator` be one that works, but for the functions given."""

    def patch(monkeypatch):
        device_fault()(monkeypatch)
        held = {"bytes": 0, "peak": 0}

        def empty(*size, **options):
            tensor = REAL_EMPTY(*size, **options)
            held["bytes"] += tensor.nbytes
            held["peak"] = max(held["peak"], held["bytes"])
            return tensor

        working = {
            "is_available": lambda: True,
            "device_count": lambda: 2,
            "current_accelerator": lambda: CPU,
            "synchronize": lambda *_: None,
            "current_stream": Stream,
            "memory_allocated": lambda: held["bytes"],
            "max_memory_allocated": lambda: held["peak"],
            "memory_reserved": lambda: held["bytes"],
            "empty_cache": lambda: None,
            "reset_peak_memory_stats": lambda: None,
        }
        monkeypatch.setattr(torch, "empty", empty)
        monkeypatch.setattr(torch, "Event", Event)
        for name, function in {**working, **functions}.items():
            monkeypatch.setattr(torch.accelerator, name, function)

    return patch


ACCELERATOR_FAULTS = [
    ("presence", "available", accelerated(is_available=lambda: False), "returns False"),
    ("presence", "count", accelerated(device_count=lambda: 1), "counts 1 devices, torch.cpu 2"),
    ("presence", "current", accelerated(current_accelerator=lambda: None), "is None"),
    ("presence", "current", accelerated(current_accelerator=lambda: torch.device("cuda")), "is cuda"),
    ("stream", "current", accelerated(), "streams that are not equal"),
    ("event", "recorded", accelerated(), "does not say that it happened"),
    ("event", "timed", accelerated(), "elapsed_time() is 1000000000.0 ms"),
    ("memory", "rises", accelerated(memory_allocated=lambda: 0), "raised memory_allocated() by 0"),
    ("memory", "rises", accelerated(max_memory_allocated=lambda: 0), "max_memory_allocated() is 0"),
    ("memory", "rises", accelerated(), "freeing 1048576 bytes lowered memory_allocated() by 0"),
    ("memory", "reserved", accelerated(memory_reserved=lambda: 0), "memory_reserved() is 0"),
    ("memory", "peak-resets", accelerated(max_memory_allocated=lambda: 1 << 30), "the peak is 1073741824"),
]


@pytest.mark.parametrize(
    ("check", "subject", "name", "fault", "message"),
    [
        (check, *fault)
        for check, faults in (
            (copies.CHECK, COPY_FAULTS), (mandatory.CHECK, MANDATORY_FAULTS), (rng.CHECK, RNG_FAULTS),
            (serialization.CHECK, SERIALIZATION_FAULTS), (errors.CHECK, ERROR_FAULTS), (device.CHECK, DEVICE_FAULTS),
            (accelerator.CHECK, ACCELERATOR_FAULTS),
        )
        for fault in faults
    ],
    ids=lambda value: value.id if isinstance(value, Area) else value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_fault_is_noticed(check, subject, name, fault, message):
    real_rand = torch.rand
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        found = judged(check, subject, name)
    torch.rand = real_rand
    assert found.outcome == "wrong"
    assert found.error >= 1
    assert message in found.message


def test_the_default_of_an_interface_is_unsupported_unless_it_is_claimed(monkeypatch):
    def default(*_, **__):
        raise RuntimeError("Backend doesn't support events.")

    accelerated()(monkeypatch)
    monkeypatch.setattr(torch, "Event", default)
    assert judged(accelerator.CHECK, "event", "recorded").outcome == "unsupported"
    claiming = Fake()
    claiming.Event = object
    monkeypatch.setattr(torch, "get_device_module", lambda _: claiming)
    with pytest.raises(RuntimeError, match="support events"):
        judged(accelerator.CHECK, "event", "recorded")


def test_another_error_of_an_event_is_an_error(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("driver lost")

    accelerated()(monkeypatch)
    monkeypatch.setattr(torch, "Event", broken)
    with pytest.raises(RuntimeError, match="driver lost"):
        judged(accelerator.CHECK, "event", "recorded")


def raising(device):
    raise ValueError("of the backend")


def not_applicable(device):
    raise NotApplicableError("nothing here")


def wrong(device):
    expect_bits(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]), "two numbers")


def right(device, value):
    expect_bits(torch.tensor([value]), torch.tensor([2.5]), "a number")


def test_an_exception_of_the_backend_passes_through():
    with pytest.raises(ValueError, match="of the backend"):
        perform(Probe("x", raising), context())


def test_a_declared_dtype_may_raise_and_nothing_else():
    declaring = context(unsupported_dtypes={"float64": "not in the hardware"})
    found = perform(Probe("x", raising, (), "float64"), declaring)
    assert (found.outcome, found.message) == ("unsupported", "declared: not in the hardware (ValueError)")
    with pytest.raises(ValueError, match="of the backend"):
        perform(Probe("x", raising, (), "float32"), declaring)
    assert perform(Probe("x", wrong, (), "float64"), declaring).outcome == "wrong"


def test_what_does_not_apply_is_no_pass():
    assert perform(Probe("x", not_applicable), context()).outcome == "unsupported"


@pytest.mark.parametrize(
    ("found", "due"),
    [
        (torch.tensor([0.0]), torch.tensor([-0.0])),
        (torch.tensor([1]), torch.tensor([1.0])),
        (torch.tensor([[1.0]]), torch.tensor([1.0])),
        (torch.tensor([0x7FC00001], dtype=torch.int32).view(torch.float32), torch.tensor([float("nan")])),
    ],
    ids=["sign", "dtype", "shape", "payload"],
)
def test_bits_are_compared_and_not_values(found, due):
    with pytest.raises(kit.WrongAnswerError):
        kit.expect_bits(found, due, "x")
    kit.expect_bits(due.clone(), due, "x")


def run(text):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)


def test_a_reproducer_fails_as_the_case_did_and_passes_as_it_did():
    profile = default_profile("cpu")
    failed = run(script(Probe("x", wrong), profile))
    assert failed.returncode == 1
    assert (
        "WrongAnswerError: two numbers: 1 of 2 elements differ, the first at 1: 2.0 where 3.0 is due" in failed.stderr
    )
    passed = run(script(Probe("x", right, (2.5,)), profile))
    assert passed.returncode == 0, passed.stderr


def test_every_reproducer_compiles_and_names_what_it_uses():
    profile = Profile("d", "d", import_module="the_package")
    for check in runtime.CHECKS:
        if not isinstance(check, Area):
            continue
        for probes in check.probes.values():
            for probe in probes:
                text = script(probe, profile)
                assert "import the_package" in text
                undefined = names(compile(text, probe.name, "exec")) & HELPERS - defined(text)
                assert not undefined, probe.name


HELPERS = {
    name
    for module in (kit, accelerator, copies, device, errors, mandatory, rng, serialization)
    for name, value in vars(module).items()
    if inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value)
}


def names(code):
    inner = [names(constant) for constant in code.co_consts if inspect.iscode(constant)]
    return set(code.co_names).union(*inner)


def defined(text):
    bodies = ast.parse(text).body
    imported = {alias.name for node in bodies if isinstance(node, ast.Import) for alias in node.names}
    attributes = {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    return imported | attributes | {node.name for node in bodies if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
