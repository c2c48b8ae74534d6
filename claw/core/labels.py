"""Labels: where text comes from that the owner did not write.

The rule, for terminals, channels, files and memories alike. Whatever a turn
reads from elsewhere labels it with its origin: a web page, an attachment, a
forwarded message, a stranger, a tool, a file, a command's output. Every
message that is made from then on carries the labels of all that stood
before its writer's eyes, an answer too, since it may repeat what was read.
They are kept with the message in memory, in session files and in the queue,
and go when it goes: when whole turns fall out of the history, or with /new.
A text that is cut, summed up or stored as a memory keeps its labels; a
memory that is recalled labels the turn anew.

In a labelled turn whatever sends, runs, schedules or stores needs the
owner's yes (security/approval/), and addresses in the answer that neither
he nor a search brought are mere text (text/addresses.py). OWN labels weigh
less: that is text of the owner's own workspace. After it a command of low
risk, which the sandbox contains, the very command that he has allowed for
always, and the file tools where he lets them, run unasked. What others sent
lies in the workspace too (a channel's <name>_files) and is not its own: it is
an "attachment", also for a command that could read it
(security/shell/origins.py).
"""

from collections.abc import Iterable
from typing import Any

# The owner's own files, the output of commands that read nothing else, and
# what he piped in.
OWN = frozenset({"file", "command", "stdin"})
ATTACHMENT = "attachment"
# How the line begins that a model reads before, or in place of, foreign text
# that looks like orders to it.
GUARD_MARK = "[prompt guard: "
# Where it is not known where a text comes from, only that it is foreign.
UNKNOWN = "unknown"

_NAMES = {"web": "a web page", "mail": "mail", "file": "a file",
          "command": "a command", "stdin": "a pipe",
          ATTACHMENT: "an attachment", "image": "an image",
          "audio": "a recording", "forwarded": "a forwarded message",
          "quoted": "a quoted message", "stranger": "a stranger",
          "tool": "a tool", UNKNOWN: "elsewhere"}


def sort_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Each once, in order, as messages carry them."""
    return tuple(sorted(set(labels)))


def read_labels(value: Any) -> tuple[str, ...]:
    """Labels as a record holds them. What is none says at least that the
    text is foreign."""
    if value is None:
        return ()
    if isinstance(value, list | tuple) \
            and all(isinstance(label, str) for label in value):
        return sort_labels(value)
    return (UNKNOWN,)


def label_source(source: str) -> tuple[str, ...]:
    """The labels of a passage by its source: "stdin", "file:<path or
    address>". A memory's are its origin."""
    kind, _, name = source.partition(":")
    if kind == "file":
        is_address = name.lower().startswith(("http://", "https://"))
        return ("web",) if is_address else ("file",)
    return () if kind == "memory" else (kind,)


def join_origin(labels: Iterable[str]) -> str | None:
    """Labels as a memory holds them ("file,web"); None for none."""
    return ",".join(sort_labels(labels)) or None


def split_origin(origin: str | None) -> frozenset[str]:
    """The labels of a memory's origin."""
    return frozenset(filter(None, map(str.strip, (origin or "").split(","))))


def describe_origin(origin: str | None) -> str:
    """An origin in words, "from a file, a web page"; "" for none."""
    names = [_NAMES.get(label, " ".join(label.split()))
             for label in sorted(split_origin(origin))]
    return "from " + ", ".join(names) if names else ""
