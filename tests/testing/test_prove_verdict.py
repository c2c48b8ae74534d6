"""What people got is counted right, and a broken promise is named."""

import pytest

from claw.testing.prove.answers import answer_to, ask_for, pieces
from claw.testing.prove.bench import spread
from claw.testing.prove.verdict import (
    MARK,
    Got,
    Said,
    Tally,
    broken,
    judge,
    kept_wrong,
)

WROTE = [Said("1", "a"), Said("2", "x"), Said("1", "b"), Said("1", "c")]
FULL = [Got("1", "re:a"), Got("1", "re:b"), Got("2", "re:x"),
        Got("1", "re:c")]


@pytest.mark.parametrize(("got", "counted"), [
    (FULL, {}),
    (FULL[1:], {"lost": 1}),
    ([], {"lost": 4}),
    ([*FULL, FULL[3]], {"duplicated": 1}),
    ([*FULL, FULL[3], FULL[3]], {"duplicated": 2}),
    ([FULL[1], FULL[0], *FULL[2:]], {"out_of_order": 1}),
    ([*FULL, FULL[0]], {"duplicated": 1, "out_of_order": 1}),
    # chats do not wait for each other
    ([FULL[2], FULL[0], FULL[1], FULL[3]], {}),
    # sent again with the note: visible
    ([*FULL, Got("1", MARK + "re:c")], {"marked": 1}),
    # only the noted one arrived: nothing came twice
    ([*FULL[:3], Got("1", MARK + "re:c")], {"marked": 1}),
    ([*FULL[:3], Got("1", "⚠️ Error: no model")], {"told": 1}),
    # an error besides all the answers answers nothing
    ([*FULL, Got("1", "⚠️ Error: no model")], {"strange": 1}),
    ([*FULL, Got("1", "hello?")], {"strange": 1, "notices": 1}),
    ([*FULL[:2], FULL[3], Got("2", "re:b")],
     {"lost": 1, "strange": 1, "notices": 1}),
    # a placeholder notified, and the answer took its place without a sound
    ([*FULL[:3], Got("1", "re:c", first="…")], {"notices": 1}),
    ([*FULL[:3], Got("1", "re:c", first="re")], {"notices": 1}),
    ([*FULL[:3], Got("1", "re:c", first="")], {}),
    ([*FULL, Got("1", "…")], {"notices": 1, "strays": 1}),
    ([*FULL, Got("1", "…", gone=True)], {"notices": 1}),
    # half an answer that nobody finished
    ([*FULL, Got("1", "re", first="")], {"strays": 1}),
    ([*FULL[:3], Got("1", "re …", first="")], {"strays": 1, "lost": 1}),
    ([*FULL[:3], Got("1", "re:c", gone=True)], {"lost": 1}),
])
def test_verdict_counts(got, counted):
    assert judge(WROTE, got) == Tally(messages=4, **counted)


def mark(message):
    return Got(message.chat, MARK + message.text)


ASKED = [Said("1", "file a"), Said("1", "long b")]
TEXT, FILE = (Got("1", piece) for piece in pieces("file a"))
PARTS = [Got("1", piece) for piece in pieces("long b")]
WHOLE = [TEXT, FILE, *PARTS]


@pytest.mark.parametrize(("got", "counted"), [
    (WHOLE, {}),
    # a channel without a limit sends it in one message
    ([TEXT, FILE, Got("1", answer_to("long b"))], {}),
    # and again as a whole: it stands where it stood
    ([TEXT, FILE, *2 * [Got("1", answer_to("long b"))]], {"parts": 3}),
    ([TEXT, FILE, Got("1", answer_to("long b")),
      mark(Got("1", answer_to("long b")))], {"marked": 1}),
    ([TEXT, FILE, Got("1", "\n\n".join(p.text for p in PARTS[::-1]))],
     {"out_of_order": 2}),
    ([TEXT, *PARTS], {"lost": 1}),
    (WHOLE[:-1], {"lost": 1}),
    ([TEXT, FILE, FILE, *PARTS], {"files": 1}),
    ([TEXT, FILE, mark(FILE), *PARTS], {"marked": 1}),
    ([TEXT, TEXT, FILE, *PARTS], {"duplicated": 1}),
    ([*WHOLE, PARTS[-1]], {"parts": 1}),
    ([*WHOLE, mark(PARTS[-1])], {"marked": 1}),
    ([*WHOLE[:2], *(p for part in PARTS for p in (part, part))],
     {"parts": 3}),
    ([FILE, TEXT, *PARTS], {"out_of_order": 1}),
    ([TEXT, FILE, PARTS[1], PARTS[0], PARTS[2]], {"out_of_order": 1}),
    # a part that was cut in its midst
    ([*WHOLE[:-1], Got("1", PARTS[2].text[:1500], first="")],
     {"lost": 1, "strays": 1}),
])
def test_verdict_counts_files_and_parts(got, counted):
    assert judge(ASKED, got) == Tally(messages=2, **counted)


def test_a_long_answer_fits_no_message_and_each_part_fits_one():
    assert len(answer_to("long b")) > 4096
    assert all(1500 < len(piece) <= 2000 for piece in pieces("long b"))


def test_messages_ask_for_every_kind_of_answer():
    kinds = {ask_for(n, "m", files=True).removesuffix("m")
             for n in range(7)}

    assert kinds == {"", "file ", "long "}
    assert {ask_for(n, "m", files=False) for n in range(7)} \
        == {"m", "long m"}


def test_verdicts_add_up():
    assert Tally(messages=2, lost=1) + Tally(messages=3, strays=4) \
        == Tally(messages=5, lost=1, strays=4)


@pytest.mark.parametrize(("tally", "words"), [
    (Tally(messages=9), None),
    (Tally(lost=1), "lost"),
    (Tally(duplicated=1), "answers came twice without a note"),
    (Tally(parts=1), "parts of long answers came twice"),
    (Tally(files=1), "files came twice without a note"),
    (Tally(marked=2), None),
    (Tally(marked=3), "more than 1 for each"),
    (Tally(out_of_order=1), "wrong order"),
    (Tally(strange=1), "answer nothing"),
    (Tally(told=1), "with an error"),
])
def test_a_broken_promise_is_named(tally, words):
    found = broken(tally, kills=2, doubts=1)

    assert len(found) == (words is not None)
    assert words is None or words in found[0]


@pytest.mark.parametrize(("tally", "words"), [
    (Tally(notices=1), "notifications did not show the answer"),
    (Tally(strays=3), "placeholders or half answers"),
])
def test_a_phone_that_shows_no_answer_is_a_broken_promise(tally, words):
    assert words in broken(tally, kills=2, doubts=1)[0]


def test_nothing_is_repeated_where_nothing_was_struck():
    assert broken(Tally(marked=1), kills=5, doubts=0)
    assert broken(Tally(marked=1), kills=0, doubts=8)


def test_errors_are_honest_answers_where_the_model_is_away():
    assert broken(Tally(told=1), kills=1, doubts=1, may_fail=True) == []


def test_the_spread_of_times():
    assert spread([]) is None
    assert spread([5.0]) == {"p50": 5.0, "p95": 5.0, "max": 5.0}
    assert spread(range(101)) == {"p50": 50, "p95": 95, "max": 100}


@pytest.mark.parametrize(("kept", "wrong"), [
    ([["x", "re:x"], ["a", "re:a", "b", "re:b", "c", "re:c"]], 0),
    ([["x", "re:x"]], 1),
    ([["x", "re:x", "x", "re:x"],
      ["a", "re:a", "b", "re:b", "c", "re:c"]], 1),
    ([["x"], ["a", "re:a", "c", "re:c", "b", "re:b"]], 2),
    ([], 2),
])
def test_conversations_are_compared_with_what_is_kept(kept, wrong):
    assert kept_wrong(WROTE, kept) == wrong
