"""What takes secrets out of records, and how little it loads for that."""

import subprocess
import sys

import pytest

from claw.security.redact.leaks import redact
from claw.security.redact.redactor import Redactor

OWN = "zq7-Fm2Kx9Lw4Rt8Vb3N"
FORMED = "ghp_" + "a1B2" * 9


def test_every_text_of_a_record_is_redacted():
    redactor = Redactor(lambda: [OWN])
    record = {"type": "Chat", "n": 3, "none": None, "ok": True, "data": {
        "content": f"it is {OWN}", "list": [OWN, ["see", FORMED]]}}

    assert redactor.record(record) == {
        "type": "Chat", "n": 3, "none": None, "ok": True, "data": {
            "content": "it is [REDACTED_SECRET]", "list": [
                "[REDACTED_SECRET]", ["see", "[REDACTED_API_KEY]"]]}}
    assert redactor.hits == 3


def test_what_a_provider_wants_back_stays_but_for_our_own_keys():
    clean = Redactor(lambda: [OWN]).record({"replay": f"{FORMED} {OWN}"})

    assert clean == {"replay": f"{FORMED} [REDACTED_SECRET]"}


@pytest.mark.each("text", [
    "sk-ant-api03-" + "a1B2c3D4" * 6, "sk_" + "live_" + "a1B2c3" * 4, FORMED,
    "github_pat_" + "a1B2" * 6, "xoxb-123456789012-" + "a1B2c3D4" * 3,
    "AIza" + "a1B2c3D" * 5, "AKIA" + "IOSFODNN7EXAMPLE",
    "987654321:AA" + "b2C3d4E" * 4 + "x9y8z",
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2Q",
    "postgres://claw:hunter2x@db.local/main",
    "https://me:tok3ntok3n@github.com/a.git",
    "AWS_SECRET_ACCESS_KEY=" + "aB3/" * 10,
    "-----BEGIN RSA PRIVATE KEY-----\n" + "a1B2c3D4" * 8])
def test_what_is_known_by_its_form_is_not_overlooked(text):
    """What decides whether the rules are loaded sees all that they do."""
    assert redact(text) != text
    assert Redactor()(text) == redact(text)


def test_own_alone_leaves_the_keys_of_others():
    assert Redactor(lambda: [OWN]).own(f"{OWN} {FORMED}") == (
        f"[REDACTED_SECRET] {FORMED}")


@pytest.mark.parametrize(("text", "asked"), [
    ("Mina likes green tea", False), ("米娜喜歡綠色", False),
    ("a1b2c3", True), (OWN, True), (" ".join(OWN), True),
    ("correct-horse-battery", True)])
def test_quick_collects_secrets_only_for_what_looks_like_a_key(text, asked):
    collected = []
    redactor = Redactor(lambda: collected.append(1) or [OWN], quick=True)
    redactor(text)
    redactor(text)

    assert collected == [1] * asked


def test_plain_words_load_none_of_the_rules():
    done = subprocess.run(
        [sys.executable, "-c",
         "import sys\nfrom claw.security.redact.redactor import Redactor\n"
         "Redactor()('green tea, and a word: 2026-11-22')\n"
         "print({'claw.security.redact.leaks', 'claw.security.redact.own'}"
         " & set(sys.modules))"], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"
