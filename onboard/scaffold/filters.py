"""Filters with which a template writes an answer as a literal of the language of the file it stands in."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from jinja2.ext import Extension

if TYPE_CHECKING:
    from jinja2 import Environment

_CPP_PLAIN = re.compile(r"[ !#->@-\[\]-~]")
_MARKDOWN_ACTIVE = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&])")


def py_string(value: object) -> str:
    """A Python string literal, pure ASCII, for every text (lone surrogates included)."""
    return ascii(str(value))


def toml_string(value: object) -> str:
    """A TOML basic string: JSON's escapes are TOML's, except that DEL has to be escaped too.

    Raises ValueError for a lone surrogate, which no TOML document can hold.
    """
    return _json_string(value).replace("\x7f", "\\u007f")


def yaml_string(value: object) -> str:
    """A YAML double-quoted scalar in pure ASCII, which every YAML reader takes and no indentation changes.

    Raises ValueError for a lone surrogate.
    """
    text = str(value)
    _refuse_surrogates(text)
    return '"' + "".join(_yaml_character(character) for character in text) + '"'


def cpp_string(value: object) -> str:
    """A C++ narrow string literal with the UTF-8 bytes of the text.

    Everything beyond plain ASCII is a three-digit octal escape, which cannot swallow the digit behind it, and `?` is
    escaped so that no trigraph arises. Raises ValueError for a lone surrogate.
    """
    text = str(value)
    _refuse_surrogates(text)
    return '"' + "".join(map(_cpp_character, text)) + '"'


def md_text(value: object) -> str:
    """Text for the middle of a Markdown paragraph: one line, with every active character escaped. Not quoted."""
    return _MARKDOWN_ACTIVE.sub(r"\\\1", " ".join(str(value).split()))


def _json_string(value: object) -> str:
    text = str(value)
    _refuse_surrogates(text)
    return json.dumps(text, ensure_ascii=False)


def _cpp_character(character: str) -> str:
    if character in '"\\?':
        return "\\" + character
    if _CPP_PLAIN.match(character):
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode())


def _yaml_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if " " <= character <= "~":
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _refuse_surrogates(text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("the text holds a lone surrogate, which has no encoding")


class EscapeFilters(Extension):
    """Makes the filters known to a template; named in `_extensions` of its cookiecutter.json."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        filters: dict[str, Any] = environment.filters
        filters.update({f.__name__: f for f in (py_string, toml_string, yaml_string, cpp_string, md_text)})
