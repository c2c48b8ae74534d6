"""What the queue knows around a part in doubt.

Which messages were there before it is read off the order of the rows,
never off a clock: parts of a chat go out one by one, and an answer comes
after what it answers. Plain functions on a connection.
"""

import json
import sqlite3
from collections.abc import Iterable

from claw.core.abilities import Doubt, Place
from claw.storage.queue.codec import pack, unpack
from claw.storage.queue.model import DRAFT_UNKNOWN, OutboxRow
from claw.storage.queue.outbox import chat_key

# How many rows back a message is looked for that has an id from the time
# of the doubt. What waits in other chats for longer was not sent then.
WINDOW = 3000

_TARGET = ("CASE WHEN json_valid(payload)"
           " THEN json_extract(payload, '$.reply_target') END")

# What went out in its chat after the answer of a turn that has ended: a draft
# of that turn whose id never came stands above it.
_LATER = (
    "SELECT later.message_id FROM outbox AS answer JOIN outbox AS later"
    " ON later.channel = answer.channel AND later.chat = answer.chat"
    " AND later.seq > answer.seq AND later.source <> answer.source"
    " AND later.source NOT LIKE 'draft:%' AND later.state = 'sent'"
    " WHERE inbox.finished_at IS NOT NULL AND answer.source = 'turn:' ||"
    " COALESCE(inbox.answered_in, inbox.turn_id)"
    " ORDER BY answer.number DESC, later.seq LIMIT 1")


def read(connection: sqlite3.Connection, row: OutboxRow) -> Doubt:
    """The messages before a part, and all others that are known."""
    answered = _read_answered(connection, row)
    before = [place for place in answered if place[1]]
    if row.message_id is not None:  # a draft, a placeholder of before
        before.append((row.message.recipient, row.message_id))
    chat = chat_key(row.message)
    before += _read_places(connection.execute(
        "SELECT chat, message_id FROM outbox WHERE channel = ?"
        " AND chat = ? AND seq < ? AND message_id IS NOT NULL"
        " AND state <> 'failed' ORDER BY seq DESC LIMIT 20",
        (pack(row.channel), chat, row.seq)))
    return Doubt(row.message, row.part, tuple(before),
                 tuple(_read_owned(connection, row)),
                 tuple(_read_unsure(connection, row)))


def _read_answered(connection: sqlite3.Connection,
                   row: OutboxRow) -> list[Place]:
    """The messages that a turn's answer is for, and its draft."""
    kind, _, turn_id = row.source.partition(":")
    if kind != "turn":
        return []
    places: list[Place] = []
    for message_id, draft_id in connection.execute(
            "SELECT message_id, draft_id FROM inbox WHERE channel = ?"
            " AND (turn_id = ? OR answered_in = ?)",
            (pack(row.channel), turn_id, turn_id)):
        places.append(("", unpack(message_id)))
        if draft_id is not None:
            places.append((row.message.recipient, unpack(draft_id)))
    return places


def _read_owned(connection: sqlite3.Connection,
                row: OutboxRow) -> Iterable[Place]:
    channel = pack(row.channel)
    newest = connection.execute(
        "SELECT COALESCE(MAX(seq), 0) FROM inbox").fetchone()[0]
    for message_id, draft_id, target in connection.execute(
            f"SELECT message_id, draft_id, {_TARGET} FROM inbox"
            " WHERE seq > ? AND channel = ?", (newest - WINDOW, channel)):
        yield "", unpack(message_id)
        if draft_id is not None and target is not None:
            yield target, unpack(draft_id)
    yield from _read_places(connection.execute(
        "SELECT chat, message_id FROM outbox WHERE seq > ? AND seq <> ?"
        " AND channel = ? AND message_id IS NOT NULL",
        (row.seq - WINDOW, row.seq, channel)))


def _read_unsure(connection: sqlite3.Connection,
                 row: OutboxRow) -> Iterable[Place]:
    """Parts on their way, and those that may stand there more than once
    or under an id that is not known. One that was found where it stands
    (it was sent once) is not among them."""
    for target, turn_id, later in connection.execute(
            f"SELECT {_TARGET}, turn_id, ({_LATER}) FROM inbox"
            " WHERE channel = ? AND draft_id = ? ORDER BY seq DESC LIMIT ?",
            (pack(row.channel), pack(DRAFT_UNKNOWN), WINDOW)):
        if target is not None \
                and not (row.seq == 0 and row.source == f"turn:{turn_id}"):
            yield target, unpack(later or "")
    yield from _read_places(connection.execute(
        "SELECT chat, COALESCE(message_id, '') FROM outbox"
        " WHERE seq > ? AND seq <> ? AND channel = ? AND (state = 'sending'"
        " OR (uncertain = 1 AND (attempts > 1 OR message_id IS NULL))"
        " OR (state = 'sent' AND message_id IS NULL))",
        (row.seq - WINDOW, row.seq, pack(row.channel))))


def _read_places(found: Iterable[tuple[str, str]]) -> list[Place]:
    return [(str(json.loads(chat)[0]), unpack(message_id))
            for chat, message_id in found]
