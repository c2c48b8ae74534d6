"""Text cut short."""

from collections.abc import Mapping
from typing import Any

_HINT_CHARS = 60
# The arguments that say best what a call is about.
_TELLING = ("command", "path", "query", "key", "url", "action")


def hint(arguments: Mapping[str, Any]) -> str:
    """What a call is about, in one short line."""
    for name in _TELLING:
        value = arguments.get(name)
        if isinstance(value, str):
            line = " ".join(value.split())
            return line if len(line) <= _HINT_CHARS \
                else line[:_HINT_CHARS - 1] + "…"
    return ""


def shorten(text: str, limit: int) -> str:
    """Text of at most `limit` characters and "..." where it was more."""
    return text if len(text) <= limit else text[:limit].rstrip() + "..."


def cut_bytes(text: str, limit: int) -> str:
    """The first `limit` bytes, cut between characters, and "…"."""
    data = text.encode("utf-8", "replace")
    return (text if len(data) <= limit
            else data[:limit].decode("utf-8", "ignore") + "…")
