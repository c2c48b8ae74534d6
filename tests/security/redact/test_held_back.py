"""An answer that comes in pieces is shown without secrets, and soon."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claw.security.redact.held_back import HeldBack
from claw.security.redact.leaks import redact
from claw.security.redact.redactor import Redactor

OWN = "zq7-Fm2Kx9Lw4Rt8Vb3N"
KEY = ("-----BEGIN RSA PRIVATE KEY-----\n" + "a1B2c3D4" * 8 + "\n"
       + "-----END RSA PRIVATE KEY-----")


def shown(pieces, secrets=(OWN,)):
    held = HeldBack(Redactor(lambda: secrets))
    return [*map(held.feed, pieces), held.end()]


SECRETS = [
    OWN, " ".join(OWN), "\n".join(OWN), "-".join(OWN), "\u200b".join(OWN),
    "sk-ant-api03-" + "a1B2c3D4" * 6, "ghp_" + "a1B2" * 9,
    "AKIA" + "IOSFODNN7EXAMPLE", "123456789:AA" + "b2C3d4E" * 4 + "x9y8z",
    "postgres://claw:hunter2x@db.local/main",
    "mongodb+srv://u:p4ssw0rd9@c.mongodb.net",
    "https://me:tok3ntok3n@github.com/a.git", KEY,
    "aws_secret_access_key = " + "aB3/" * 10,
    "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2Q",
]


@pytest.mark.each("secret", SECRETS)
@pytest.mark.each("around", ["{}", "It is {} now. And more.", "`{}`\n\n",
                             "密钥：{}。", "key={}, see"])
@pytest.mark.each("size", [1, 2, 3, 7, 1000])
def test_a_secret_in_pieces_is_what_it_is_as_a_whole(secret, around, size):
    text = around.format(secret)
    pieces = [text[i:i + size] for i in range(0, len(text), size)]

    assert "".join(shown(pieces)) == redact(text, [OWN])
    assert secret not in "".join(shown(pieces))


@pytest.mark.each("piece", [
    "The quick brown fox", "half an", "naïve ", "你好，世界", "a\nb", "(see",
    "don't", "well-known", "e.g.", "word, "])
def test_what_can_be_no_secret_is_shown_at_once(piece):
    assert shown([piece], ())[0] == piece


@settings(deadline=None)
@given(st.lists(st.text(max_size=12), max_size=12))
def test_nothing_is_lost_or_turned_round(pieces):
    assert "".join(shown(pieces)) == "".join(pieces)


def test_without_a_redactor_pieces_pass_as_they_are():
    held = HeldBack(None)

    assert held.feed("sk-ant-api03-") == "sk-ant-api03-"
    assert held.end() == ""


def test_a_word_without_an_end_is_not_held_back_for_ever():
    first, *_ = shown(["a1B2" * 5000], ())

    assert first == "a1B2" * 5000
