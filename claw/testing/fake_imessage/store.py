"""A chat.db with the tables and columns that are read, and those who write
in it. The encoder of bodies is a writer of its own, after bytes of real
messages: see tests/channels/imessage/test_typedstream.py.
"""

import contextlib
import json
import sqlite3
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE handle (ROWID INTEGER PRIMARY KEY AUTOINCREMENT UNIQUE,
 id TEXT NOT NULL, country TEXT, service TEXT NOT NULL,
 uncanonicalized_id TEXT, UNIQUE (id, service));
CREATE TABLE chat (ROWID INTEGER PRIMARY KEY AUTOINCREMENT,
 guid TEXT UNIQUE NOT NULL, style INTEGER, chat_identifier TEXT,
 service_name TEXT, room_name TEXT, account_login TEXT,
 last_addressed_handle TEXT, display_name TEXT);
CREATE TABLE message (ROWID INTEGER PRIMARY KEY AUTOINCREMENT,
 guid TEXT UNIQUE NOT NULL, text TEXT, handle_id INTEGER DEFAULT 0,
 subject TEXT, attributedBody BLOB, service TEXT, account TEXT,
 error INTEGER DEFAULT 0, date INTEGER, is_from_me INTEGER DEFAULT 0,
 is_sent INTEGER DEFAULT 0, cache_has_attachments INTEGER DEFAULT 0,
 cache_roomnames TEXT, is_audio_message INTEGER DEFAULT 0,
 item_type INTEGER DEFAULT 0, associated_message_guid STRING,
 associated_message_type INTEGER DEFAULT 0, message_summary_info BLOB,
 destination_caller_id TEXT, thread_originator_guid TEXT,
 date_edited INTEGER DEFAULT 0, date_retracted INTEGER DEFAULT 0);
CREATE TABLE attachment (ROWID INTEGER PRIMARY KEY AUTOINCREMENT,
 guid TEXT UNIQUE NOT NULL, filename TEXT, uti TEXT, mime_type TEXT,
 transfer_state INTEGER DEFAULT 0, transfer_name TEXT,
 total_bytes INTEGER DEFAULT 0);
CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER,
 message_date INTEGER DEFAULT 0, PRIMARY KEY (chat_id, message_id));
CREATE TABLE message_attachment_join (message_id INTEGER,
 attachment_id INTEGER, UNIQUE(message_id, attachment_id));
"""
EPOCH_S = 978_307_200
OWN = "+15559990000"


def apple_now() -> int:
    return int((time.time() - EPOCH_S) * 10**9)


def archive(text: str, *, mutable: bool = False) -> bytes:
    """A body as Messages writes it: the string, and one run of attributes."""
    said = text.encode("utf-8", "surrogatepass").decode(
        "utf-8", "replace").encode()
    head = b"\x04\x0bstreamtyped\x81\xe8\x03\x84\x01@\x84"
    if mutable:
        head += (b"\x84\x84\x19NSMutableAttributedString\x00"
                 b"\x84\x84\x12NSAttributedString\x00\x84\x84\x08NSObject\x00"
                 b"\x85\x92\x84\x84\x84\x0fNSMutableString\x01"
                 b"\x84\x84\x08NSString\x01\x95")
    else:
        head += (b"\x84\x84\x12NSAttributedString\x00\x84\x84\x08NSObject\x00"
                 b"\x85\x92\x84\x84\x84\x08NSString\x01\x94")
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return (head + b"\x84\x01+" + number(len(said)) + said + b"\x86"
            + b"\x84\x02iI\x01" + number(units) + b"\x92\x85\x86")


def number(value: int) -> bytes:
    if value < 0x80:
        return bytes([value])
    if value < 0x10000:
        return b"\x81" + value.to_bytes(2, "little")
    return b"\x82" + value.to_bytes(4, "little")


class Store:
    """The folder of Messages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "chat.db"

    def create(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.open() as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(SCHEMA)

    @contextlib.contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(
                self.path, timeout=20, isolation_level="IMMEDIATE")) as db:
            db.execute("PRAGMA synchronous = OFF")
            with db:
                yield db

    def add(self, db: sqlite3.Connection, table: str, **values: Any) -> int:
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        return db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})",
                          tuple(values.values())).lastrowid or 0

    def find_chat(self, db: sqlite3.Connection, identifier: str, *,
                  guid: str | None = None, group: bool = False,
                  service: str = "iMessage") -> int:
        found = db.execute("SELECT ROWID FROM chat WHERE chat_identifier = ?",
                           (identifier,)).fetchone()
        if found:
            return int(found[0])
        return self.add(
            db, "chat", guid=guid or f"any;{'+' if group else '-'};"
            f"{identifier}", style=43 if group else 45,
            chat_identifier=identifier, service_name=service,
            account_login=f"P:{OWN}", last_addressed_handle=OWN)

    def find_handle(self, db: sqlite3.Connection, handle: str,
                    service: str) -> int:
        db.execute("INSERT OR IGNORE INTO handle (id, service) VALUES (?, ?)",
                   (handle, service))
        return int(db.execute("SELECT ROWID FROM handle WHERE id = ? AND "
                              "service = ?", (handle, service)).fetchone()[0])

    def write(self, db: sqlite3.Connection, chat: int | None, text: str,
              **values: Any) -> int:
        """A message; its words stand in the body alone, as since macOS
        26."""
        values = {"guid": str(uuid.uuid4()).upper(), "date": apple_now(),
                  "service": "iMessage", "attributedBody": archive(text),
                  **values}
        rowid = self.add(db, "message", **values)
        if chat is not None:
            self.add(db, "chat_message_join", chat_id=chat, message_id=rowid)
        return rowid

    def attach(self, db: sqlite3.Connection, message: int, name: str,
               content: bytes | None, mime: str | None, uti: str = "") -> Path:
        folder = self.folder / "Attachments" / "ab" / uuid.uuid4().hex
        folder.mkdir(parents=True)
        if content is not None:
            (folder / name.replace("/", "_")).write_bytes(content)
        inside = (folder / name).relative_to(self.folder)
        found = self.add(db, "attachment", guid=str(uuid.uuid4()),
                         filename=f"~/Library/Messages/{inside}",
                         transfer_name=name, mime_type=mime,
                         uti=uti, transfer_state=5,
                         total_bytes=len(content or b""))
        self.add(db, "message_attachment_join", message_id=message,
                 attachment_id=found)
        return folder / name

    # -- what the program does

    def read_mode(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(
                (self.folder / "mode").read_text())
        except FileNotFoundError:
            return {}
        return found

    def set_mode(self, **mode: Any) -> None:
        """Whole at once: programs read it meanwhile."""
        new = self.folder / f"mode-{uuid.uuid4().hex}"
        new.write_text(json.dumps(mode))
        new.replace(self.folder / "mode")
