"""Operators without a kernel: counted where they fall back, absent where that is turned off."""

from __future__ import annotations

import torch

OFF = {"TORCH_@{ cookiecutter.DEVICE }@_CPU_FALLBACK": "0"}


def test_fallbacks_are_counted_and_kernels_are_not():
    values = torch.ones(3, device="@{ cookiecutter.device }@")
    torch.@{ cookiecutter.device }@._reset_fallback_counts()
    values.add(values)
    assert torch.@{ cookiecutter.device }@._fallback_counts() == {}
    values.erfinv()
    values.erfinv()
    assert torch.@{ cookiecutter.device }@._fallback_counts() == {"aten::erfinv.out": 2}


def test_dtypes_without_a_kernel_are_counted_too():
    values = torch.ones(3, dtype=torch.complex64, device="@{ cookiecutter.device }@")
    torch.@{ cookiecutter.device }@._reset_fallback_counts()
    assert torch.equal((values + values).cpu(), torch.full((3,), 2, dtype=torch.complex64))
    assert torch.@{ cookiecutter.device }@._fallback_counts() == {"aten::add.out": 1}


def test_convolution_is_counted():
    inputs = torch.ones(1, 1, 4, 4, device="@{ cookiecutter.device }@", requires_grad=True)
    weight = torch.ones(1, 1, 2, 2, device="@{ cookiecutter.device }@")
    torch.@{ cookiecutter.device }@._reset_fallback_counts()
    torch.nn.functional.conv2d(inputs, weight).sum().backward()
    counts = torch.@{ cookiecutter.device }@._fallback_counts()
    assert counts["aten::convolution_overrideable"] == 1
    assert counts["aten::convolution_backward_overrideable"] == 1


def test_batch_norm_keeps_its_running_statistics():
    torch.manual_seed(0)
    there, here = torch.nn.BatchNorm1d(3).to("@{ cookiecutter.device }@"), torch.nn.BatchNorm1d(3)
    inputs = torch.randn(8, 3)
    torch.testing.assert_close(there(inputs.to("@{ cookiecutter.device }@")).cpu(), here(inputs))
    torch.testing.assert_close(there.running_mean.cpu(), here.running_mean)
    torch.testing.assert_close(there.running_var.cpu(), here.running_var)


def test_without_the_fallback_kernels_still_run(fresh_python):
    code = "import torch; a = torch.ones(2, 2, device='@{ cookiecutter.device }@'); print((a @ a - a).relu().sum().item())"
    assert fresh_python(code, **OFF) == "4.0"


def test_without_the_fallback_a_missing_kernel_is_named(fresh_python):
    code = """
import torch
values = torch.ones(2, device='@{ cookiecutter.device }@')
for call in (values.erfinv, lambda: values.to(torch.complex64) + 1,
             lambda: torch.nn.functional.conv1d(values.view(1, 1, 2), values.view(1, 1, 2))):
    try:
        call()
        print('no error')
    except NotImplementedError as error:
        print(str(error).split(' with arguments')[0].split('. ')[0])
"""
    assert fresh_python(code, **OFF).splitlines() == [
        "Could not run 'aten::erfinv.out'",
        "Could not run 'aten::add.out'",
        "convolution_overrideable not implemented",
    ]
