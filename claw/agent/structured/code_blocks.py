"""Code blocks and JSON out of an answer."""

import re

from claw.core.errors import NotFoundError

_FENCE = r"^[ ]{0,3}(`{3,}|~{3,})[^\n`]*$"


def first_code_block(text: str) -> str | None:
    """The body of the first fenced block, None where there is none.

    A fence that nothing closes runs to the end, as in CommonMark.
    """
    head = re.search(_FENCE, text, re.MULTILINE)
    if head is None:
        return None
    body_at = min(head.end() + 1, len(text))
    mark = head[1]
    end = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}\s*$",
                     re.MULTILINE).search(text, body_at)
    return text[body_at:end.start() if end else len(text)]


def required_code_block(text: str) -> str:
    """The first block. Raises NotFoundError where there is none."""
    block = first_code_block(text)
    if block is None:
        raise NotFoundError("the answer holds no code block",
                            hint="ask for one, or leave out -x")
    return block


def json_candidates(text: str) -> list[str]:
    """Where the JSON of an answer may be: all of it, its first block, what
    stands between the outermost brackets."""
    found = [text.strip()]
    if (block := first_code_block(text)) is not None:
        found.append(block.strip())
    for left, right in ("{}", "[]"):
        start, end = text.find(left), text.rfind(right)
        if 0 <= start < end:
            found.append(text[start:end + 1])
    return found


