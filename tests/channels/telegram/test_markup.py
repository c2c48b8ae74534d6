"""Markdown arrives on Telegram as the same text in valid parts."""

import itertools
import json
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claw.channels.markup import parse_markdown
from claw.channels.splitting import utf16_len
from claw.channels.telegram.entities import (
    Entity,
    split_markdown,
    to_entities,
)

STYLES = {"bold", "italic", "strikethrough"}
FRAGMENTS = [
    "**", "*", "***", "__", "_", "~~", "~", "`", "``", "```", "\n```py\n",
    "\n```\n", "~~~", "\n", "\n\n", "\r\n", "# ", "\n## ", "#", "- ", "\n- ",
    "\n  * ", "\n1. ", "> ", "\n> ", "\n>> ", "\n|a|b|\n|-|-|\n|1|2|\n", "|",
    "\n---\n", "[", "]", "(", ")", "[t](https://e.com/a_b)", "](http://x.y)",
    "![", "!", "\\", "\\*", "https://e.com/_a_*b", "http://", "tg://", " ",
    "    ", "\t", "a", "b c", "word", "9", "é", "e\u0301", "漢字", "。",
    "한국어", "สวัสดี", "مرحبا", "😀", "👩\u200d👩\u200d👧", "🇩🇪", "👍🏽",
    "\u200b", "\u3000", "\0", "\x1b", "\ud800", "\udc00", "\u2028", "<b>",
    "&amp;", "@name_x", "/cmd", ".", "!", "?"]
markdown = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3),
                    max_size=60).map("".join)


def render(source: str) -> tuple[str, list[Entity]]:
    text, spans = parse_markdown(source)
    return text, to_entities(text, spans)


def covered(text: str, entity: Entity) -> str:
    wire = text.encode("utf-16-le")
    start = entity["offset"] * 2
    return wire[start:start + entity["length"] * 2].decode("utf-16-le")


def shape(markdown_text: str) -> tuple[str, list[tuple[str, ...]]]:
    """The text, and for each entity its type, text and extra."""
    text, entities = render(markdown_text)
    return text, [(e["type"], covered(text, e),
                   *filter(None, [e.get("url"), e.get("language")]))
                  for e in entities]


def check(text: str, entities: list[Entity]) -> None:
    """What the server's rules ask of a message's entities."""
    json.dumps(text, ensure_ascii=False).encode()
    ends = [(e["offset"], -e["offset"] - e["length"]) for e in entities]
    assert ends == sorted(ends)
    for entity in entities:
        inside = covered(text, entity)  # raises on half a pair
        assert entity["length"] > 0
        assert entity["offset"] + entity["length"] <= utf16_len(text)
        assert inside == inside.rstrip()
        first_line = inside.split("\n", 1)[0]
        assert (first_line.strip() if entity["type"] == "pre"
                else inside == inside.lstrip())
        assert ("url" in entity) == (entity["type"] == "text_link")
    for one, two in itertools.combinations(entities, 2):
        check_pair(one, two)


def check_pair(one: Entity, two: Entity) -> None:
    end = one["offset"] + one["length"]
    if two["offset"] >= end:
        return
    assert two["offset"] + two["length"] <= end, "entities cross"
    assert one["type"] != two["type"], "nested in its own kind"
    if "blockquote" in (one["type"], two["type"]):
        return
    assert not {one["type"], two["type"]} & {"code", "pre"}
    assert {one["type"], two["type"]} & STYLES


def check_pieces(source, limit=4096):
    text, _ = render(source)
    pieces = split_markdown(source, limit)
    at = 0
    for piece, inside in pieces:
        while not text.startswith(piece, at):
            assert text[at].isspace() or not shows(text[at])
            at += 1
        at += len(piece)
        assert utf16_len(piece) <= limit
        assert any(map(shows, piece))
        assert len(inside) <= 100
        assert piece == piece.rstrip()
        assert piece[0].strip() or inside[0]["type"] in ("pre", "blockquote")
        check(piece, inside)
    assert not any(map(shows, text[at:].strip()))
    return pieces


def shows(letter: str) -> bool:
    return (unicodedata.category(letter)[0] in "LNPSM"
            or unicodedata.category(letter) == "Co") and letter not in (
                "\ufffc\u2800\u3164\uffa0\u115f\u1160\u034f"
                "\ufe00\ufe01\ufe02\ufe03\ufe04\ufe05\ufe06\ufe07"
                "\ufe08\ufe09\ufe0a\ufe0b\ufe0c\ufe0d\ufe0e\ufe0f")


@pytest.mark.each(("source", "text", "entities"), [
    ("plain", "plain", []),
    ("**a** __b__", "a b", [("bold", "a"), ("bold", "b")]),
    ("*a* _b_", "a b", [("italic", "a"), ("italic", "b")]),
    ("~~a~~", "a", [("strikethrough", "a")]),
    ("***a***", "a", [("bold", "a"), ("italic", "a")]),
    ("**a *b* c**", "a b c", [("bold", "a b c"), ("italic", "b")]),
    ("**a *b***", "a b", [("bold", "a b"), ("italic", "b")]),
    ("**a\nb**", "a\nb", [("bold", "a\nb")]),
    ("`a*b*`", "a*b*", [("code", "a*b*")]),
    ("`` a`b ``", "a`b", [("code", "a`b")]),
    ("**a `b` c**", "a b c",
     [("bold", "a"), ("code", "b"), ("bold", "c")]),
    ("# Title", "Title", [("bold", "Title")]),
    ("### **T** `c` ##", "T c", [("bold", "T"), ("code", "c")]),
    ("## C#", "C#", [("bold", "C#")]),
    ("[t](https://e.com/a_(b)_c)", "t",
     [("text_link", "t", "https://e.com/a_(b)_c")]),
    ('[t](https://e.com "tip")', "t",
     [("text_link", "t", "https://e.com")]),
    ("**[t](https://e.com)**", "t",
     [("text_link", "t", "https://e.com"), ("bold", "t")]),
    ("[`t`](https://e.com)", "t", [("text_link", "t", "https://e.com")]),
    ("![alt](https://e.com/i.png)", "alt",
     [("text_link", "alt", "https://e.com/i.png")]),
    ("*a [b* c](https://e.com) d*", "a b* c d",
     [("italic", "a b* c d"), ("text_link", "b* c", "https://e.com")]),
    ("- a\n* b\n  + c", "• a\n• b\n  • c", []),
    ("- **a**: b", "• a: b", [("bold", "a")]),
    ("1. a\n2. b", "1. a\n2. b", []),
    ("> a\n> **b**\nc", "a\nb\nc", [("blockquote", "a\nb"), ("bold", "b")]),
    (">> a\n>\n> b", "a\n\nb", [("blockquote", "a\n\nb")]),
    ("> ```\n> x\n> ```", "x", [("blockquote", "x"), ("pre", "x")]),
    ("a\n```py\n  x\n\ny\n```\nb", "a\n  x\n\ny\nb",
     [("pre", "  x\n\ny", "py")]),
    ("1. do\n   ```sh\n   ls\n     -l\n   ```", "1. do\nls\n  -l",
     [("pre", "ls\n  -l", "sh")]),
    ("~~~\n```\n~~~", "```", [("pre", "```")]),
    ("````\n```\n````", "```", [("pre", "```")]),
    ("```c++\nopen", "open", [("pre", "open", "c++")]),
    ("```py title\nx\n```", "title\nx", [("pre", "title\nx", "py")]),
    ("|a|b|\n|:-|-:|\n|**1**|2|\nend", "|a|b|\n|:-|-:|\n|**1**|2|\nend",
     [("pre", "|a|b|\n|:-|-:|\n|**1**|2|")]),
    ("\\*a\\* \\_b\\_", "*a* _b_", []),
    ("😀 **😀b** 漢", "😀 😀b 漢", [("bold", "😀b")]),
    ("这是**重点（注）**内容", "这是重点（注）内容", [("bold", "重点（注）")]),
    ("**서울**은 크다", "서울은 크다", [("bold", "서울")]),
    ("**Pros**/**Cons**", "Pros/Cons", [("bold", "Pros"), ("bold", "Cons")]),
])
def test_markdown_becomes_entities(source, text, entities):
    assert shape(source) == (text, entities)


@pytest.mark.each("literal", [
    "**a", "a**", "*a", "a*", "** a **", "a *b", "~~a", "~a~", "`a", "``a`",
    "2*3*4 = 24", "x**2 + y**2", "snake_case_name", "文件_名_称",
    "__init__.py", "obj.__len__()", "./_build/_x", "src/**/*.js, **/*.py",
    "f(*args, **kwargs)", "(*) one (*) two", "a * b * c", "____", "****a****",
    "[t](ftp://e.com)", "[t]", "[t](b)", "[](https://e.com)",
    "[app](http://localhost:3000)", "[t](https://e.com", "](https://e.com)",
    "https://e.com/_a_/__b__", "C:\\\\share\\path", "\\(x_1\\)", "\\[x\\]",
    "---", "***", "- - -", "#hashtag", "# ", "####### x", ">5 of 6", ">_<",
    "-5 degrees", "-", "```", "```\n\n```", "```py\n```", "a|b", "|a|\n|b|",
    "<b>x</b>", "&amp;", "¯\\\\(ツ)/¯", "@user_name_x", "1.5 * 2", "5 ~ 6",
])
def test_what_is_no_markdown_stays_as_written(literal):
    assert render(literal) == (literal, [])


@pytest.mark.parametrize(("source", "text"), [
    ("a\r\nb\rc", "a\nb\nc"),
    ("a\0b\x1b[31m", "ab[31m"),
    ("\ud83d\ude00", "😀"),
    ("a\ud83db", "a\ufffdb"),
])
def test_what_the_server_refuses_is_cleaned(source, text):
    assert render(source) == (text, [])


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def with_extras(text: str, entities: list[Entity]) -> str:
    """The text with addresses after their links and languages before
    their blocks, as they stood in the source."""
    wire = text.encode("utf-16-le")
    put = sorted(
        [(e["offset"], 0, e["language"]) for e in entities
         if "language" in e]
        + [(e["offset"] + e["length"], -1, e["url"]) for e in entities
           if "url" in e])
    parts, at = [], 0
    for offset, _, extra in put:
        parts += [wire[at * 2:offset * 2].decode("utf-16-le"), extra]
        at = offset
    return "".join([*parts, wire[at * 2:].decode("utf-16-le")])


def cleaned(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode(
        "utf-16-le", "replace")


@settings(max_examples=400, deadline=None)
@given(markdown.filter(lambda text: '"' not in text))
def test_no_letter_is_lost_or_moved(source):
    text, entities = render(source)

    assert letters(with_extras(text, entities)) == letters(cleaned(source))


@settings(max_examples=400, deadline=None)
@given(markdown, st.integers(2, 60))
def test_fuzzed_markdown_arrives_as_the_same_text_in_valid_parts(source,
                                                                 limit):
    text, entities = render(source)

    check(text, entities)
    check_pieces(source, limit)


@settings(max_examples=200, deadline=None)
@given(st.text(), st.integers(2, 20))
def test_any_text_is_split_without_loss(source, limit):
    check_pieces(source, limit)


inner = st.text("abcxyzäß漢字한😀", min_size=1, max_size=8)
wrapped = st.one_of(
    inner.map(lambda t: (t, t, None)),
    st.tuples(inner, st.sampled_from([
        ("**", "bold"), ("*", "italic"), ("_", "italic"),
        ("~~", "strikethrough"), ("`", "code"), ("__", "bold")])).map(
            lambda p: (p[1][0] + p[0] + p[1][0], p[0], p[1][1])))


@settings(max_examples=200, deadline=None)
@given(st.lists(wrapped, min_size=1, max_size=30))
def test_proper_markdown_keeps_every_format(words):
    source = " ".join(word for word, _, _ in words)

    text, entities = shape(source)

    assert text == " ".join(plain for _, plain, _ in words)
    assert entities == [(kind, plain) for _, plain, kind in words if kind]


@pytest.mark.parametrize("blank", [
    "", " ", "\n\n", " \t\u3000\u2003", "\u200b\u200b", "\ufe0f", "\u2800"])
def test_nothing_to_see_makes_no_piece(blank):
    assert split_markdown(blank) == []


def texts(source: str, limit: int) -> list[str]:
    return [piece for piece, _ in check_pieces(source, limit)]


@pytest.mark.parametrize(("source", "limit", "pieces"), [
    ("  a b  ", 10, ["a b"]),
    ("aaaa bbbb\n\ncc dd\neee", 18, ["aaaa bbbb", "cc dd\neee"]),
    ("aaaa bbb\nccc ddd eee", 15, ["aaaa bbb", "ccc ddd eee"]),
    ("One, two. Six seven eight", 15, ["One, two.", "Six seven eight"]),
    ("一二三四。五六七八九", 8, ["一二三四。", "五六七八九"]),
    ("aaaa bbbb cccc", 10, ["aaaa bbbb", "cccc"]),
    ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
    ("😀😀😀", 5, ["😀😀", "😀"]),
    ("abe\u0301d", 3, ["ab", "e\u0301d"]),
    ("ab🇩🇪🇫🇷", 7, ["ab🇩🇪", "🇫🇷"]),
    ("a👩\u200d👧b", 5, ["a", "👩\u200d👧", "b"]),
    ("a👍🏽", 4, ["a", "👍🏽"]),
    ("각\u1100\u1161\u11a8", 3, ["각", "\u1100\u1161\u11a8"]),
])
def test_a_cut_falls_on_the_best_border(source, limit, pieces):
    assert texts(source, limit) == pieces


def test_an_entity_over_a_cut_goes_on():
    pieces = split_markdown("```py\n" + "    line\n" * 4 + "```", 20)

    assert pieces == [
        ("    line\n    line", [{"type": "pre", "offset": 0, "length": 17,
                                 "language": "py"}])] * 2


def test_a_short_block_of_code_is_not_cut():
    source = "intro text\n```\naaaa\nbbbb\ncccc\n```\nend"

    assert texts(source, 20) == ["intro text", "aaaa\nbbbb\ncccc\nend"]


def test_a_piece_has_at_most_100_entities():
    source = "**a** *b* " * 200

    pieces = check_pieces(source)

    assert len(render(source)[1]) == 400
    assert sum(len(inside) for _, inside in pieces) == 400


def test_a_long_answer_arrives_in_full_pieces():
    source = "Some words of **an** answer. " * 1000

    pieces = check_pieces(source)

    assert " ".join(piece for piece, _ in pieces) == render(source)[0].strip()
    assert all(len(inside) > 90 for _, inside in pieces[:-1])


def test_a_limit_without_room_for_a_pair_is_refused():
    with pytest.raises(ValueError, match="room"):
        split_markdown("😀", 1)


def test_length_counts_utf16_units():
    assert [utf16_len(t) for t in ("", "aé漢", "😀", "\ud800")] == [0, 3, 2, 1]


@pytest.mark.parametrize("unit", [
    "*", "* ", "*a **b ", "[", "[a](", "[a](http://x.y", "](http://x.y](b)",
    ">", "> ", "`", "`a", "\\", "\\*", "_a", "- ", "|\n", "|a|\n|-|\n", "#",
    "# a\n", "```\n", "~~~\n```\n", "    ", "\n", "😀", "😀\u200d", "🇩",
    "a\u0301", "~~a", "**`a`", "http://", "<", "\0", "\u200b", "- a\n"])
def test_hostile_text_takes_linear_time(unit):
    def cost(size):
        source = unit * (size // len(unit))
        begin = time.process_time()
        split_markdown(source)
        return time.process_time() - begin

    small, large = cost(20_000), cost(200_000)

    assert large < 0.5 + 30 * small
    assert large < 4
