"""What in claw's files is not said by anybody: names, times and the words
of their own form. Who says "assistant", or a date, must not have taken it
out of every record when that is forgotten.

Pure.
"""

import json
import re
from collections.abc import Callable, Iterator

Clean = Callable[[str], str]

# Fields of JSON and columns of tables that name or date.
NAMES = frozenset((
    "action", "answered", "answered_in", "at", "category", "channel", "chat",
    "conversation", "day", "decision", "ended_by", "fence", "hash", "id",
    "key", "kept_by", "kind", "lease", "model", "n", "name", "namespace",
    "op", "origin", "outcome", "owner", "provider", "role", "sender",
    "session", "stamp", "state", "superseded_by", "turn", "type", "until",
    "valid_until"))
# Words that these and the files' own forms are made of.
_WORDS = (
    '{"session": "", "created_at": ""} {"n": 1, "at": "", "type": "Chat",'
    ' "data": {"role": "assistant", "content": ""}} "user" "system" "tool"'
    ' "AssistantToolCalls" "ToolResults" "tool_calls" "tool_call_id"'
    ' "tool_name" "arguments" "function" "reasoning_content" "message_id"'
    ' "sender_name" "reply_target" "channel" "timestamp" "attachments"'
    ' "conversation" "daily" "core" "document" "default" "namespace"'
    ' "category" "superseded" "updated_at" "session_id" "importance"'
    ' "embedding" "finished" "forgotten" "running" "waiting" "cancelled"'
    ' "completed" MEMORY_SNAPSHOT.md memories brain.db assistant_resp_'
    ' user_msg_ [forgotten] last_run_at last_report')
_moment = re.compile(r"\d{4}-\d\d-\d\d?(?:[T_ ][\d:.Z+-]*)?")
_identifier = re.compile(r"[\w.:@/+-]{1,200}")
_field = re.compile(r"[A-Za-z_]\w{0,40}")
_literal = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?', re.DOTALL)


def is_frame(text: str) -> bool:
    """Whether a text is a time, or of the words that claw's own files are
    made of: it stands everywhere."""
    return _moment.fullmatch(text) is not None \
        or text.casefold() in _WORDS.casefold()


def is_name(column: str) -> bool:
    """Whether a column or a field of JSON names or dates."""
    return column in NAMES or column.endswith(("_at", "_id"))


def clean_records(text: str, clean: Clean, clean_name: Clean) -> str:
    """A text, cleaned; where it is JSON, or has JSON on its lines, only
    what stands in strings, names as names. All else stays byte by byte."""
    if clean(text) == text:
        return text
    if _is_json(text):
        return _clean_strings(text, clean, clean_name)
    if not text.lstrip().startswith("{"):
        return clean(text)
    return "".join(_clean_lines(text, clean, clean_name))


def _clean_lines(text: str, clean: Clean, clean_name: Clean
                 ) -> Iterator[str]:
    """Lines of JSON each by itself; what stands between as one text."""
    other: list[str] = []
    for line in re.findall(r"[^\n]*\n|[^\n]+\Z", text):
        if not _is_json(line):
            other.append(line)
            continue
        yield clean("".join(other))
        other.clear()
        yield line if clean(line) == line else _clean_strings(
            line, clean, clean_name)
    yield clean("".join(other))


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _clean_strings(text: str, clean: Clean, clean_name: Clean) -> str:
    field = ""

    def replace(found: re.Match[str]) -> str:
        nonlocal field
        inner, colon = found.groups()
        if colon:
            field = inner
            names = _field.fullmatch(inner) is not None
        else:
            names = is_name(field) \
                and _identifier.fullmatch(inner) is not None
        cleaned = (clean_name if names else clean)(inner)
        return f'"{cleaned}"{colon or ""}'

    return _literal.sub(replace, text)
