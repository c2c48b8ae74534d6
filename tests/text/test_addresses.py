"""Addresses that nobody asked for are mere text."""

import pytest

from claw.channels.markup import parse_markdown
from claw.text.addresses import find_urls, make_plain

EVIL = "https://evil.example/x.png?q=secret"
OURS = "https://ours.example/a"


@pytest.mark.parametrize(("text", "expected"), [
    (f"see {EVIL}.", f"see `{EVIL}`."),
    (f"![]({EVIL})", f"![](`{EVIL}`)"),
    (f'[click]({EVIL} "title")', f'[click](`{EVIL}` "title")'),
    (f"<{EVIL}>", f"<`{EVIL}`>"),
    (f"[x]: {EVIL}", f"[x]: `{EVIL}`"),
    (f"[a]({OURS}) {OURS}, {OURS}?q=1", f"[a]({OURS}) {OURS}, `{OURS}?q=1`"),
    ("tg://msg?text=s www.evil.example", "`tg://msg?text=s` "
                                         "`www.evil.example`"),
    ("evil.example/?q=s and //evil.example/s",
     "`evil.example/?q=s` and `//evil.example/s`"),
    ("[x](https&#58;//evil.example)", "[x] (https&#58;`//evil.example`)"),
    ("[x](https\\://evil.example)", "[x] (https\\://evil.example)"),
    (f"read \\{EVIL}", f"read `{EVIL}`"),
    (f"\\\\\\{EVIL} x", f"`{EVIL}` x"),
    ("éa.evil.example/x секрет.рф/x a_b.evil.example/x 1.2.3.4/x",
     "`éa.evil.example/x` `секрет.рф/x` `a_b.evil.example/x` `1.2.3.4/x`"),
    ("u:p@evil.example/x tg:resolve?d=x", "`u:p@evil.example/x` "
                                          "`tg:resolve?d=x`"),
    ("no address: notes.txt, src/main.py, 10:30, a/b, 1.5/2, e.g./i.e.",) * 2,
    ("", ""), ("`code` and **bold**",) * 2])
def test_an_address_is_put_in_code(text, expected):
    assert make_plain(text, {OURS}) == expected


@pytest.mark.parametrize("text", [
    f"`curl {EVIL}`", f"``a ` {EVIL}``", f"```sh\ncurl {EVIL}\n```\nend",
    f"~~~\n{EVIL}\n~~~"])
def test_code_stays_as_it_is(text):
    assert make_plain(text) == text


# Texts that would have it in code for one reader, and out of it for another.
TRICKS = [
    f"a ` b\nc ` d {EVIL} ` e", f"\\` {EVIL} `", f"- `\n- {EVIL} ` x",
    f"``` ~\n{EVIL}\n```\n{EVIL}", f"> ```\n{EVIL}\n> ```\n{EVIL}",
    f"\t```\n{EVIL}\n\t```\n{EVIL}", f"```\n    ```\n{EVIL}\n```\n{EVIL}",
    f"``a``{EVIL}", f"`a`{EVIL}`b`", f"x ``` {EVIL} ``` `",
    f"```\u2028```\n{EVIL}", f"1. ```\n{EVIL}\n```", f"` {EVIL}",
    EVIL.replace(":", "\0:"), f"~~~ `\n{EVIL}", f"# ` {EVIL}\n`",
    f"| a ` |\n|---|\n| {EVIL} ` |", f"**{EVIL}**", f"_{EVIL}_",
    f"[![]({EVIL})]({EVIL})", f"[{EVIL}]({EVIL})"]


@pytest.mark.parametrize("text", TRICKS)
def test_what_a_platform_shows_has_it_in_code_only(text):
    plain, spans = parse_markdown(make_plain(text))
    code = [(s.start, s.end) for s in spans if s.kind in ("code", "pre")]

    assert not any(span.kind == "text_link" for span in spans)
    at = plain.find("https://evil")
    while at >= 0:
        assert any(start <= at < end for start, end in code), plain
        at = plain.find("https://evil", at + 1)


@pytest.mark.parametrize("text", [*TRICKS, f"`{EVIL}`"])
def test_a_second_time_changes_nothing(text):
    once = make_plain(text)

    assert make_plain(once) == once


def test_addresses_are_found_each_once_without_the_sentence_around_them():
    assert find_urls(f"({OURS}), {EVIL}! {OURS}") == [OURS, EVIL]
