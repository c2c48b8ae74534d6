"""How a language claims an act, as tables of patterns."""

from collections.abc import Sequence
from typing import NamedTuple

FILE, SEND, MEMORY, SCHEDULE, COMMAND = (
    "file", "send", "memory", "schedule", "command")
# What may stand between "I have" and the participle.
GAP = r"[^;:]{0,90}?"


class Language(NamedTuple):
    """How a language claims. `first` begins a claim in the first person,
    `acts` are (kinds, verb, object: "" for any); `bare` are whole openings
    of a sentence without a person. `never` within a sentence, and `before`
    in front of the claim, say that it is none. An answer that `script` does
    not find anything in claims nothing in this language."""

    first: str
    acts: Sequence[tuple[str, str, str]]
    bare: Sequence[tuple[str, str]]
    never: str
    before: str
    script: str = "[a-zA-Z]"
