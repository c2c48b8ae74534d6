"""A change that waits, as lines that a person can read and trust."""

import difflib
import hashlib

from claw.security.visible import visible
from claw.security.watched.record import Held

# What of a change a question shows; of a longer one nobody is asked.
SHOWN_CHARS = 8_000


def render_change(held: Held) -> list[str]:
    """A unified diff, with every character that a terminal would act on
    written out. What is no text file is told in one line."""
    if held.before is None and not held.was.startswith("odd:"):
        head = f"{held.name} is new"
    elif not held.now:
        head = f"{held.name} is gone"
    else:
        head = f"{held.name} is changed"
    if held.now and held.after is None:
        return [f"{head}: {_describe_odd(held.now)}"]
    if held.was.startswith("odd:"):
        head += f"; it was {_describe_odd(held.was)}"
    return [head, *compare(held.before, held.after)]


def compare(before: bytes | None, after: bytes | None) -> list[str]:
    """A unified diff of two texts, fit to be looked at."""
    return [visible(line) for line in difflib.unified_diff(
        _split(before), _split(after), "before", "after", lineterm="")]


def hash_change(held: Held) -> str:
    """What a yes is bound to: SHA-256 of name and content."""
    return hashlib.sha256(
        f"held\0{held.name}\0{held.was}\0{held.now}".encode(
            "utf-8", "surrogateescape")).hexdigest()


def _split(data: bytes | None) -> list[str]:
    """Lines, by line feeds alone: no other character hides a line."""
    text = (data or b"").decode("utf-8", "backslashreplace")
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else [
        *lines[:-1], lines[-1] + " (no line end)"]


def _describe_odd(what: str) -> str:
    _, kind, rest = what.split(":", 2)
    return ("a link to " + visible(rest) if kind == "link" else
            "a file that can't be read here, or too large"
            if kind == "file" else f"no file but a {kind}")
