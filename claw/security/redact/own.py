"""This installation's own secrets, found in any spelling.

As they are, in base64, hex and percent form, and spaced out: with blanks,
dashes, line ends or zero-width characters between their letters. Linear in
the length of the text: what is spaced out is looked for in the text's
letters and digits alone, which one pass over its bytes leaves.
"""

import base64
import json
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from urllib.parse import quote, quote_plus

from claw.core.value import Value

MIN_SECRET = 8  # characters; shorter ones would hit ordinary words
TAG = "[REDACTED_SECRET]"

# Spaced out, fewer letters and digits than these could stand in prose: with
# digits among them, and letters alone.
_MIN_MIXED, _MIN_WORDS = 12, 16
_TAIL_CHARS = 4096  # how far back a secret that has begun may lie
_NO_LETTER = bytes(set(range(256)) - set(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))


class _Form(Value):
    """One spelling, and its letters and digits; b"" where these are too few
    to tell it spaced out."""

    text: str
    letters: bytes


def take_out(text: str, secrets: Collection[str]) -> str:
    """The text with TAG in the place of these secrets; those under 8
    characters are left alone."""
    forms = _list_forms(tuple(secrets))
    if not forms:
        return text
    letters = _keep_letters(text)
    # A form that stands there has its letters there too.
    found = [form for form in forms
             if form.letters in letters and (form.letters
                                             or form.text in text)]
    for form in found:
        text = text.replace(form.text, TAG)
    for form in found:
        if form.letters and form.letters in _keep_letters(text):
            text = _spaced(form.letters).sub(TAG, text)
    return text


def count_begun(text: str, secrets: Collection[str]) -> int:
    """How many characters at the end may be the first of a secret."""
    tail = text[-_TAIL_CHARS:]
    letters = _keep_letters(tail)
    most = 0
    for form in _list_forms(tuple(secrets)) if letters else ():
        size = form.letters.find(letters[-1:]) + 1
        while size:
            if size > most and letters.endswith(form.letters[:size]):
                most = size
            size = form.letters.find(letters[-1:], size) + 1
    if not most:
        return 0
    begun = _spaced(letters[-most:], r"[^A-Za-z0-9]*+\Z").search(tail)
    return len(tail) - begun.start() if begun else 0


@lru_cache(maxsize=8)
def _list_forms(secrets: tuple[str, ...]) -> tuple[_Form, ...]:
    """Longest first."""
    texts = {form for secret in secrets if len(secret) >= MIN_SECRET
             for form in _spell(secret)}
    return tuple(_Form(text, _tell_spaced(_keep_letters(text)))
                 for text in sorted(texts, key=len, reverse=True))


def _tell_spaced(letters: bytes) -> bytes:
    mixed = not letters.isalpha() and not letters.isdigit()
    return (letters if len(letters) >= (_MIN_MIXED if mixed else _MIN_WORDS)
            else b"")


def _keep_letters(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(None, _NO_LETTER)


@lru_cache(maxsize=64)
def _spaced(letters: bytes, end: str = "") -> re.Pattern[str]:
    return re.compile("[^A-Za-z0-9]*+".join(letters.decode()) + end)


def _spell(secret: str) -> Iterator[str]:
    """The secret as it may be written; in base64 also where it stands in
    the middle of something longer."""
    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(raw, safe="")
    yield quote(raw, safe="").lower()
    yield quote(raw)
    yield quote_plus(raw)
    yield raw.hex()
    yield raw.hex().upper()
    for before in range(3):
        whole = base64.b64encode(bytes(before) + raw).decode().rstrip("=")
        # the first letters hold bits of what is before, the last of after
        last = len(whole) if (before + len(raw)) % 3 == 0 else -1
        core = whole[(0, 2, 3)[before]:last]
        if len(core) >= MIN_SECRET:
            yield core
            yield core.replace("+", "-").replace("/", "_")
