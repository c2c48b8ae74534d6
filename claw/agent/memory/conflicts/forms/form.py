"""What a form is: a sentence, what it is about, and its value."""

import re
from typing import NamedTuple, TypeAlias

YES, NO = "yes", "no"

# topic, pattern of a whole sentence, answer, strict: see Form
Row: TypeAlias = tuple[str, str, str | None, bool]


class Form(NamedTuple):
    """(?P<what>) of `pattern` and `topic` say what a sentence is about,
    (?P<value>) its value, (?P<who>) another than the one who speaks.
    `answer` is the value where the form itself says it; with `strict` a
    value must be a name, a number or a time: other words may hold side by
    side."""

    topic: str
    pattern: re.Pattern[str]
    answer: str | None = None
    strict: bool = False
