"""From a fused kernel that Inductor has written in C++ to one that the driver can launch.

Inductor writes `void name(const float* in_ptr0, float* out_ptr0, const int64_t ks0)`. The driver launches
`int kernel(void* const* buffers, const void* params)`: device addresses, and an argument block. An entry point in
between, appended to the same source, unpacks the one into the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Types of arguments that aren't buffers, as in C++, and their codes in Python's `struct`.
_STRUCT_CODES = {"const int64_t": "q", "const float": "f"}

_ENTRY_POINT = """
// What the driver launches. A failure, such as a division of integers by zero, is the launch's failure.
extern "C" int {entry}(void* const* buffers, [[maybe_unused]] const void* params) {{{unpacking}
    try {{
        {name}({arguments});
        return 0;
    }} catch (const std::exception&) {{
        return 1;
    }}
}}
"""
_UNPACKING = """
    struct Params {{ {fields} }};
    const auto* values = static_cast<const Params*>(params);"""


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of a kernel call, in two lists of expressions, and the `struct` format of the second."""

    buffers: list[str]
    values: list[str]
    value_format: str


def is_buffer(arg_type: str) -> bool:
    """Whether an argument of this C++ type is a device address."""
    return arg_type.endswith("*")


def fields(arg_types: Sequence[str]) -> list[str]:
    """C++ declarations of the argument block: what of a kernel's arguments is no buffer, in order."""
    values = [arg_type.removeprefix("const ") for arg_type in arg_types if not is_buffer(arg_type)]
    return [f"{cpp_type} v{index};" for index, cpp_type in enumerate(values)]


def entry_point(name: str, entry: str, arg_types: Sequence[str]) -> str:
    """C++ source of a function `entry` that the driver can launch and that calls the fused kernel `name`."""
    arguments = []
    buffers = 0
    for index, arg_type in enumerate(arg_types):
        if is_buffer(arg_type):
            arguments.append(f"static_cast<{arg_type}>(buffers[{buffers}])")
            buffers += 1
        else:
            arguments.append(f"values->v{index - buffers}")
    declared = " ".join(fields(arg_types))
    unpacking = _UNPACKING.format(fields=declared) if declared else ""
    return _ENTRY_POINT.format(name=name, entry=entry, unpacking=unpacking, arguments=", ".join(arguments))


def split_call(arguments: Sequence[str], arg_types: Sequence[str]) -> Call:
    """Sort the arguments of a call as `entry_point` expects them.

    The native `struct` format has the sizes and alignment of a C++ struct.
    """
    typed = list(zip(arguments, arg_types, strict=True))
    return Call(
        buffers=[argument for argument, arg_type in typed if is_buffer(arg_type)],
        values=[argument for argument, arg_type in typed if not is_buffer(arg_type)],
        value_format="".join(_STRUCT_CODES[arg_type] for arg_type in arg_types if not is_buffer(arg_type)),
    )
