"""Each filter gives a literal that its language reads back as the text it was given, whatever the text."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys

import pytest
import yaml

from onboard.scaffold.filters import cpp_string, md_text, py_string, toml_string, yaml_string

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

NASTY = [
    "",
    "plain",
    'a "quoted" word',
    "it's",
    '"); std::system("x"); ("',
    "\\",
    "trailing \\",
    "\\n is no line break",
    "line\nbreak",
    "carriage\rreturn",
    "tab\tand\x00null and \x1b[31mescape and \x7f",
    '"""',
    "'''",
    "${{ secrets.TOKEN }}",
    "$(id) `id` ${HOME}",
    "%s %(x)s {x}",
    "# no comment",
    "- item: [x]",
    "null",
    "yes",
    "123",
    "*alias &anchor !tag",
    "??/ trigraph ??=",
    "é ü 漢字 🚀",
    "1\x012",
    "é1",
    "\u2028\u2029\x85\ufeff",
    " blanks around ",
    "-->",
    "*/ /* //",
]


@pytest.mark.parametrize("text", NASTY)
def test_python_reads_it_back(text):
    assert ast.literal_eval(py_string(text)) == text
    assert ast.literal_eval(f"f({py_string(text)}, 1)".removeprefix("f")) == (text, 1)


@pytest.mark.parametrize("text", NASTY)
def test_toml_reads_it_back(text):
    assert tomllib.loads(f"before = 1\nvalue = {toml_string(text)}\nafter = 2\n") == {
        "before": 1,
        "value": text,
        "after": 2,
    }


@pytest.mark.parametrize("text", NASTY)
def test_yaml_reads_it_back_at_any_indentation(text):
    document = (
        f"before: 1\nlist:\n  - deep:\n      value: {yaml_string(text)}\n      next: {yaml_string(text)}\nafter: 2\n"
    )
    deep = {"value": text, "next": text}
    assert yaml.safe_load(document) == {"before": 1, "list": [{"deep": deep}], "after": 2}


def test_cpp_reads_it_back(tmp_path):
    literals = ",\n".join(f"{{{cpp_string(text)}, sizeof({cpp_string(text)}) - 1}}" for text in NASTY)
    source = tmp_path / "literals.cpp"
    source.write_text(
        "#include <cstdio>\n#include <cstddef>\nstruct Text { const char* data; std::size_t size; };\n"
        f"static const Text texts[] = {{\n{literals}\n}};\n"
        'int main() { for (const Text& t : texts) { std::printf("%zu:", t.size);'
        " std::fwrite(t.data, 1, t.size, stdout); } }\n",
        encoding="ascii",
    )
    program = tmp_path / "literals"
    flags = ["-std=c++14", "-trigraphs", "-Wall", "-Wextra", "-Werror"]  # with trigraphs, the worst case
    subprocess.run(["g++", *flags, str(source), "-o", str(program)], check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True).stdout
    assert printed == b"".join(b"%d:%s" % (len(text.encode()), text.encode()) for text in NASTY)


def test_the_literals_stay_on_one_line_of_ascii_or_printable_text():
    for text in NASTY:
        for literal in (py_string(text), cpp_string(text), yaml_string(text)):
            assert literal.isascii()
            assert literal.isprintable()
        assert "\n" not in toml_string(text)


@pytest.mark.parametrize("literal", [toml_string, yaml_string, cpp_string])
def test_a_lone_surrogate_is_refused_where_the_language_has_none(literal):
    with pytest.raises(ValueError, match="surrogate"):
        literal("x\udc80")


def test_markdown_is_one_line_with_nothing_active_left():
    shown = md_text("<img src=x onerror=alert(1)>\n# title [link](javascript:x) `code` *b* _i_ |c|")
    assert "\n" not in shown
    bare = shown
    for escaped in "\\`*_{}[]()<>#+-.!|~&":
        bare = bare.replace("\\" + escaped, "")
    assert not set(bare) & set("`*_[]()<>#|")
