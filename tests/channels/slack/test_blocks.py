"""How a text looks at Slack."""

import json

import pytest

from claw.channels.markup import parse_markdown
from claw.channels.slack.blocks import (
    judge_links,
    parse_recipient,
    rich_text,
    to_mrkdwn,
)
from claw.core.errors import RequestRefusedError
from claw.testing.fake_slack.methods import check_blocks, show


def draw(markdown, links=None):
    text, spans = parse_markdown(markdown)
    spans = judge_links(text, spans, links)
    return to_mrkdwn(text, spans), rich_text(text, spans)


def elements(markdown, links=None):
    outer = draw(markdown, links)[1]["elements"]
    return [(o["type"].removeprefix("rich_text_"), [
        (e["type"], e["text"], *sorted(e.get("style", ())))
        for e in o["elements"]]) for o in outer]


@pytest.mark.parametrize("text", [
    "2 * 3 * 4 = 24, a_b_c, ~x~, `", "1 < 2 & 3 > 2", "안녕, it is done.",
    "<!channel> <@U1> <#C1>", "a\nb\n\nc", "*args, **kwargs",
])
def test_plain_text_arrives_as_it_is(text):
    mrkdwn, block = draw(text)

    check_blocks([block])
    assert show("", [block]) == text
    assert show(mrkdwn, None) == text


def test_nobody_is_called_by_a_text():
    mrkdwn, block = draw("<!channel> <@U1>")

    assert "<" not in mrkdwn
    assert {e["type"] for o in block["elements"]
            for e in o["elements"]} == {"text"}


def test_formats():
    assert elements("**a** *b* ~~c~~ `d` and **굵게**입니다") == [("section", [
        ("text", "a", "bold"), ("text", " "), ("text", "b", "italic"),
        ("text", " "), ("text", "c", "strike"), ("text", " "),
        ("text", "d", "code"), ("text", " and "), ("text", "굵게", "bold"),
        ("text", "입니다")])]
    assert draw("**a** *b* ~~c~~ `d<`")[0] == "*a* _b_ ~c~ `d&lt;`"


def test_code_and_quotes_are_blocks_of_their_own():
    text = "see:\n\n```py\nx = 1\n\ny\n```\n\n> said\n> so\n\nend"

    assert elements(text) == [
        ("section", [("text", "see:\n")]),
        ("preformatted", [("text", "x = 1\n\ny")]),
        ("quote", [("text", "said\nso")]),
        ("section", [("text", "\nend")])]


def test_links():
    assert draw("[a](https://b.c/d?e=1&f=2)")[0] == \
        "<https://b.c/d?e=1&amp;f=2|a>"
    assert elements("see https://b.c/d, now") == [("section", [
        ("text", "see "), ("link", "https://b.c/d"), ("text", ", now")])]


def test_only_known_links_are_links():
    text = "https://good.org/ [x](https://evil.org/?s=1) https://evil.org/2"
    mrkdwn, block = draw(text, links=("https://good.org/",))
    links = [e["url"] for o in block["elements"] for e in o["elements"]
             if e["type"] == "link"]

    assert links == ["https://good.org/"]
    assert mrkdwn == "https://good.org/ `x` `https://evil.org/2`"


def test_a_block_is_never_empty():
    for text in ("> q", "```\nx\n```\n\n```\ny\n```", "a\n> b\nc", "**a**"):
        check_blocks([draw(text)[1]])
        assert json.dumps(draw(text)[1])


@pytest.mark.parametrize(("recipient", "thread", "expected"), [
    ("C1", None, ("C1", None)),
    ("C1", "1.2", ("C1", "1.2")),
    ("C1:1700000000.000100", None, ("C1", "1700000000.000100")),
    ("#general", None, ("#general", None)),
    (" U1 ", None, ("U1", None)),
])
def test_recipients(recipient, thread, expected):
    assert parse_recipient(recipient, thread) == expected


@pytest.mark.parametrize("recipient", ["", "a b", "C1:x", "\0", "\ud83d",
                                       "x" * 5_000])
def test_what_is_no_recipient_is_refused(recipient):
    with pytest.raises(RequestRefusedError):
        parse_recipient(recipient)
