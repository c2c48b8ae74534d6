"""This installation's own secrets, also spaced out; prose stays."""

import base64

import pytest

from claw.security.redact.own import TAG, count_begun, take_out

KEY = "sk-zq7-Fm2Kx9Lw4Rt8Vb3N"
PHRASE = "correct-horse-battery-staple"


@pytest.mark.each("between", [
    " ", "  ", "\n", "\t", "-", "_", ".", ",", " - ", "\u200b", "\u2060",
    "\ufeff", "\u00ad", " \u200b\n", "|", "**", "·", "、", "你"])
def test_a_key_that_is_spaced_out_is_taken_out(between):
    spaced = between.join(KEY)

    assert take_out(f"it is {spaced} !", [KEY]) == f"it is {TAG} !"


@pytest.mark.each("spelled", [
    "s k-z q 7 - F m 2 K x 9 L w 4 R t 8 V b 3 N",
    "sk-zq7 -Fm2Kx9 -Lw4Rt8Vb3N", "sk zq7\nFm2Kx9Lw4\nRt8Vb3N",
    "skzq7Fm2Kx9Lw4Rt8Vb3N", "sk`-`zq7`-`Fm2Kx9Lw4Rt8Vb3N"])
def test_it_may_be_spaced_anyhow(spelled):
    assert take_out(f"see {spelled} there", [KEY]) == f"see {TAG} there"


@pytest.mark.each("form", [
    KEY.encode().hex(), base64.b64encode(KEY.encode()).decode().rstrip("="),
    base64.b64encode(b"." + KEY.encode() + b".").decode()[2:-3]])
def test_its_other_forms_may_be_spaced_out_too(form):
    clean = take_out(f"see {' '.join(form)} there", [KEY])

    assert clean.startswith(f"see {TAG}")
    assert clean.endswith(" there")
    assert len(clean) <= len(f"see {TAG} = = x y there")


def test_a_phrase_is_told_by_its_letters():
    assert take_out("Say correct horse battery staple!", [PHRASE]) == (
        f"Say {TAG}!")


@pytest.mark.each(("secret", "text"), [
    ("sunshine", "the sun shines"), ("therefore", "there for evening"),
    ("passage-1", "on passage 1, line 3"), ("12345678", "1 2 3 4 5 6 7 8"),
    ("0123456789abcde"[:11], "01234 56789 a"),
    (KEY, KEY[:-1] + " x N"),
    ("x" * 7, "x" * 7), (KEY, ""), ("", "text"),
    ("日本語の長い秘密の言葉です", "日本語の 長い秘密の言葉です")])
def test_what_could_stand_in_prose_is_not_taken_for_one(secret, text):
    assert take_out(text, [secret]) == text


@pytest.mark.each("text", [
    "It is " + KEY[:5], " ".join(KEY[:9]), KEY, "s", "x " + KEY[0]])
def test_what_has_begun_is_counted_from_its_first_letter(text):
    count = count_begun(text, [KEY])

    assert text[len(text) - count:].startswith("s")
    assert count


def test_what_can_not_go_on_as_a_secret_has_not_begun():
    assert count_begun("the sky", [KEY]) == 0
    assert count_begun("", [KEY]) == 0
    assert count_begun(KEY[:10], []) == 0
