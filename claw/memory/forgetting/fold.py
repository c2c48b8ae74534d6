r"""Text as forgotten ones are looked for: in small letters and one normal
form, with one blank for whatever stands between words.

A copy that was wrapped anew, written in capitals or sent through another
system is the same text. Line ends, no-break spaces and their escapes in JSON,
HTML and addresses are blanks, with the marks of a quote behind a line end;
what is invisible (soft hyphens, zero-width signs) is nothing.

Pure. Each place of the folded text is known in the text that it is of.
"""

import re
import unicodedata
from bisect import bisect_right

_NOTHING = "\xad\u200b-\u200d\u2060\ufeff"
_BLANK = (
    r"[^\S ]|\\+[nrtfvNRTFV]"
    r"|\\+u(?:00(?:09|0[aAdD]|20|85|[aA]0)|200[0-9aA]|202[89fF]|3000)"
    r"|&(?:nbsp|#160|#32|#10|#13|#[xX][aA]0);"
    r"|%(?:20|09|0[aAdD]|[cC]2%[aA]0)")
_HIDDEN = (
    rf"[{_NOTHING}]|\\+u(?:00[aA][dD]|200[bBcCdD]|2060|[fF][eE][fF]{{2}})"
    r"|&(?:shy|#173|#[xX][aA][dD]);|%[cC]2%[aA][dD]")
_QUOTED = r"(?:(?<=[\n ])|(?<=\\n))>[> ]*"
_MARKS = (r"[\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20ff\u3099\u309a]"
          r"|\\+u03[0-6][0-9a-fA-F]")
_special = re.compile(
    rf"(?P<gap> *(?:(?:{_BLANK}|{_HIDDEN}|{_QUOTED}) *)+| {{2,}})"
    r"|(?:(?:\\+u[dD][89abAB]..(?=\\+u[dD][c-fC-F]))?\\+u[0-9a-fA-F]{4}"
    rf"(?:{_MARKS})*|[^\W_](?:{_MARKS})+)"
    r"|[\u1100-\u11ff]{2,}|[ßẞ]")
_sharp = re.compile("[ßẞ]")
_blank = re.compile(rf" |{_BLANK}")
_escapes = re.compile(r"(?:\\+u[0-9a-fA-F]{4})+")
_hex = re.compile(r"\\+u(.{4})")


class Folded:
    """A text, folded: `text`, and where what stood in `original`."""

    def __init__(self, original: str) -> None:
        parts: list[str] = []
        # Where pieces begin here and there; a changed one, then what follows.
        self._here, self._there = [0], [0]
        self._changed = [False]
        end = size = 0
        for found in _special.finditer(original):
            start, stop = found.span()
            piece = _fold_piece(found)
            parts += (original[end:start], piece)
            size += start - end
            self._here += (size, size + len(piece))
            self._there += (start, stop)
            self._changed += (True, False)
            size, end = size + len(piece), stop
        self.original = original
        self.text = _lower("".join([*parts, original[end:]]))

    def find_start(self, at: int) -> int:
        """Where what begins at a place of the folded text begins."""
        number = bisect_right(self._here, at) - 1
        there = self._there[number]
        return there if self._changed[number] \
            else there + at - self._here[number]

    def find_end(self, at: int) -> int:
        """Where what ends before a place of the folded text ends."""
        number = bisect_right(self._here, at) - 1
        if self._changed[number] and at > self._here[number]:
            return self._there[number + 1]
        return self.find_start(at)


def fold(text: str) -> str:
    """A text, folded."""
    return Folded(text).text


def _fold_piece(found: re.Match[str]) -> str:
    piece = found[0]
    if found["gap"] is not None:
        return " " if _blank.search(piece) else ""
    piece = _escapes.sub(_decode, piece)
    return _sharp.sub("ss", unicodedata.normalize("NFC", piece))


def _decode(escapes: re.Match[str]) -> str:
    return b"".join(
        int(one, 16).to_bytes(2, "big") for one in _hex.findall(escapes[0])
        ).decode("utf-16-be", "surrogatepass")


def _lower(text: str) -> str:
    """In small letters, as many as there were."""
    small = text.lower().replace("ς", "σ")
    if len(small) == len(text):
        return small
    return "".join(one if len(low := one.lower()) != 1 else low
                   for one in text).replace("ς", "σ")
