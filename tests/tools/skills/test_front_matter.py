"""The part of YAML that skills use."""

import time

import pytest

from claw.tools.skills.front_matter import (
    FrontMatterError,
    parse_front_matter,
    split_front_matter,
)


@pytest.mark.each(("text", "value"), [
    ("key: plain", "plain"),
    ("key: plain # a remark", "plain"),
    ("key: a: b, as many write it", "a: b, as many write it"),
    ('key: "quoted: \\u00e4"', "quoted: ä"),
    ("key: 'it''s'", "it's"),
    ("key: >-\n  over two\n  lines", "over two lines"),
    ("key: |\n  over two\n  lines", "over two\nlines"),
    ("key:\n  set in\n  text", "set in text"),
    ("key: begun\n  and set in", "begun and set in"),
    ("key:\n  - Read\n  - Bash(git:*)", ["Read", "Bash(git:*)"]),
    ("key:\n- Read", ["Read"]),
    ("key: [Read, 'Write']", ["Read", "Write"]),
    ("key:\n  author: me\n  version: \"1.0\"",
     {"author": "me", "version": "1.0"}),
    ("key: 12", "12"),
    ("key:", ""),
])
def test_a_value_is_a_text_a_list_or_a_map(text, value):
    assert parse_front_matter(text.split("\n")) == {"key": value}


@pytest.mark.each("text", ["---\nname: x\n---\nBody", "\ufeff---\nname: x"
                           "\n---\nBody", "---\r\nname: x\r\n---\r\nBody"])
def test_marks_of_order_and_line_ends_of_windows_are_no_hindrance(text):
    assert split_front_matter(text) == ({"name": "x"}, "Body\n")


@pytest.mark.each("text", [
    "", "# no head", "---\nname: x\n", "---\nname: &a x\n---\n",
    "---\nname: !!python/object:os.system x\n---\n", "---\njust text\n---\n",
    "---\nname: a\nname: b\n---\n", "---\nname: {a: b}\n---\n",
    "---\n" + "".join(f"k{n}: v\n" for n in range(100_000)) + "---\n"])
def test_what_is_no_front_matter_is_refused(text):
    with pytest.raises(FrontMatterError):
        split_front_matter(text)


def test_a_line_of_blanks_does_not_hold_up_the_list_for_minutes():
    start = time.process_time()

    found = parse_front_matter(["key: a" + " " * 300_000 + "b"])

    assert found["key"].endswith("b")
    assert time.process_time() - start < 2
