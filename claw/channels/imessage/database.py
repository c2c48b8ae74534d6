"""chat.db, read only: what came in, and what Messages wrote of what we sent.

It is opened anew for each look: Messages may have put another file in its
place (a restored backup), and no reader of ours keeps its log from being
written back. Columns that came with later systems may be missing.
Source: the CREATE TABLE statements of macOS 10.13 to 26.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from claw.channels.imessage.mac import FULL_DISK, Mac
from claw.channels.imessage.rows import (
    COLUMNS,
    FileRow,
    Row,
    make_file,
    make_row,
)
from claw.core.errors import AuthError, UnavailableError

PAGE = 100
_BUSY_S = 2.0
_EDITABLE = 2000  # rows among which edits are looked for
_SENT = 5000  # rows among which something of ours is looked for
_MOST_FILES = 20
_FROM = """FROM message m
 LEFT JOIN handle h ON h.ROWID = m.handle_id
 LEFT JOIN chat_message_join j ON j.message_id = m.ROWID
 LEFT JOIN chat c ON c.ROWID = j.chat_id"""


class Database:
    """Messages' database on this Mac. Methods raise AuthError where macOS
    does not let us, UnavailableError for what can't be read now."""

    def __init__(self, mac: Mac) -> None:
        self.path = mac.database

    def fingerprint(self) -> object:
        """Changes with each write, cheaply. None where that can't be
        told."""
        try:
            found = [os.stat(self.path)]
            log = self.path.with_name(self.path.name + "-wal")
            if log.exists():
                found.append(os.stat(log))
        except OSError:
            return None
        return [(s.st_ino, s.st_mtime_ns, s.st_size) for s in found]

    def newest(self) -> tuple[int, Row | None]:
        """The highest number that a row ever had, and the last row."""
        with self._open() as db:
            rows = self._select(db, "1 ORDER BY m.ROWID DESC LIMIT 1", ())
            return _highest(db), rows[0] if rows else None

    def read_after(self, rowid: int) -> list[Row]:
        """The next rows."""
        with self._open() as db:
            return self._select(db, f"m.ROWID > ? GROUP BY m.ROWID ORDER BY "
                                f"m.ROWID LIMIT {PAGE}", (rowid,))

    def read_edited(self, upto: int, since: int) -> list[Row]:
        """Rows up to this one that were edited since (Apple's time)."""
        with self._open() as db:
            if "date_edited" not in _columns(db):
                return []
            return self._select(
                db, "m.ROWID BETWEEN ? AND ? AND m.date_edited > ? AND "
                "typeof(m.date_edited) = 'integer' AND m.is_from_me = 0 "
                "GROUP BY m.ROWID ORDER BY m.date_edited "
                f"LIMIT {PAGE}", (upto - _EDITABLE, upto, since))

    def guid_at(self, rowid: int) -> tuple[int, str | None]:
        """The highest number that a row ever had, and whose this one is."""
        with self._open() as db:
            found = db.execute("SELECT guid FROM message WHERE ROWID = ?",
                               (rowid,)).fetchone()
            return _highest(db), None if found is None else str(found[0])

    def first_since(self, date: int) -> int | None:
        """The first row that is not older than this (Apple's time)."""
        with self._open() as db:
            found = db.execute("SELECT min(ROWID) FROM message WHERE "
                               "date >= ?", (date,)).fetchone()[0]
            return found if isinstance(found, int) else None

    def read_guid(self, guid: str) -> Row | None:
        with self._open() as db:
            rows = self._select(db, "m.guid = ? LIMIT 1", (guid,))
            return rows[0] if rows else None

    def read_files(self, rowid: int) -> list[FileRow]:
        """The files of a message."""
        with self._open() as db:
            return _files(db, rowid)

    def read_sent(self, identifier: str, since: int
                  ) -> list[tuple[Row, list[FileRow]]]:
        """Our own messages of one chat since (Apple's time)."""
        with self._open() as db:
            rows = self._select(
                db, "m.ROWID > ? AND m.is_from_me = 1 AND m.date >= ? AND "
                "c.chat_identifier = ? COLLATE NOCASE GROUP BY m.ROWID "
                "ORDER BY m.ROWID", (_highest(db) - _SENT, since,
                                     identifier))
            return [(row, _files(db, row.rowid)) for row in rows]

    def find_chat(self, identifier: str) -> tuple[str, str] | None:
        """(guid, service) of the chat that was last written in."""
        with self._open() as db:
            found = db.execute(
                "SELECT c.guid, coalesce((SELECT m.service FROM message m "
                "JOIN chat_message_join k ON k.message_id = m.ROWID WHERE "
                "k.chat_id = c.ROWID ORDER BY m.ROWID DESC LIMIT 1), "
                "c.service_name, '') FROM chat c WHERE c.chat_identifier = ? "
                "COLLATE NOCASE ORDER BY (SELECT max(j.message_id) FROM "
                "chat_message_join j WHERE j.chat_id = c.ROWID) DESC LIMIT 1",
                (identifier,)).fetchone()
            return None if found is None else (str(found[0]), str(found[1]))

    def _select(self, db: sqlite3.Connection, where: str,
                values: Sequence[object]) -> list[Row]:
        known = _columns(db)
        columns = [column if (name := column.partition(".")[2]) in known
                   or not column.startswith("m.") else f"NULL AS {name}"
                   for column in COLUMNS]
        found = db.execute(f"SELECT {', '.join(columns)} {_FROM} "
                           f"WHERE {where}", values)
        return [make_row(values) for values in found]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            # SQLite's own error hides which of the two it is.
            with open(self.path, "rb"):
                pass
            with closing(sqlite3.connect(
                    f"{self.path.absolute().as_uri()}?mode=ro", uri=True,
                    timeout=_BUSY_S)) as db:
                db.text_factory = _decode
                yield db
        except PermissionError as error:
            raise AuthError("macOS does not let this program read Messages' "
                            f"database ({self.path})",
                            hint=FULL_DISK) from error
        except FileNotFoundError as error:
            raise UnavailableError(
                f"Messages has no database here ({self.path})",
                hint="open Messages and sign in, under the user who runs "
                     "claw") from error
        except (OSError, sqlite3.Error) as error:
            if "authorization" in str(error):
                raise AuthError(f"{self.path}: {error}",
                                hint=FULL_DISK) from error
            raise UnavailableError(f"{self.path}: {error}") from error


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _columns(db: sqlite3.Connection) -> set[str]:
    return {"ROWID", *(row[1] for row in db.execute(
        "PRAGMA table_info(message)"))}


def _highest(db: sqlite3.Connection) -> int:
    """Rows that were deleted keep their number: nothing else tells a
    deleted message from an older database."""
    found: Any = db.execute(
        "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = "
        "'message'), 0), coalesce((SELECT max(ROWID) FROM message), 0))"
    ).fetchone()[0]
    return found if isinstance(found, int) else 0


def _files(db: sqlite3.Connection, rowid: int) -> list[FileRow]:
    return [make_file(values) for values in db.execute(
        "SELECT a.filename, a.transfer_name, a.mime_type, a.uti, "
        "a.total_bytes FROM attachment a JOIN message_attachment_join k ON "
        "k.attachment_id = a.ROWID WHERE k.message_id = ? ORDER BY a.ROWID "
        f"LIMIT {_MOST_FILES}", (rowid,))]
