"""A text that comes in pieces, shown without secrets as it comes.

What may be the beginning of one waits for the rest: a last word that begins
like a key, a private key up to its end, a secret of ours that is spaced out.
"""

import re
import string

from claw.security.redact.own import count_begun
from claw.security.redact.redactor import Redactor

_PRINTABLE = "".join(map(chr, range(0x21, 0x7f)))
_MOST_CHARS = 16 * 1024  # held back; a word that long is data
_BEGIN, _END = "-----BEGIN", "-----END"
_BEGIN_CHARS = 60  # of a whole line that begins a key
_AWS = (r"aws[\w-]{0,60}[\"']?\s{0,3}[:=]?\s{0,3}[\"']?"
        r"[!-~]{0,60}\Z")
_AWS_CHARS = 140
# How words begin that redaction.py and leaks.py take out.
_BEGINNINGS = (
    "sk-", "sk_", "pk_", "gsk_", "xai-", "hf_", "ghp_", "gho_", "ghu_",
    "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-", "AIza", "AKIA",
    "r8_", "pplx-", "nvapi-", "zc_", "eyJ", "-----BEGIN", "postgres",
    "mysql", "mariadb", "mongodb", "redis", "amqp", "http", "ftp", "aws",
    "AWS")
_OPENING = "([{<\"'`*=,;|"
_IN_NAMES = string.ascii_letters + string.digits + "_+-"
_LONG_CHARS = 20


class HeldBack:
    """`feed` and `end` give what may be shown by now."""

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self._text = ""

    def feed(self, piece: str) -> str:
        if self._redactor is None:
            return piece
        self._text += piece
        cut = (self._find_cut(self._redactor)
               if len(self._text) < _MOST_CHARS else len(self._text))
        ready, self._text = self._text[:cut], self._text[cut:]
        return self._redactor(ready) if ready else ""

    def end(self) -> str:
        ready, self._text = self._text, ""
        return self._redactor(ready) if self._redactor and ready else ready

    def _find_cut(self, redactor: Redactor) -> int:
        """Where a secret may begin that is not whole yet, always at the
        beginning of a word."""
        text = self._text
        cut = len(text) - count_begun(text, redactor.secrets)
        last = len(text.rstrip(_PRINTABLE))
        if cut < len(text) or _may_begin(text[last:]):
            cut = len(text[:min(cut, len(text) - 1)].rstrip(_PRINTABLE))
        key = text.rfind(_BEGIN)
        if key >= 0 and not _is_over(text[key:]):
            cut = min(cut, key)
        tail_at = max(0, len(text) - _AWS_CHARS)
        if "aws" in text[tail_at:].casefold():  # as IGNORECASE does
            named = re.compile(_AWS, re.IGNORECASE).search(text, tail_at)
            return min(cut, named.start()) if named else cut
        return cut


def _may_begin(word: str) -> bool:
    """Whether an unfinished word could become a key or an address."""
    if len(word) >= _LONG_CHARS or ":" in word:
        return True
    if any(map(str.isdigit, word)):
        return True
    names = {word[len(word.rstrip(_IN_NAMES)):],
             word.lstrip(_OPENING)} - {""}
    return any(name.startswith(_BEGINNINGS)
               or any(begin.startswith(name) for begin in _BEGINNINGS)
               for name in names)


def _is_over(text: str) -> bool:
    """Whether what begins with -----BEGIN has come to its end, or is no
    private key."""
    if len(text) > _BEGIN_CHARS and "PRIVATE KEY" not in text[:_BEGIN_CHARS]:
        return True
    return _END in text and text.partition(_END)[2].count("-----") > 0
