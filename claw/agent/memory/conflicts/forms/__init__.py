"""Sentences that say one value of one thing, as a table of their forms.

English, German, Korean, Chinese and Japanese; what no form fits is left to
claims.py.
"""

import functools
import re

from claw.agent.memory.conflicts.forms import (
    chinese,
    english,
    german,
    japanese,
    korean,
)
from claw.agent.memory.conflicts.forms.form import NO, YES, Form

__all__ = ["NO", "YES", "Form", "load_forms"]

_ROWS = {"latin": (*english.ROWS, *german.ROWS), "ko": korean.ROWS,
         "zh": chinese.ROWS, "ja": japanese.ROWS}


@functools.cache
def load_forms(script: str) -> list[Form]:
    """The forms of "latin", "ko", "zh" or "ja"; the first that fits a
    sentence counts. Compiling all takes 40 ms."""
    return [Form(topic, re.compile(pattern, re.IGNORECASE), answer, strict)
            for topic, pattern, answer, strict in _ROWS[script]]
