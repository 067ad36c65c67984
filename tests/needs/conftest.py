from __future__ import annotations

from pathlib import Path

import pytest
import torch

from conformance.needs.calls import Book
from conformance.needs.model import Target

MODELS = Path(__file__).with_name("models.py")


@pytest.fixture
def target():
    return lambda function: Target(MODELS, function)


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
