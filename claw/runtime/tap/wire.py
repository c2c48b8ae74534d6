"""What the far end of a tap reads and writes: JSON, one object a line.

Out: a message. Back: its id alone, or an object with the id and the answer
("reply"), or why it was not handled ("error").
"""

import json
from typing import Any

from claw.core.errors import ClawError, UsageError
from claw.core.times import rfc3339
from claw.core.value import Value
from claw.storage.queue.model import InboxRow

MOST_BYTES = 1 << 20  # of a line, and of an answer


class NotHandledError(ClawError):
    """The far end says no: the message comes again."""


class Word(Value):
    """What the far end said of a message. `error` None: it is handled."""

    id: str
    reply: str | None = None
    error: str | None = None


def describe_message(row: InboxRow) -> dict[str, Any]:
    """A message as it is given out. `id` is one that it keeps when it comes
    again (`claw why` knows it too), `message_id` the platform's."""
    message = row.message
    return {
        "id": row.turn_id, "channel": message.channel,
        "sender": message.sender, "sender_name": message.sender_name,
        "chat": message.reply_target, "thread": message.thread_ts,
        "text": message.content, "kind": message.kind,
        "labels": list(message.labels),
        "attachments": [{
            "path": file.path, "name": file.file_name,
            "type": file.mime_type, "size": file.size_bytes}
            for file in message.attachments],
        "message_id": message.id, "received_at": rfc3339(row.received_at),
        "attempt": row.attempts}


def read_word(line: str) -> Word | None:
    """What a line says, None for an empty one. Raises UsageError."""
    line = line.strip()
    if not line.startswith("{"):
        return Word(line) if line else None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"stdin: {line[:80]!r} is no JSON: {error}",
                         hint="one object a line, or an id alone") from error
    reply, why = found.get("reply"), found.get("error")
    if not isinstance(found.get("id"), str) or not all(
            isinstance(text, str | None) for text in (reply, why)):
        raise UsageError(f"stdin: {line[:80]!r} names no message",
                         hint='write {"id": "...", "reply": "..."}')
    return Word(found["id"], reply and _clean(reply), why and _clean(why))


def _clean(text: str) -> str:
    """Half a pair of surrogates is no text."""
    return text.encode("utf-8", "replace").decode()
