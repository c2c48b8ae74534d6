"""Any text as PostgreSQL takes it, and back.

Its texts can hold every character but NUL. NUL becomes a mark and "0",
the mark itself the mark and "1"; the mark is the last private character of
Unicode, which no text of people holds.
"""

import re

from claw.text.segment import clean

MARK = "\U0010fffd"
_BACK = {MARK + "0": "\0", MARK + "1": MARK}
_marked = re.compile(MARK + "[01]")


def escape(text: str) -> str:
    """A text to store or to compare with stored ones. The start of a text
    gives the start of what the whole text gives."""
    text = clean(text)
    if MARK in text:
        text = text.replace(MARK, MARK + "1")
    return text.replace("\0", MARK + "0")


def unescape(text: str) -> str:
    """A stored text as it was. What others wrote is as it stands."""
    return (_marked.sub(lambda match: _BACK[match[0]], text)
            if MARK in text else text)
