"""Files that an answer names."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claw.channels.markers import (
    Marker,
    inert,
    lone_attachment,
    parse_markers,
    without_fetches,
)
from claw.text.addresses import make_plain


@pytest.mark.parametrize(("written", "kind"), [
    ("IMAGE", "image"), ("PHOTO", "image"), ("photo", "image"),
    ("DOCUMENT", "document"), ("File", "document"), ("VIDEO", "video"),
    ("audio", "audio"), ("VoIcE", "voice")])
def test_kinds_are_read_in_any_case(written, kind):
    assert parse_markers(f"[{written}:/a/b.x]") == (
        "", [Marker(kind, "/a/b.x")])


@pytest.mark.parametrize(("text", "left", "targets"), [
    ("Here:\n[IMAGE:/a b.png]\ndone", "Here:\ndone", ["/a b.png"]),
    ("a\n\n[IMAGE:x]\n\nb", "a\n\nb", ["x"]),
    ("a\n[IMAGE:x]\n\nb", "a\n\nb", ["x"]),
    ("[IMAGE:x]\n\nb", "b", ["x"]),
    ("a\n\n[IMAGE:x]\n", "a", ["x"]),
    ("[IMAGE:x][FILE:y]\n[VIDEO:z]", "", ["x", "y", "z"]),
    ("see [IMAGE:x] here", "see here", ["x"]),
    ("see [IMAGE:x].", "see.", ["x"]),
    ("[IMAGE:x] [FILE:y] both", "both", ["x", "y"]),
    ("  [IMAGE:x] caption", "  caption", ["x"]),
    ("- [IMAGE:x]\n- two", "- two", ["x"]),
    ("图：[IMAGE:/图/一.png]好", "图：好", ["/图/一.png"]),
    ("[IMAGE: /x.png ]", "", ["/x.png"]),
    ("[FILE:/a[1](2)[[3]].txt]", "", ["/a[1](2)[[3]].txt"]),
    ("[see [IMAGE:x]]", "[see]", ["x"]),
    ("[IMAGE:data:image/png;base64,AA+/=]", "",
     ["data:image/png;base64,AA+/="]),
    ("a\n\n\nb [IMAGE:x]", "a\n\n\nb", ["x"]),
])
def test_markers_leave_the_text_tidy(text, left, targets):
    plain, markers = parse_markers(text)

    assert plain == left
    assert [marker.target for marker in markers] == targets


@pytest.mark.each("text", [
    "", "plain  text \n\n\n", "[IMAGE:]", "[IMAGE:  ]", "[IMAGE]", "IMAGE:x]",
    "[STICKER:x]", "[Voice] hello", "[IMAGE:x", "[IMAGE:x\n]", "[IMAGE:[x]",
    "`[IMAGE:x]`", "``a [IMAGE:x]``", "```\n[IMAGE:x]\n```",
    "  ~~~\n[IMAGE:x]\n  ~~~", "```py\n[IMAGE:x]", "[FILE: notes](http://x)",
    "`a\n[IMAGE:x]`", "[ıMAGE:x]", "[ IMAGE:x]", "[[IMAGES:x]]"])
def test_what_is_no_marker_stays(text):
    assert parse_markers(text) == (text, [])


@pytest.mark.parametrize("text", [
    "`a` [IMAGE:x]", "` [IMAGE:x]", "`a\n\n[IMAGE:x]`",
    "```\ncode\n```\n[IMAGE:x]", "````\n```\n````\n[IMAGE:x]",
    "`` ` [IMAGE:x]"])
def test_code_elsewhere_hides_no_marker(text):
    assert parse_markers(text)[1] == [Marker("image", "x")]


pieces = st.sampled_from([
    "[IMAGE:x]", "[FILE:a b]", "[IMAGE:", "[", "]", "`", "```", "\n", "\n\n",
    " ", "word", "漢", "😀", "(", "- ", "[x]", "[VOICE:[y]]"])


@settings(deadline=None)
@given(st.lists(pieces, max_size=25).map("".join))
def test_no_letter_is_lost(text):
    def letters(value):
        return sorted(filter(str.isalnum, value))

    plain, markers = parse_markers(text)
    whole = plain + "".join(m.target for m in markers)
    names = [name for name in ("IMAGE", "FILE", "VOICE")
             for _ in range(text.count(name) - whole.count(name))]

    assert letters(whole + "".join(names)) == letters(text)
    assert len(names) == len(markers)


@pytest.mark.parametrize(("text", "kind"), [
    ("/tmp/a.png", "image"), (" /tmp/my pic.JPG\n", "image"),
    ("~/a.pdf", "document"), ("./out/a.mp4", "video"),
    ("file:///a/b.ogg", "voice"), ("C:\\a\\b.mp3", "audio"),
    ("`/tmp/a.png`", "image"), ("reports/q1.csv", "document"),
    ("https://e.com/a/b.webp?x=1#y", "image"), ("/图/一.zip", "document"),
])
def test_a_message_that_is_a_file(text, kind):
    target = text.strip().strip("`")

    assert lone_attachment(text) == Marker(kind, target)


@pytest.mark.parametrize("text", [
    "", "a", "notes.txt", "see /tmp/a.png", "/tmp/a.png\n/tmp/b.png",
    "/tmp/a", "/tmp/a.py", "https://e.com", "https://e.zip",
    "https://e.com/a.png is it", "https://e.com/a?b.png", "ftp://e.com/a.png",
    "javascript://e.com/a.png", "/" + "a" * 5000 + ".png", "and/or", "1/2.5"])
def test_a_message_that_is_text(text):
    assert lone_attachment(text) is None


@pytest.mark.parametrize(("text", "expected"), [
    ("say [IMAGE:x]", "say (IMAGE:x]"), ("[[file:a]]", "[(file:a]]"),
    ("[IMAGE :x] [other:y]", "[IMAGE :x] [other:y]"), ("", "")])
def test_inert_text_names_no_file(text, expected):
    assert inert(text) == expected
    assert parse_markers(inert(text))[1] == []


@pytest.mark.parametrize(("text", "expected"), [
    ("a [IMAGE:https://e.com/?q=1] b", "a https://e.com/?q=1 b"),
    ("[FILE: HTTP://e.com/x ][photo:a.png]", "HTTP://e.com/x[photo:a.png]"),
    (" https://e.com/a.png?q=1 ", "Link: https://e.com/a.png?q=1"),
    ("`https://e.com/a.png`", "Link: `https://e.com/a.png`"),
    ("[IMAGE:https://e.com/a.png]", "Link: https://e.com/a.png"),
    ("`[IMAGE:https://e.com/a.png]`", "`[IMAGE:https://e.com/a.png]`"),
    ("[IMAGE:a.png]", "[IMAGE:a.png]"), ("/tmp/a.png", "/tmp/a.png"),
    ("", ""), ("see https://e.com/a.png", "see https://e.com/a.png")])
def test_addresses_to_send_become_addresses_to_click(text, expected):
    changed = without_fetches(text)

    assert changed == expected
    assert not any(m.target.lower().startswith("http")
                   for m in parse_markers(changed)[1])
    assert without_fetches(changed) == changed


def test_a_marker_taken_away_brings_no_other_to_life():
    marker = "[IMAGE:https://e.com/a]"
    text = without_fetches(make_plain(f"(```1. {marker}``]{marker}~``"))

    assert not any(m.target.strip("`").startswith("http")
                   for m in parse_markers(text)[1])


@pytest.mark.parametrize("unit", [
    "[IMAGE:", "[IMAGE:x]", "[", "]", "[[IMAGE:x]", "`", "`a", "```\n",
    "`[IMAGE:x]", "\n", "\n ", " ", "[IMAGE:x]\n", "a/", "/a."])
def test_hostile_text_takes_linear_time(unit):
    text = unit * (1_000_000 // len(unit))
    begin = time.process_time()
    parse_markers(text)
    lone_attachment(text)
    without_fetches(text)

    assert time.process_time() - begin < 4


def test_the_shortest_path_is_a_file():
    assert lone_attachment("/a.md") == Marker("document", "/a.md")
    assert lone_attachment(".md") is None
