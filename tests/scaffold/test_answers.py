"""Answers are judged before anything is rendered."""

from __future__ import annotations

from dataclasses import asdict
from importlib import metadata

import pytest

from conformance.errors import EnvironmentFailure, UsageError
from onboard.scaffold import answers as module
from onboard.scaffold.answers import complete, defaults, installed_torch, template_variables
from onboard.scaffold.prompt import ask_missing


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("int", "keyword of C\\+\\+"),
        ("class", "keyword of Python"),
        ("namespace", "keyword of C\\+\\+"),
        ("match", "keyword of Python"),
        ("std", "exists already"),
        ("at", "C\\+\\+ or C"),
        ("linux", "C\\+\\+ or C"),
        ("cuda", "already has a device"),
        ("vulkan", "already has a device"),
        ("privateuseone", "already has a device"),
        ("nn", "exists already"),
        ("sparse", "exists already"),
        ("../x", "no device name"),
        ("Trn", "no device name"),
        ("a" * 40, "no device name"),
        ("t", "no device name"),
        ("", "no device name"),
        ("2trn", "no device name"),
        ("trn_2", "no device name"),
        ("trn\n", "no device name"),
        ("trñ", "no device name"),
        ("trn:0", "no device name"),
    ],
)
def test_a_bad_device_name_is_refused_with_the_reason(device, reason):
    with pytest.raises(UsageError, match=reason) as caught:
        complete({"device": device})
    assert caught.value.hint


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("package", "torch"),
        ("package", "json"),
        ("package", "class"),
        ("package", "numpy"),
        ("package", "Torch_Trn"),
        ("package", "torch-trn"),
        ("package", "torch.trn"),
        ("package", "../torch_trn"),
        ("package", "_trn"),
        ("package", "trn_"),
        ("package", "tests"),
        ("distribution", "torch"),
        ("distribution", "torch_trn"),
        ("distribution", "Torch-Trn"),
        ("distribution", "../../escape"),
        ("distribution", "-trn"),
        ("distribution", "trn-"),
        ("distribution", "trn--x"),
        ("distribution", "trn\n"),
        ("vendor", ""),
        ("vendor", "   "),
        ("vendor", "x" * 101),
        ("vendor", "two\nlines"),
        ("vendor", "escape \x1b[2J"),
        ("vendor", "right-to-left \u202e"),
        ("vendor", "not encodable \udc80"),
        ("vendor", " blanks around "),
        ("vendor", "{{ cycler.__init__.__globals__.os.popen('id').read() }}"),
        ("vendor", "@{ cookiecutter }@"),
        ("vendor", "@% include 'x' %@"),
        ("vendor", "@# gone"),
        ("description", "{% raw %}"),
        ("description", "x" * 201),
        ("email", "nobody"),
        ("email", "a@b"),
        ("email", "a@b.c\nBcc: d@e.f"),
        ("email", '"><script>@b.c'),
        ("license", "GPL"),
        ("version", "one"),
        ("version", "1.0; import os"),
        ("version", "01.2"),
    ],
)
def test_a_bad_answer_is_refused_and_named(field, text):
    with pytest.raises(UsageError, match=rf"^{field}: "):
        complete({"device": "trn", field: text})


def test_defaults_are_good_answers_themselves():
    answers = complete({"device": "trn"})
    assert asdict(answers) == {"device": "trn", **defaults("trn")}
    assert (answers.package, answers.distribution) == ("torch_trn", "torch-trn")


def test_quotes_and_foreign_letters_are_welcome_in_free_text():
    text = 'O\'Neil "& Söhne" \\ <漢字> #1'
    assert complete({"device": "trn", "vendor": text}).author == text


def test_the_variables_are_the_answers_and_what_follows_from_them(answers, torch_version):
    variables = template_variables(answers, torch_version)
    assert (variables["DEVICE"], variables["class_name"]) == ("TRN", "Trn")
    assert (variables["torch_version"], variables["torch_minor"]) == ("2.13.0", "2.13")
    assert len(variables["year"]) == 4
    assert all(isinstance(value, str) for value in variables.values())


def test_the_torch_version_is_read_without_its_local_part():
    full = installed_torch().full
    assert metadata.version("torch").partition("+")[0] == full
    assert full.startswith(installed_torch().minor + ".")


@pytest.mark.parametrize(("found", "reason"), [("2.8.1+cpu", "older"), ("unknown", "not understood")])
def test_a_torch_that_no_template_fits_is_refused(monkeypatch, found, reason):
    monkeypatch.setattr(metadata, "version", lambda _: found)
    with pytest.raises(EnvironmentFailure, match=reason):
        installed_torch()


def test_no_torch_is_an_error_of_the_environment(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(EnvironmentFailure, match="not installed"):
        installed_torch()


def test_questions_are_asked_only_for_what_is_missing_and_again_after_a_bad_answer():
    asked, complaints = [], []
    replies = {"Vendor": ["{{ 7 * 7 }}", "Acme"], "License": ["MIT"]}

    def ask(question, default):
        asked.append((question, default))
        own = replies.get(question.split(" (")[0])
        return own.pop(0) if own else default

    given = dict.fromkeys(module.ANSWER_NAMES)
    given |= {"device": "trn", "package": "torch_acme"}
    answers = complete(ask_missing(given, ask, lambda message, hint: complaints.append((message, hint))))
    questions = [question.split(" (")[0] for question, _ in asked]
    assert questions.count("Vendor") == 2
    assert "Python package" not in questions
    assert len(complaints) == 1
    assert "delimiter" in complaints[0][0]
    assert (answers.vendor, answers.package, answers.license) == ("Acme", "torch_acme", "MIT")
    assert ("Author", "Acme") in asked  # the default follows the vendor that was just given


def test_a_bad_flag_is_refused_before_the_first_question():
    def ask(question, default):
        raise AssertionError(question)

    with pytest.raises(UsageError, match=r"^package"):
        ask_missing({"device": "trn", "package": "torch"}, ask, lambda *_: None)
