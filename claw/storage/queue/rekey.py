"""Rows that stand under a person's name or an id of before, brought under
his id.

What runs is left as it is; who asked comes back for it.
"""

import sqlite3
import time
from collections.abc import Callable
from typing import NamedTuple

from claw.core.channel import ChannelMessage
from claw.core.value import replace
from claw.storage.queue import codec
from claw.storage.queue.codec import pack, unpack
from claw.storage.queue.leases import check
from claw.storage.queue.model import Lease
from claw.storage.queue.outbox import chat_key


class Renames(NamedTuple):
    """How a person is called from now on: `key` of a conversation, `sender`
    of a message, `address` of a private chat; None where nothing changes.
    `channel` is the one asked about."""

    channel: str
    key: Callable[[str], str | None]
    sender: Callable[[ChannelMessage], str | None]
    address: Callable[[str], str | None] = lambda address: None


class Rekeyed(NamedTuple):
    """What was changed: rows, and conversations that wait under another
    key now. `running`: some rows are at work under an old one."""

    rows: int
    conversations: list[str]
    running: bool


def rekey(connection: sqlite3.Connection, lease: Lease, renames: Renames
          ) -> Rekeyed:
    """Open questions, changes for session files, what is to be remembered,
    waiting messages, and answers of which nothing is out."""
    check(connection, lease)
    approvals = _rekey_approvals(connection, renames)
    history = (_rekey_history(connection, renames)
               + _rekey_notes(connection, renames))
    waiting, running = _rekey_inbox(connection, renames)
    sends = _rekey_outbox(connection, renames)
    return Rekeyed(approvals + history + len(waiting) + sends,
                   list(dict.fromkeys(waiting)), running)


def _rekey_approvals(connection: sqlite3.Connection, renames: Renames) -> int:
    """A question is asked of who wrote the message of its turn."""
    changes = []
    for approval_id, payload in connection.execute(
            "SELECT approvals.id, inbox.payload FROM approvals JOIN inbox"
            " ON inbox.turn_id = approvals.turn_id"
            " WHERE approvals.expires_at > ?", (time.time(),)).fetchall():
        sender = _new_sender(payload, renames)
        if sender is not None:
            changes.append((pack(sender), approval_id))
    connection.executemany("UPDATE approvals SET sender = ? WHERE id = ?",
                           changes)
    return len(changes)


def _rekey_history(connection: sqlite3.Connection, renames: Renames) -> int:
    changed = 0
    for (packed,) in connection.execute(
            "SELECT DISTINCT conversation FROM history").fetchall():
        key = renames.key(unpack(packed))
        if key is not None:
            changed += connection.execute(
                "UPDATE history SET conversation = ? WHERE conversation = ?",
                (pack(key), packed)).rowcount
    return changed


def _rekey_notes(connection: sqlite3.Connection, renames: Renames) -> int:
    """What turns left for the memory stands under a conversation too."""
    changed = 0
    for seq, text in connection.execute(
            "SELECT seq, data FROM journal WHERE kind = 'notes'").fetchall():
        data = codec.decode(text, "notes")
        key = renames.key(str(data.get("session")))
        if key is None:
            continue
        sender = renames.sender(ChannelMessage(
            "", str(data.get("sender")), "", "", renames.channel, 0))
        connection.execute(
            "UPDATE journal SET data = ? WHERE seq = ?",
            (codec.encode({**data, "session": key,
                           "sender": sender or data.get("sender")},
                          "notes"), seq))
        changed += 1
    return changed


def _rekey_inbox(connection: sqlite3.Connection, renames: Renames
                 ) -> tuple[list[str], bool]:
    conversations: list[str] = []
    running = False
    for seq, state, packed, payload in connection.execute(
            "SELECT seq, state, conversation, payload FROM inbox"
            " WHERE finished_at IS NULL ORDER BY seq").fetchall():
        sender = _new_sender(payload, renames)
        if sender is None:
            continue
        if state != "waiting":
            running = True
            continue
        message = codec.message(payload, "a message of the inbox")
        key = renames.key(unpack(packed)) or unpack(packed)
        connection.execute(
            "UPDATE inbox SET conversation = ?, payload = ? WHERE seq = ?",
            (pack(key), codec.encode(replace(
                message, sender=sender,
                sender_name=message.sender_name or message.sender,
                reply_target=renames.address(message.reply_target)
                or message.reply_target), "the message"), seq))
        conversations.append(key)
    return conversations, running


def _rekey_outbox(connection: sqlite3.Connection, renames: Renames) -> int:
    changed = 0
    for source, channel, text in connection.execute(
            "SELECT DISTINCT o.source, o.channel, sends.message"
            " FROM outbox AS o JOIN sends ON sends.source = o.source"
            " WHERE o.finished_at IS NULL AND NOT EXISTS ("
            "SELECT 1 FROM outbox AS p WHERE p.source = o.source"
            " AND (p.state != 'waiting' OR p.attempts > 0))").fetchall():
        if unpack(channel).partition(":")[0] != renames.channel:
            continue
        message = codec.send(text, "a message of the outbox", lenient=True)
        address = renames.address(message.recipient)
        if address is None:
            continue
        message = replace(message, recipient=address)
        connection.execute(
            "UPDATE sends SET message = ? WHERE source = ?",
            (codec.encode(message, "the message"), source))
        connection.execute("UPDATE outbox SET chat = ? WHERE source = ?",
                           (chat_key(message), source))
        changed += 1
    return changed


def _new_sender(payload: str | None, renames: Renames) -> str | None:
    """Who wrote a message, where that was a name until now."""
    message = codec.message(payload, "a message of the inbox", lenient=True)
    return (renames.sender(message)
            if message.channel.partition(":")[0] == renames.channel else None)
