"""Code blocks and JSON out of an answer."""

import re

from claw.core.errors import NotFoundError

_FENCE = r"^([ \t]*)(`{3,}|~{3,})[^\n`]*$"


def first_code_block(text: str) -> str | None:
    """The body of the first fenced block that holds something, None where
    there is none.

    A fence that nothing closes runs to the end, and the indentation of a
    fence is taken from its lines, as in CommonMark. Fences of a list may be
    indented by more than its three spaces.
    """
    at = 0
    fence = re.compile(_FENCE, re.MULTILINE)
    while head := fence.search(text, at):
        mark = head[2]
        end = re.compile(
            rf"^[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t\r]*$",
            re.MULTILINE).search(text, head.end())
        at = end.end() if end else len(text)
        body = text[head.end() + 1:end.start() if end else at]
        if body.strip():
            return re.sub(rf"^[ \t]{{1,{len(head[1])}}}", "", body,
                          flags=re.MULTILINE) if head[1] else body
    return None


def required_code_block(text: str, way_out: str = "ask for one") -> str:
    """The first block. Raises NotFoundError, with the way out, where there
    is none."""
    block = first_code_block(text)
    if block is None:
        raise NotFoundError("the answer holds no code block",
                            hint=way_out)
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


