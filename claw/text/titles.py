"""What a conversation is called: the first words of its first question.

No line feed, no markup, no marker of an image or file. Pure; any language.
"""

import re
import unicodedata

MOST_CHARS = 60
_READ_CHARS = 2_000  # of a text that may be a whole book

# Patterns are compiled when a title is made.
_CODE = r"(?m)^\s*(`{3,}|~{3,})[^\n]*$"
_MARKER = (r"(?i)\[(?:IMAGE|DOCUMENT|VOICE|AUDIO|VIDEO|PHOTO|FILE|GIF)"
           r"(?::[^\]\n]*)?\]")
_DATA = r"data:[\w.+/-]+;base64,[\w+/=-]*"
_LINK = r"!?\[([^\]\n]*)\]\([^)\n]*\)"
_TAG = r"</?[A-Za-z][^<>\n]{0,200}>"
_LINE_MARK = (r"(?m)^\s*(?:#{1,6}\s+|>+\s*|[-*+•]\s+|\d{1,3}[.)]\s+|"
              r"\|\s*|[-=*_]{3,}\s*$)")
_PAIRS = r"(\*\*|__|~~|`+)(?=\S)(.+?)(?<=\S)\1"
_DIRECTIVE = r"\A\s*/think:\w+\s*"


def make_title(text: str, most: int = MOST_CHARS) -> str:
    """The title of a text, at most so many characters; "" where it says
    nothing."""
    text = re.sub(_DIRECTIVE, "", text[:_READ_CHARS])
    for pattern, instead in ((_DATA, " "), (_CODE, " "), (_MARKER, " "),
                             (_LINK, r"\1"), (_TAG, " "), (_LINE_MARK, " "),
                             (_PAIRS, r"\2")):
        text = re.sub(pattern, instead, text)
    plain = "".join(letter if unicodedata.category(letter) not in
                    ("Cc", "Cs", "Co", "Cn") else " " for letter in text
                    if letter not in _BIDI)
    return _cut(" ".join(plain.split()), most)


# They turn the order of what stands behind them.
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
                  "\u061c\u200e\u200f\ufeff")


def _cut(text: str, most: int) -> str:
    """At a blank where one is near the end."""
    if len(text) <= most:
        return text
    kept = text[:most - 1]
    at = kept.rfind(" ")
    if at >= most * 2 // 3 and text[most - 1] != " ":
        kept = kept[:at]
    while kept and unicodedata.category(text[len(kept)]) in ("Mn", "Me"):
        kept = kept[:-1]  # a letter and its marks stay together
    return kept.rstrip(" ,;:-–—\u200d") + "…"
