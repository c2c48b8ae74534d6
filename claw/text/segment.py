"""Text into words, the same for what is stored and what is asked.

Case, width and diacritics are folded. Runs of scripts written without
spaces become overlapping pairs of characters (Han, kana, Hangul) or triples
(Thai, Lao, Khmer, Burmese), and each Han character also stands alone, so
that a part of a sentence finds the whole. Stop words stay in the index and
are dropped from queries.

`index_text` is a text of stems with one space between them, and of pieces
of the words that are not English (grams.py), meant for FTS5's `ascii`
tokenizer: no table of SQLite's takes part. Bump INDEX_VERSION
when the result changes.
"""

import functools
import re
import unicodedata
from itertools import filterfalse
from typing import Literal

from claw.text.grams import (
    MARK,
    cut_word,
    find_language,
    has_tones,
)
from claw.text.stem import stem
from claw.text.stopwords import CJK_STOP_WORDS, STOP_WORDS

INDEX_VERSION = 4
MAX_WORD = 64  # characters; what is longer is no word

# One letter per script class, so that the patterns below stay tiny: a
# pattern over the real ranges takes milliseconds to compile.
_CLASSES = {
    "H": [(0x3005, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
          (0xF900, 0xFAFF), (0x20000, 0x3FFFF)],        # Han
    "h": [(0x3041, 0x309F)],                            # Hiragana
    "c": [(0x30A1, 0x30FF), (0x31F0, 0x31FF),           # Katakana
          (0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F),
          (0xAC00, 0xD7FF)],                            # Hangul
    "s": [(0x0E01, 0x0ECF), (0x1000, 0x109F),           # Thai, Lao, Burmese
          (0x1780, 0x17D3)],                            # Khmer
}
_run = re.compile("[Hhc]+|s+|o+")
_ascii_word = re.compile("[a-z0-9]+")
_piece = re.compile(r"(?s).{1,1024}(?=\s|\Z)|.{1,1024}")

# Letters that Unicode does not take apart, and marks that only decorate.
_PLAIN = {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe",
          "ħ": "h", "ŧ": "t", "ð": "d", "þ": "th"}
_DROPPED = [(0x0300, 0x036F), (0x0591, 0x05BD), (0x05BF, 0x05BF),
            (0x0610, 0x061A), (0x0640, 0x0640), (0x064B, 0x065F),
            (0x0670, 0x0670), (0x00AD, 0x00AD), (0x200B, 0x200F),
            (0x2060, 0x2060), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)]


class _Letters(dict[int, str | None]):
    """A str.translate table, filled as characters are met: letters, digits
    and marks stay, decoration goes, the rest becomes a space."""

    def __missing__(self, code: int) -> str | None:
        letter = chr(code)
        value: str | None
        if any(low <= code <= high for low, high in _DROPPED):
            value = None
        elif unicodedata.category(letter)[0] in "LNM":
            value = _PLAIN.get(letter, letter)
        else:
            value = " "
        self[code] = value
        return value


class _Scripts(dict[int, str]):
    """A str.translate table from characters to their class, "o" = other."""

    def __missing__(self, code: int) -> str:
        value = next((name for name, ranges in _CLASSES.items()
                      if any(low <= code <= high for low, high in ranges)),
                     "o")
        self[code] = value
        return value


_letters = _Letters()
_scripts = _Scripts()


def clean(text: str) -> str:
    """Text that UTF-8 can carry: halves of a surrogate pair that belong
    together are joined, lone ones become U+FFFD. All else is unchanged."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode(
            "utf-16-le", "replace")
    return text


def _normalize(form: Literal["NFC", "NFD", "NFKC"], text: str) -> str:
    """unicodedata's takes the square of a run of marks: long texts go in
    pieces, cut before a space where there is one."""
    return "".join(unicodedata.normalize(form, piece)
                   for piece in _piece.findall(text))


def words(text: str) -> list[str]:
    """Folded words in order; a spaceless run stays in one piece."""
    if text.isascii():
        return _ascii_word.findall(text.lower())
    folded = _normalize("NFKC", text).casefold()
    # Taken apart, undecorated, and put together again: Hangul survives.
    bare = _normalize("NFD", folded).translate(_letters)
    return _normalize("NFC", bare).split()


def tokens(text: str) -> list[str]:
    """What the index holds for a text, in order, with repetitions."""
    found: list[str] = []
    for word in words(text):
        if word.isascii():
            found.append(word[:MAX_WORD])
        else:
            found += _pieces(word)
    return found


def stem_text(text: str) -> str:
    """The stems of a text's tokens, in order."""
    return " ".join(map(stem, tokens(text)))


def index_text(text: str) -> str:
    """A text as the index takes it: the stems of its tokens, and behind a
    MARK the pieces of words that no stemmer of ours knows."""
    found = tokens(text)
    if has_tones(text):
        both = [*found, *filterfalse(str.isascii, words_with_marks(text))]
        return " ".join(map(stem, both))
    has_stems, has_pieces = find_language(text, found)
    if text.isascii() and not has_pieces:
        # What has digits is its own stem: ids would push words out of the
        # cache.
        return " ".join([_ascii_stem(word) if word.isalpha() else word
                         for word in found])
    stems: list[str] = []
    pieces: list[str] = []
    for is_latin, stemmed, cut in map(_split_token, found):
        if not cut or (is_latin and has_stems):
            stems.append(stemmed)
        if has_pieces or not is_latin:
            pieces += cut
    return " ".join([*stems, MARK, *pieces] if pieces else stems)


def _split_token(token: str) -> tuple[bool, str, tuple[str, ...]]:
    """Whether a token is Latin, its stem, and its pieces if it is a word."""
    if token.isascii() and not token.isalpha():
        return True, token, ()  # ids would fill the cache
    return _split_once(token)


@functools.lru_cache(maxsize=20_000)
def _split_once(token: str) -> tuple[bool, str, tuple[str, ...]]:
    return (token < "\u0370", stem(token),
            cut_word(token) if _is_word(token) else ())


def cut_words(text: str) -> dict[str, tuple[str, ...]]:
    """The pieces that may stand for a word of a question, by the word."""
    return {token: cut_word(token) for token in tokens(text)
            if _is_word(token)}


def _is_word(token: str) -> bool:
    """Whether it has forms: letters alone (and their marks, in alphabets
    that have them), between spaces."""
    return (token.isalpha() if token < "\u0370" else
            token[0].isalpha() and not is_spaceless(token))


def words_with_marks(text: str) -> list[str]:
    """The words of a text with the marks on their letters."""
    folded = _normalize("NFKC", text).casefold()
    return "".join(
        letter if letter.isalnum() or unicodedata.combining(letter) else " "
        for letter in folded).split()


@functools.lru_cache(maxsize=20_000)
def _ascii_stem(word: str) -> str:
    return stem(word)


def query_terms(text: str, limit: int = 64) -> list[str]:
    """The distinct terms to look for, in order, at most `limit`.

    Stop words are left out, and pairs of hiragana (endings and particles),
    unless nothing else was said.
    """
    terms = list(dict.fromkeys(
        words_with_marks(text) if has_tones(text) else tokens(text)))
    kept = [t for t in terms if t not in STOP_WORDS
            and t not in CJK_STOP_WORDS and t.translate(_scripts) != "hh"]
    return (kept or terms)[:limit]


def is_han_character(term: str) -> bool:
    """Whether a term is one Han character."""
    return len(term) == 1 and _scripts[ord(term)] == "H"


def is_spaceless(term: str) -> bool:
    """Whether a term comes from a run of a script without spaces."""
    return _scripts[ord(term[0])] != "o"


def find_script(term: str) -> str:
    """A letter for each character: H Han, h hiragana, c katakana and
    Hangul, s other scripts without spaces, o all else."""
    return term.translate(_scripts)


def spaceless_share(text: str) -> float:
    """How much of a text's letters is written without spaces, 0 to 1."""
    letters = "".join(words(text))
    if not letters or letters.isascii():
        return 0.0
    scripts = letters.translate(_scripts)
    return 1 - scripts.count("o") / len(scripts)


def _pieces(word: str) -> list[str]:
    scripts = word.translate(_scripts)
    found: list[str] = []
    for match in _run.finditer(scripts):
        start, end = match.span()
        if scripts[start] == "o":
            found.append(word[start:min(end, start + MAX_WORD)])
        elif scripts[start] == "s":  # a pair of letters says little
            found += [word[i:i + 3] for i in
                      range(start, max(start + 1, end - 2))]
        elif end - start == 1:
            found.append(word[start])
        else:
            found += [word[i:i + 2] for i in range(start, end - 1)]
            found += [word[i] for i in range(start, end)
                      if scripts[i] == "H"]
    return found
