"""What a person said, beside memories: messages in the queue, and the
conversations that are theirs alone.

A person is a sender's stable id, the name that is bound to it
(state/people.json), or the name that his messages carry.
"""

import json
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from claw.core.errors import StorageError, UsageError
from claw.core.failpoint import reach
from claw.security.files import nofollow
from claw.security.visible import visible
from claw.storage.log.opening import open_writer
from claw.storage.log.removal import remove
from claw.storage.log.schema import is_log
from claw.storage.sessions import SessionStore
from claw.storage.sqlite import connect, translated, write

QUEUE = "state/queue.db"
LOG = "state/log.db"
_PEOPLE = "state/people.json"


def find_ids(workspace: Path, name: str, known: Collection[str] = ()
             ) -> list[str]:
    """The ids of who is called so; the name itself is one of them. `known`
    are those that the settings give to the name: then nobody else is meant.
    Raises UsageError where several people are, StorageError."""
    if known:
        return list(dict.fromkeys([name, *known]))
    plain = name.removeprefix("@")
    bound = [(called, str(row["id"]))
             for people in _read_people(workspace).values()
             for called, row in people.items()]
    sent = [(str(message.get("sender_name")), str(message["sender"]))
            for _, message in _messages(workspace) if "sender" in message]
    if {name, plain}.intersection(one for _, one in (*bound, *sent)):
        # An id, whatever others call themselves.
        return list(dict.fromkeys([name, plain]))
    found = {one for called, one in bound
             if called.casefold() == plain.casefold()}
    found |= {one for called, one in sent if called in (name, plain)}
    if len(found) > 1:
        raise UsageError(
            f"several people are called {visible(name)}: "
            + ", ".join(map(visible, sorted(found))),
            hint="name the one that you mean by the id")
    return list(dict.fromkeys([name, plain, *found]))


def read_texts(workspace: Path, people: Collection[str]) -> list[str]:
    """What the messages of these people say that the queue or the log
    still has."""
    return [*(str(message["content"]) for _, message in _messages(workspace)
              if message.get("sender") in people and message.get("content")),
            *_read_logged(workspace, people)]


def forget_messages(workspace: Path, people: Collection[str],
                    sessions: Collection[str]) -> None:
    """Take the texts of their finished messages, and these conversations.
    Raises StorageError, UnavailableError."""
    path = workspace / QUEUE
    store = SessionStore(workspace / "sessions")
    if nofollow.status(workspace, QUEUE) is not None:
        with closing(connect(path)) as connection, \
                write(connection, path):
            connection.execute("PRAGMA secure_delete=ON")
            done = [(seq,) for seq, message in _rows(connection)
                    if message.get("sender") in people]
            connection.executemany(
                "UPDATE inbox SET state = 'forgotten', payload = NULL,"
                " reason = NULL WHERE seq = ? AND finished_at IS NOT NULL",
                done)
            connection.executemany(
                "DELETE FROM history WHERE conversation = ?",
                [(name,) for name in sessions])
    if nofollow.status(workspace, LOG) is not None:
        log = workspace / LOG
        with closing(open_writer(log)) as connection, \
                write(connection, log):
            remove(connection, _find_logged(connection, people, sessions))
    for name in sessions:
        store.clear(name)
        reach("forget.session")


def _read_logged(workspace: Path, people: Collection[str]) -> list[str]:
    """What these people asked, as the log has it."""
    if nofollow.status(workspace, LOG) is None or not people:
        return []
    path = workspace / LOG
    with closing(connect(path, readonly=True)) as connection, \
            translated(path):
        if not is_log(connection):
            return []
        marks = ", ".join("?" * len(people))
        return [text for text, in connection.execute(
            f"SELECT prompt FROM entries WHERE sender IN ({marks})",
            tuple(people))]


def _find_logged(connection: sqlite3.Connection, people: Collection[str],
                 sessions: Collection[str]) -> list[int]:
    """The entries of these people, and of conversations with them alone."""
    found = []
    for column, names in (("sender", people), ("session", sessions)):
        for name in names:
            found += [seq for seq, in connection.execute(
                f"SELECT seq FROM entries WHERE {column} = ?", (name,))]
    return found


def list_conversations(workspace: Path, people: Collection[str],
                       known: Collection[str]) -> list[str]:
    """The conversations with these people alone: of those in the queue,
    and of those that are `known` to be of their memories. Their keys end
    with who they are with."""
    found = {*known}
    with _open_queue(workspace) as connection:
        names = {} if connection is None else dict(connection.execute(
            "SELECT seq, conversation FROM inbox"))
    found.update(names[seq] for seq, message in _messages(workspace)
                 if seq in names and message.get("sender") in people)
    return sorted(name for name in found
                  if any(name.endswith(f"_{person}") for person in people))


@contextmanager
def _open_queue(workspace: Path) -> Iterator[sqlite3.Connection | None]:
    path = workspace / QUEUE
    if nofollow.status(workspace, QUEUE) is None:
        yield None
        return
    with closing(connect(path, readonly=True)) as connection, \
            translated(path):
        yield connection


def _messages(workspace: Path) -> list[tuple[int, dict[str, Any]]]:
    """Of the queue, by number."""
    with _open_queue(workspace) as connection:
        return [] if connection is None else list(_rows(connection))


def _rows(connection: sqlite3.Connection
          ) -> Iterator[tuple[int, dict[str, Any]]]:
    for seq, payload in connection.execute(
            "SELECT seq, payload FROM inbox WHERE payload IS NOT NULL"
            ).fetchall():
        try:
            message = json.loads(payload)
        except ValueError:
            continue
        if isinstance(message, dict):
            yield seq, message


def _read_people(workspace: Path) -> dict[str, dict[str, Any]]:
    try:
        value = json.loads(nofollow.read(workspace, _PEOPLE))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise StorageError(f"{workspace / _PEOPLE} can't be read",
                           hint="look at it, and move it away") from error
    if not isinstance(value, dict):
        return {}
    return {channel: {name: row for name, row in people.items()
                      if isinstance(row, dict) and "id" in row}
            for channel, people in value.items()
            if isinstance(people, dict)}
