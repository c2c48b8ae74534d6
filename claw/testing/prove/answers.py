"""What the scripted model answers: a text, a text and a file, or a text
that no platform takes in one message. Pure.

"file X" asks for a file, "long X" for a long answer, anything else for a
short one; the answer's every piece names the message.
"""

from functools import lru_cache

FILE = "file "
LONG = "long "
_PARTS, _PART_UNITS = 3, 1800  # a Telegram message holds 4,096, others 2,000
_WORDS = "and so it goes on. "


def answer_to(text: str) -> str:
    """The model's words."""
    if text.startswith(FILE):
        return f"re:{text}\n[DOCUMENT:{file_name(text)}]"
    if text.startswith(LONG):
        return "\n\n".join(pieces(text))
    return f"re:{text}"


@lru_cache(20_000)
def pieces(text: str) -> tuple[str, ...]:
    """What people are to get of an answer: paragraphs, and the content of
    its file."""
    if text.startswith(FILE):
        return f"re:{text}", file_content(text)
    if text.startswith(LONG):
        return tuple(_long_part(text, number)
                     for number in range(1, _PARTS + 1))
    return (f"re:{text}",)


def file_name(text: str) -> str:
    """Of the file in the workspace that the answer to "file X" names."""
    return text.replace(" ", "-") + ".txt"


def file_content(text: str) -> str:
    return f"the content for {text}"


def ask_for(number: int, text: str, *, files: bool) -> str:
    """A message: of seven one asks for a file, one for a long answer."""
    kinds = {2: FILE if files else "", 4: LONG}
    return kinds.get(number % 7, "") + text


def _long_part(text: str, number: int) -> str:
    start = f"re:{text} ({number} of {_PARTS}) "
    return (start + _WORDS * (_PART_UNITS // len(_WORDS))).strip()
