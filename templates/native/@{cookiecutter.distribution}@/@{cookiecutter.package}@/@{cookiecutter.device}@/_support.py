"""What the device offers to parts of PyTorch that ask before they act."""

from __future__ import annotations

import torch


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Lower-precision dtypes that torch.autocast("@{ cookiecutter.device }@") may choose."""
    return [torch.bfloat16, torch.float16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 is computed."""
    return True
