"""Every kernel against the CPU, in the layouts and dtypes where kernels go wrong."""

from __future__ import annotations

import pytest
import torch

DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.int32, torch.uint8]


def values(shape, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(shape, generator=generator) * 6 - (0 if dtype == torch.uint8 else 3)).to(dtype)


def plain(tensor):
    return tensor.clone()


def offset(tensor):
    whole = torch.full((tensor.numel() + 5,), 9, dtype=tensor.dtype)
    whole[5:] = tensor.reshape(-1)
    return whole[5:].view(tensor.shape)


def transposed(tensor):
    return tensor.transpose(0, -1).contiguous().transpose(0, -1)


def stepped(tensor):
    wide = torch.full((*tensor.shape, 2), 9, dtype=tensor.dtype)
    wide[..., 1] = tensor
    return wide[..., 1]


def ship(tensor):
    """The whole storage travels, and the view is made anew on the device."""
    elements = tensor.untyped_storage().nbytes() // tensor.element_size()
    whole = torch.as_strided(tensor, (elements,), (1,), 0).to("@{ cookiecutter.device }@")
    return whole.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def check(function, *tensors):
    """The device gives the CPU's answer, with its dtype, shape and strides."""
    there = [ship(tensor) for tensor in tensors]  # before the CPU may write into them
    expected = function(*tensors)
    found = function(*there)
    assert found.device.type == "@{ cookiecutter.device }@"
    assert found.stride() == expected.stride()
    torch.testing.assert_close(found.cpu(), expected, equal_nan=True)


@pytest.mark.parametrize("layout", [plain, offset, transposed, stepped])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_binary(name, dtype, layout):
    left, right = values((3, 5), dtype), values((3, 5), dtype, seed=1)
    check(getattr(torch, name), layout(left), layout(right))
    check(getattr(torch, name), layout(left), right[0])  # broadcast


@pytest.mark.parametrize("layout", [plain, offset, transposed, stepped])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["exp", "relu", "sum", "clone"])
def test_unary(name, dtype, layout):
    check(getattr(torch, name), layout(values((4, 300), dtype)))


@pytest.mark.parametrize("layout", [plain, offset, transposed, stepped])
@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices(dtype, layout):
    left, right, bias = values((4, 6), dtype), values((6, 3), dtype, seed=1), values((3,), dtype, seed=2)
    check(torch.mm, layout(left), layout(right))
    check(lambda a, b, c: torch.addmm(a, b, c, beta=2, alpha=3), layout(bias), layout(left), layout(right))


@pytest.mark.parametrize(
    "pair", [(torch.int64, torch.float32), (torch.bfloat16, torch.float32), (torch.uint8, torch.int8)]
)
def test_promotion(pair):
    left, right = values((2, 3), pair[0]), values((2, 3), pair[1], seed=1)
    check(torch.add, left, right)
    check(lambda a: a + 2.5, left)
    check(lambda a, b: a * b[0, 0], left, right)


def test_alpha_and_a_number_from_the_host():
    left = values((2, 3), torch.float32)
    check(lambda a: torch.add(a, a, alpha=-2), left)
    check(lambda a: a - torch.tensor(2.0, dtype=torch.float64), left)
    check(lambda a: 1 / a, left)


def test_integers_wrap_and_divide_truly():
    largest = torch.tensor([torch.iinfo(torch.int64).max, 1])
    check(lambda a: a + 1, largest)
    check(lambda a: a * 3, largest)
    check(lambda a: a + a, torch.tensor([200], dtype=torch.uint8))
    check(lambda a: a / 2, torch.tensor([3]))
    check(lambda a: a.fill_(1).sum(), torch.tensor([True, False]))


def test_nan_and_infinity():
    special = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 0.0])
    check(torch.relu, special)
    check(torch.exp, special)
    check(lambda a: a / a, special)
    bad = torch.full((2, 2), float("nan"))
    check(lambda a, b: torch.addmm(a, b, b, beta=0), bad, torch.ones(2, 2))
    check(lambda a: torch.addmm(a, torch.empty(2, 0, device=a.device), torch.empty(0, 2, device=a.device)), bad)


def test_sums():
    numbers = values((2, 3, 4), torch.float32)
    for dim in (0, -1, (0, 2), (), None):
        check(lambda a, dim=dim: a.sum(dim), numbers)
        check(lambda a, dim=dim: a.sum(dim, keepdim=True), numbers)
    check(lambda a: a.sum(dtype=torch.float64), numbers)
    check(lambda a: a.sum(), numbers > 0)
    check(lambda a: a.sum(1, dtype=torch.bool), numbers)
    check(lambda a: a.sum(0), torch.empty(0, 3))
    # Adding one by one would stop at 256, where a bfloat16 no longer changes by adding 1.
    assert torch.ones(5000, dtype=torch.bfloat16, device="@{ cookiecutter.device }@").sum().item() == 4992


def test_empty_and_scalar_tensors():
    check(torch.add, torch.empty(0, 3), torch.empty(0, 3))
    check(torch.add, torch.tensor(1.0), torch.tensor(2.0))
    check(torch.mm, torch.empty(0, 3), torch.empty(3, 2))
    check(torch.mm, torch.empty(2, 0), torch.empty(0, 2))


def test_cat():
    left, right = values((2, 3), torch.float32), values((2, 5), torch.int64)
    check(lambda a, b: torch.cat([a, b], 1), left, right)
    check(lambda a: torch.cat([torch.empty(0, device=a.device), a]), transposed(left))
    check(lambda a: torch.stack([a, a], -1), stepped(left))


def test_in_place_and_out():
    left, right = values((3, 4), torch.float32), values((3, 4), torch.float32, seed=1)
    check(lambda a, b: a.t().add_(b.t()).t(), left, right)
    check(lambda a, b: torch.mul(a, b, out=torch.empty_like(a, dtype=torch.float64)), left, right)
    check(lambda a, b: torch.mm(a, b.t(), out=torch.empty(3, 3, device=a.device).t()), left, right)
    square = ship(torch.ones(3, 3))  # no check: what the CPU makes of this depends on its matrix library
    assert torch.equal(torch.mm(square, square, out=square).cpu(), torch.full((3, 3), 3.0))
    with pytest.raises(RuntimeError, match="result type Float can't be cast"):
        torch.add(ship(left), ship(right), out=torch.empty(3, 4, dtype=torch.int64, device="@{ cookiecutter.device }@"))


def test_fill():
    check(lambda a: a[:, ::2].fill_(2.5), values((3, 4), torch.float32))
    check(lambda a: a.zero_(), values((3, 4), torch.int32))
    check(lambda a: a.fill_(torch.tensor(7)), values((3, 4), torch.bfloat16))
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.ones(1, dtype=torch.uint8, device="@{ cookiecutter.device }@").fill_(300)


@pytest.mark.parametrize("function", [torch.add, torch.mm])
def test_tensors_have_to_share_a_device(function):
    with pytest.raises(RuntimeError, match="same device"):
        function(torch.ones(2, 2, device="@{ cookiecutter.device }@:0"), torch.ones(2, 2, device="@{ cookiecutter.device }@:1"))
    with pytest.raises(RuntimeError, match="same device"):
        function(torch.ones(2, 2, device="@{ cookiecutter.device }@"), torch.ones(2, 2))


def test_overlapping_outputs_are_refused():
    row = torch.ones(4, device="@{ cookiecutter.device }@")
    with pytest.raises(RuntimeError, match="single memory location"):
        row[:1].expand(4).add_(1)
    with pytest.raises(RuntimeError, match="partially overlapping|Please clone"):
        torch.add(row[:-1], 1, out=row[1:])


def test_kernels_stay_on_the_device():
    left = torch.ones(64, 64, device="@{ cookiecutter.device }@")
    torch.@{ cookiecutter.device }@.synchronize()
    before = torch.@{ cookiecutter.device }@._driver_counters()
    torch.addmm(left, left, left).relu().exp().sub(left).div(left).mul(left).sum()
    torch.cat([left, left.t()])
    after = torch.@{ cookiecutter.device }@._driver_counters()
    assert after["launches"] - before["launches"] >= 9
    assert after["device_to_host_copies"] == before["device_to_host_copies"]
    assert after["host_to_device_copies"] == before["host_to_device_copies"]


def test_training_step():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    inputs = torch.randn(5, 4)
    model(inputs).sum().backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    there = model.to("@{ cookiecutter.device }@")
    there(inputs.to("@{ cookiecutter.device }@")).sum().backward()
    for parameter, gradient in zip(there.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad.cpu(), gradient)
    torch.optim.SGD(there.parameters(), lr=0.1).step()


def test_autocast():
    left = torch.ones(2, 2, device="@{ cookiecutter.device }@")
    with torch.autocast("@{ cookiecutter.device }@", dtype=torch.bfloat16):
        product = left @ left
        assert product.dtype == torch.bfloat16
        assert product.exp().dtype == torch.float32
        assert (left + left).dtype == torch.float32
    assert (left @ left).dtype == torch.float32
