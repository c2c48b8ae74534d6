"""Markdown as Discord shows it."""

import pytest

from claw.channels.discord.markup import escape, split_markdown


@pytest.mark.parametrize(("markdown", "shown"), [
    ("plain text, 1 < 2 & 3 > 2", "plain text, 1 \\< 2 & 3 > 2"),
    ("**b** *i* ~~s~~ `c`", "**b** *i* ~~s~~ `c`"),
    ("***both***", "***both***"),
    ("snake_case and __init__.py", "snake_case and \\_\\_init\\_\\_.py"),
    ("2 * 3 * 4", "2 \\* 3 \\* 4"),
    ("||not a spoiler||", "\\|\\|not a spoiler\\|\\|"),
    ("a | b", "a | b"),
    ("# Head\ntext", "**Head**\ntext"),
    ("#tag and #5", "#tag and #5"),
    ("- one\n- two", "• one\n• two"),
    ("> quote\n> **two**\n\nafter", "> quote\n> **two**\n\nafter"),
    ("```py\nx = '_*_'\n```", "```py\nx = '_*_'\n```"),
    ("`a_b*`", "`a_b*`"),
    ("`` a`b ``", "`` a`b ``"),
    ("[the page](https://x.example/a_b)",
     "[the page](<https://x.example/a_b>)"),
    ("https://x.example/a_b_c?d=*", "https://x.example/a_b_c?d=\\*"),
    ("ask <@123> in <#45>", "ask <@123> in <#45>"),
    ("<:emoji:1> <t:1> </new:1> <@&5>",
     "\\<:emoji:1> \\<t:1> \\</new:1> \\<@&5>"),
    (r"C:\Users\me and \*", r"C:\Users\me and \*"),
])
def test_formats_are_written_and_signs_are_escaped(markdown, shown):
    assert split_markdown(markdown) == [shown]


@pytest.mark.parametrize("text", [
    "# no head", "-# small", "> no quote", ">>> all", "- item", "  * x",
    "*i* **b** __u__ ~~s~~ ||p|| `c` ```f```", "[a](https://x.example)",
    r"\*"])
def test_an_escaped_text_has_no_format_left(text):
    from_plain = escape(text)

    assert from_plain != text
    assert from_plain.replace("\\", "") == text.replace("\\", "")


def test_code_does_not_end_its_own_block():
    (shown,) = split_markdown("~~~\na ``` b\n~~~")

    assert shown.count("```") == 2


def test_a_blank_text_is_nothing():
    assert split_markdown(" \n\u200b") == []


def test_a_long_block_of_code_is_a_block_in_each_piece():
    shown = split_markdown("```py\n" + "x = 1\n" * 900 + "```", 1968)

    assert len(shown) > 2
    assert all(p.startswith("```py\n") and p.endswith("\n```")
               and len(p) <= 1968 for p in shown)
