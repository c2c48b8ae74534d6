"""Brace expansion, which sh does where it is bash."""

import re
from collections.abc import Iterator
from itertools import islice

_BRACES, _BRACED = 8, 256


def expand_braces(text: str) -> list[str]:
    """The words that {a,b} stands for. Too many to look at count as a way
    out."""
    few = text.count("{") <= _BRACES
    found = list(islice(_alternatives(text), _BRACED + 1)) if few else []
    return found if 0 < len(found) <= _BRACED else ["../" + text]


def _alternatives(text: str) -> Iterator[str]:
    found = re.search(r"\{([^{}]*,[^{}]*)\}", text)
    if found is None:
        yield text
        return
    for part in found[1].split(","):
        yield from _alternatives(
            text[:found.start()] + part + text[found.end():])
