"""The device is there whichever package is imported first."""

from __future__ import annotations

import pytest

FIRST_TENSOR = "print((torch.ones(2, 2, device='@{ cookiecutter.device }@') @ torch.ones(2, 2, device='@{ cookiecutter.device }@')).sum().item())"


@pytest.mark.parametrize("imports", ["import torch", "import @{ cookiecutter.package }@, torch", "import torch, @{ cookiecutter.package }@"])
def test_import_order(fresh_python, imports):
    assert fresh_python(f"{imports}; {FIRST_TENSOR}") == "8.0"


@pytest.mark.parametrize("imports", ["import @{ cookiecutter.package }@, torch", "import torch, @{ cookiecutter.package }@"])
def test_import_by_hand_where_autoload_is_off(fresh_python, imports):
    assert fresh_python(f"{imports}; {FIRST_TENSOR}", TORCH_DEVICE_BACKEND_AUTOLOAD="0") == "8.0"


def test_autoload_off_leaves_torch_alone(fresh_python):
    name = fresh_python(
        "import torch; print(torch._C._get_privateuse1_backend_name())", TORCH_DEVICE_BACKEND_AUTOLOAD="0"
    )
    assert name == "privateuseone"


@pytest.mark.parametrize("before", [None, "0", "1"])
def test_the_environment_of_children_is_as_it_was(fresh_python, before):
    variables = {} if before is None else {"TORCH_DEVICE_BACKEND_AUTOLOAD": before}
    after = fresh_python("import @{ cookiecutter.package }@, os; print(os.environ.get('TORCH_DEVICE_BACKEND_AUTOLOAD'))", **variables)
    assert after == str(before)


def test_another_torch_is_refused(fresh_python):
    message = fresh_python(
        "import torch; torch.__version__ = '1.0.0'\n"
        "try:\n    import @{ cookiecutter.package }@\nexcept ImportError as error:\n    print(error)",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert "was built for torch" in message
    assert "this is torch 1.0.0" in message
