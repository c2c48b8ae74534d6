"""WordPiece, as BERT's uncased models cut their texts into tokens.

Control characters are dropped, CJK ideographs stand alone, accents are
taken off (which takes Hangul apart into its letters, as in training), case
is folded; each word is cut greedily into the longest pieces of the
vocabulary. "[SEP]" and its kin are plain text here: a memory must not be
able to end itself.
Source: the model's tokenizer.json; google-research/bert, tokenization.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from claw.core.errors import StorageError

MAX_TOKENS = 256
UNKNOWN, START, END = "[UNK]", "[CLS]", "[SEP]"
_WORD_CHARS = 100
# Nobody's word is longer; bounds the work for a text without spaces.
_RUN_CHARS = 4096
# Zs, line and paragraph separators, tab and line ends: other control
# characters don't part words, they vanish.
_RUN = re.compile("[^ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f"
                  "\u205f\u3000]+")
_IDEOGRAPH = re.compile(
    "([\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df"
    "\U0002a700-\U0002b73f\U0002b740-\U0002b81f\U0002b820-\U0002ceaf"
    "\U0002f800-\U0002fa1f])")
_PLAIN = re.compile("[a-z0-9]+")
_DROPPED = frozenset(("Cc", "Cf", "Co", "Cs"))


def read_vocabulary(path: Path) -> dict[str, int]:
    """Token -> number, from a file with a token a line. Raises
    StorageError for what is no vocabulary."""
    try:
        lines = path.read_bytes().decode().split("\n")
    except UnicodeDecodeError as error:
        raise _refuse(path) from error
    if lines and not lines[-1]:
        lines.pop()
    found = dict(zip(lines, range(len(lines)), strict=True))
    if not {UNKNOWN, START, END} <= found.keys():
        raise _refuse(path)
    return found


def _refuse(path: Path) -> StorageError:
    return StorageError(f"{path} is damaged",
                        hint="claw memory model install --force")


def token_ids(text: str, vocabulary: Mapping[str, int],
              limit: int = MAX_TOKENS) -> list[int]:
    """The tokens of a text between START and END, `limit` at most."""
    ids = [vocabulary[START]]
    for word in words(text):
        ids += _cut(word, vocabulary)
        if len(ids) >= limit:
            break
    return [*ids[:limit - 1], vocabulary[END]]


def words(text: str) -> Iterator[str]:
    """The words and punctuation marks of a text, folded; lazily, so that
    a long text costs no more than its beginning."""
    for run in _RUN.finditer(text):
        folded = run[0].lower() if run[0].isascii() else None
        if folded is not None and _PLAIN.fullmatch(folded):
            yield folded
        else:
            yield from _split(_fold(run[0][:_RUN_CHARS]))


def _fold(run: str) -> str:
    kept = "".join(c for c in run if c != "\ufffd"
                   and unicodedata.category(c) not in _DROPPED)
    spaced = _IDEOGRAPH.sub(r" \1 ", kept)
    bare = "".join(c for c in unicodedata.normalize("NFD", spaced)
                   if unicodedata.category(c) != "Mn")
    # One letter at a time, as in training: no final sigma.
    return bare.replace("Σ", "σ").lower()


def _split(text: str) -> Iterator[str]:
    """Split at spaces and around every punctuation mark."""
    for word in text.split():
        begun = 0
        for at, char in enumerate(word):
            # Every ASCII sign counts, `$` and `^` too.
            if not char.isalnum() if char.isascii() \
                    else unicodedata.category(char)[0] == "P":
                if at > begun:
                    yield word[begun:at]
                yield char
                begun = at + 1
        if begun < len(word):
            yield word[begun:]


def _cut(word: str, vocabulary: Mapping[str, int]) -> list[int]:
    whole = vocabulary.get(word)
    if whole is not None:
        return [whole]
    unknown = [vocabulary[UNKNOWN]]
    if len(word) > _WORD_CHARS:
        return unknown
    found: list[int] = []
    start, mark = 0, ""
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = vocabulary.get(mark + word[start:end])
            if piece is not None:
                break
        else:
            return unknown
        found.append(piece)
        start, mark = end, "##"
    return found
