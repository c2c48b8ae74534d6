"""What is looked for of a text, and what becomes of what holds it."""

import base64
import html
import json
import textwrap
import time
import unicodedata
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from claw.memory.forgetting.spans import MARK
from claw.memory.forgetting.texts import Texts, is_rest

LONG = ('My locker is "blue",\nthird from the left, and über here: the code '
        "is door-7731-blue. Nobody else has it, as far as I know.")


@pytest.mark.parametrize("form", [
    LONG, " ".join(LONG.split()), json.dumps(LONG)[1:-1],
    json.dumps(json.dumps(LONG))[3:-3],
    json.dumps({"said": LONG}, ensure_ascii=False)[10:-2],
    html.escape(LONG), quote(LONG, safe="")],
    ids=["plain", "one line", "JSON", "JSON in JSON", "JSON in UTF-8",
         "HTML", "address"])
def test_a_text_goes_however_it_is_escaped(form):
    texts = Texts([LONG])

    assert texts.is_in(f"before {form} after".encode())
    assert texts.clean(f"before {form} after") == f"before {MARK} after"


@pytest.mark.parametrize("data", [
    LONG.encode("utf-16-le"), LONG.encode("utf-16-be"),
    base64.b64encode(b"to: " + LONG.encode()),
    base64.b64encode(b"to:" + LONG.encode()),
    base64.b64encode(LONG.encode())])
def test_it_is_found_in_other_encodings(data):
    assert Texts([LONG]).is_in(b"\0\1" + data)


@pytest.mark.parametrize("copy", [LONG[:50], LONG[:80] + "…",
                                  json.dumps(LONG[:100] + "...")])
def test_a_copy_that_was_cut_goes_as_far_as_it_is_the_same(copy):
    cleaned = Texts([LONG]).clean(f"{{{copy}}}")

    assert cleaned.startswith("{" + ('"' if copy[0] == '"' else "") + MARK)
    assert "locker" not in cleaned


def test_a_sentence_of_it_goes_and_a_code():
    texts = Texts([LONG])

    assert texts.clean("Nobody else has it, as far as I know. OK") \
        == f"{MARK} OK"
    assert texts.clean("it was door-7731-blue!") == f"it was {MARK}!"


def test_what_only_looks_alike_stays():
    texts = Texts([LONG, "We met on 2026-11-20T19:00:00Z with python3."])

    for other in ("My locker is red", "2026-11-20T19:00:00Z", "python3",
                  "third from the left"):
        assert texts.clean(other) == other


def test_a_short_text_is_not_looked_for():
    texts = Texts(["yes", "tea"])

    assert texts.short == ["yes", "tea"]
    assert not texts
    assert texts.clean("yes, tea") == "yes, tea"
    assert not texts.is_in(b"yes, tea")


def test_bytes_that_are_no_text_keep_their_length():
    data = b"\0\0" + LONG.encode() + b"\xff" + LONG[:60].encode() + b"\0"
    done = Texts([LONG]).overwrite(data)

    assert len(done) == len(data)
    assert b"locker" not in done
    assert done[-1:] == b"\0"


def test_many_texts_are_found_as_few_are():
    texts = Texts([f"this is text number {n} of them" for n in range(500)])

    assert texts.is_in(b"x" * 999 + b"this is text number 499 of them")
    assert not texts.is_in(b"this is no text of them" * 9)


def test_thousands_of_texts_go_as_one_does_and_as_fast():
    texts = Texts([f"eve said {n} things of a long list" for n in range(3000)]
                  + ["密码是七七"])

    def clean(texts):
        start = time.process_time()
        for number in range(20_000):
            assert texts.clean(f"others speak of {number} things") \
                == f"others speak of {number} things"
        return time.process_time() - start

    one = Texts(["eve said 1 thing of a long list", "密码是七七"])
    # one by one: a hundred times as long
    assert any(clean(texts) < 3 * clean(one) for _ in range(3))
    assert texts.clean("so eve said 2999 things of a long list, 密码是七七") \
        == f"so {MARK}, {MARK}"


def test_only_the_rest_of_a_text_is_the_rest():
    assert is_rest(f" {MARK}. ")
    assert not is_rest(f"{MARK} and tea")
    assert not is_rest("")


@pytest.mark.parametrize(("secret", "before", "after"), [
    ("00000000", "\xa0", ""),
    ("u00e4bcdefgh", "ä", "bcdefgh"),
    ("aaaaaaaa\\", "", 'aaaaaaaa"b'),
    ("00a00\\\\\\", '"\xa00\\\xa00\\', "é0"),
    ("83d\\ude00", "\\\\\\\U0001f600", "\U0001f600"),
])
def test_an_escape_that_a_text_stands_across_stays_whole(
        secret, before, after):
    """What only looks like the text in JSON began or ended in one."""
    for ascii_only in (True, False):
        line = json.dumps({"a": before + secret + after},
                          ensure_ascii=ascii_only)

        value = json.loads(Texts([secret]).clean(line))

        assert secret not in value["a"]


_odd = st.text(alphabet="\\u0a\"n\xa0é/b \n\U0001f600", max_size=12)


@example("00000000", "\xa0", "")
@example("AAAAAAA\xc0", "", "")
@given(st.text(min_size=8) | _odd, st.text() | _odd, st.text() | _odd)
def test_json_stays_json_and_holds_it_no_more(secret, before, after):
    texts = Texts([secret])
    line = json.dumps({"a": before + secret + after, "b": [before]})

    value = json.loads(texts.clean(line))

    if texts:
        assert secret.strip() not in value["a"]


@pytest.mark.parametrize("other", [
    "My favourite restaurant in the old town of Bern is the Lorenzini",
    "My favourite restaurant in the old town of Bernex is the Adler",
    "My favourite restaurant in the old town of Bern, of all towns",
])
def test_a_memory_that_begins_alike_keeps_its_beginning(other):
    texts = Texts(["My favourite restaurant in the old town of Bern is Adler"])

    assert texts.clean(other) == other
    assert not texts.is_in(other.encode())
    assert texts.overwrite(other.encode()) == other.encode()


@pytest.mark.parametrize("end", ["", "…", "...", '", "at": 1', "\x00", "\n"])
def test_a_copy_that_was_cut_goes(end):
    texts = Texts(["My favourite restaurant in the old town of Bern is Adler"])
    cut = "My favourite restaurant in the old town of Be" + end

    assert texts.is_in(cut.encode())
    assert "restaurant" not in texts.clean(cut)
    assert b"restaurant" not in texts.overwrite(cut.encode())
    assert not texts.is_in(texts.clean(cut).encode())


@pytest.mark.parametrize(("given", "other"), [
    ("tomorrow", "Tomorrowland opens, see you tomorrow"),
    ("привет", "приветствую всех, привет"),
    ("My secret is the lake house\n" + "-" * 40, "# " + "-" * 40),
])
def test_one_word_of_somebody_takes_nothing_from_others(given, other):
    assert Texts([given]).clean(other) == other


CODED = ('My locker is at the läst door of the große Halle, "upstairs": '
         "the code is canaryBird7731blue, and nobody else has it.")


@pytest.mark.parametrize("copy", [
    CODED.upper(), CODED.lower(), CODED.title(), CODED.swapcase(),
    unicodedata.normalize("NFD", CODED).upper(),
    CODED.replace("ä", "a\u0308"),
    textwrap.fill(CODED, 20), textwrap.fill(CODED, 30).replace("\n", "\r\n"),
    textwrap.indent(textwrap.fill(CODED, 30), "> "),
    CODED.replace(" ", "\xa0"), CODED.replace(" ", "  "),
    CODED.replace("blue", "\xadblue").replace("upst", "up\u200bst"),
    CODED.replace(" ", "&nbsp;").replace('"', "&quot;"),
    json.dumps(textwrap.fill(CODED.upper(), 25))[1:-1],
    json.dumps(CODED.replace(" ", "\u2009"))[1:-1],
    quote(CODED.upper()), quote_plus(CODED)])
def test_a_text_goes_in_whatever_letters_and_line_ends(copy):
    texts = Texts([CODED])
    whole = f"Before: {copy} After."

    assert texts.is_in(whole.encode())
    assert texts.is_in(b"\0" * 5000 + whole.encode() + b"\0\xff")
    cleaned = texts.clean(whole)
    assert not texts.is_in(cleaned.encode())
    assert cleaned.endswith(" After.")
    assert "canary" not in cleaned.lower()
    assert b"canary" not in texts.overwrite(b"\0" + whole.encode()).lower()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_other_letters_are_found_in_utf_16(encoding):
    data = b"\0" + CODED.upper().replace("SS", "ß").encode(encoding)

    assert Texts([CODED]).is_in(data)
    assert not Texts([CODED]).is_in(Texts([CODED]).overwrite(data))


@pytest.mark.parametrize(("text", "copy"), [
    ("Мой шкафчик у последней двери", "МОЙ ШКАФЧИК\nУ ПОСЛЕДНЕЙ ДВЕРИ"),
    ("Ο κωδικός της πόρτας", "Ο ΚΩΔΙΚΌΣ ΤΗΣ ΠΌΡΤΑΣ"),
    ("내 사물함은 마지막 문", unicodedata.normalize(
        "NFD", "내 사물함은\n마지막 문"))])
def test_other_scripts_are_one_text_in_any_letters(text, copy):
    assert Texts([text]).is_in(f"so: {copy}.".encode())
    assert Texts([text]).clean(f"so: {copy}.") == f"so: {MARK}."


_blank = st.sampled_from([" ", "\n", "\r\n", "\xa0", "  ", "\t", "\n> "])


@given(st.lists(st.sampled_from(
    ["harbour", "Schlüssel", "Straße", "ΣΟΦΌΣ", 'a"b', "C:\\new", "x-77"]),
    min_size=3, max_size=9), st.data())
def test_json_that_was_written_anew_stays_json_and_holds_it_no_more(
        words, data):
    """In other letters, wrapped elsewhere, once or twice in JSON."""
    texts = Texts([" ".join(words)])
    copy = "".join(data.draw(st.sampled_from(
        [word, word.upper(), unicodedata.normalize("NFD", word)]))
        + data.draw(_blank) for word in words).rstrip(" \n\r\t\xa0>")
    value = {"a": f"before {copy} after", "b": ["\\", copy]}
    if data.draw(st.booleans()):
        value = {"c": json.dumps(value)}
    line = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    cleaned = texts.clean(line)

    assert texts.is_in(line.encode())
    assert not texts.is_in(cleaned.encode())
    found = json.loads(cleaned)
    found = json.loads(found["c"]) if "c" in found else found
    assert found["a"] == f"before {MARK} after"


@pytest.mark.parametrize("name", ["telegram", "custom:http", "17954151"])
def test_a_name_that_is_no_code_stays(name):
    texts = Texts([name])
    line = json.dumps({"sender": name, "model": name + "s"})

    assert texts.clean_bytes(line.encode()) == line.encode()


def test_a_code_in_a_name_goes():
    texts = Texts([CODED])
    line = json.dumps({"session": "trip-CanaryBird7731blue", "n": 1,
                       "canarybird7731blue": {"model": "tea"}})

    assert json.loads(texts.clean_bytes(line.encode())) == {
        "session": f"trip-{MARK}", "n": 1, MARK: {"model": "tea"}}
