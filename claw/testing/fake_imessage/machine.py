"""The Mac that tests drive."""

import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from claw.channels.imessage.mac import Mac
from claw.testing.fake_imessage.store import OWN, Store

_HERE = Path(__file__).parent
_PROGRAM = """\
#!{python} -IS
import sys
sys.path.insert(0, {here!r})
from program import main
raise SystemExit(main({folder!r}, sys.argv[1:]))
"""


def person(number: int = 1001) -> str:
    """The telephone number of somebody."""
    return f"+1555000{number}"


class FakeMac:
    """Messages' folder and program. `down` takes Messages away."""

    host = "127.0.0.1"

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="fake-mac-"))
        self.store = Store(self.folder / "Messages")
        self._lock = threading.Lock()

    def __enter__(self) -> "FakeMac":
        self.up()
        return self

    def __exit__(self, kind: type[BaseException] | None = None,
                 error: BaseException | None = None,
                 trace: TracebackType | None = None) -> None:
        self.down()

    @property
    def mac(self) -> Mac:
        return Mac("darwin", self.store.folder, str(self.folder / "osascript"))

    def up(self) -> None:
        """Messages runs, from now on or again."""
        if not self.store.path.exists():
            self.store.create()
            program = self.folder / "osascript"
            program.write_text(_PROGRAM.format(
                python=sys.executable, here=str(_HERE),
                folder=str(self.store.folder)), "utf-8")
            program.chmod(0o700)
        self.store.set_mode()

    def down(self) -> None:
        self.store.set_mode(error=-600)

    def kill_connections(self) -> int:
        return 0  # there are none

    @property
    def problems(self) -> list[str]:
        """Calls that no osascript would have."""
        found = self.store.folder / "problems"
        return found.read_text("utf-8").splitlines() if found.exists() else []

    # -- people

    def say(self, text: str, *, who: str | None = None, group: str = "",
            files: tuple[tuple[str, bytes | None, str], ...] = (),
            **values: Any) -> int:
        """Somebody writes, in a group where one is named; its ROWID.
        `values` are further columns."""
        who = who or person()
        service = values.get("service", "iMessage")
        with self._lock, self.store.open() as db:
            chat = self.store.find_chat(db, group or who, group=bool(group),
                                        service=service)
            rowid = self.store.write(
                db, chat, text,
                handle_id=self.store.find_handle(db, who, service),
                **{"destination_caller_id": OWN, **values})
            for name, content, mime in files:
                self.store.attach(db, rowid, name, content, mime)
        return rowid

    def change(self, rowid: int, **values: Any) -> None:
        """Columns of a message take other values."""
        names = ", ".join(f"{name} = ?" for name in values)
        with self._lock, self.store.open() as db:
            db.execute(f"UPDATE message SET {names} WHERE ROWID = ?",
                       (*values.values(), rowid))

    def guid(self, rowid: int) -> str:
        with self.store.open() as db:
            return str(db.execute("SELECT guid FROM message WHERE ROWID = ?",
                                  (rowid,)).fetchone()[0])

    # -- what was sent

    def sent(self) -> list[tuple[str, str, Path | None]]:
        """(chat, words, file) of all that went out, in order."""
        with self.store.open() as db:
            rows = db.execute(
                "SELECT m.ROWID, c.chat_identifier, m.attributedBody FROM "
                "message m JOIN chat_message_join j ON j.message_id = m.ROWID "
                "JOIN chat c ON c.ROWID = j.chat_id WHERE m.is_from_me = 1 "
                "AND m.error = 0 ORDER BY m.ROWID").fetchall()
            files = dict(db.execute(
                "SELECT k.message_id, a.filename FROM attachment a JOIN "
                "message_attachment_join k ON k.attachment_id = a.ROWID"))
        return [(chat, _decode(body), self._place(files.get(rowid)))
                for rowid, chat, body in rows]

    def shown(self, chat: str | None = None) -> list[str]:
        return [text or f"[{file.name if file else ''}]"
                for where, text, file in self.sent()
                if where == (chat or person())]

    def _place(self, name: str | None) -> Path | None:
        return self.store.folder / name.removeprefix("~/Library/Messages/") \
            if name else None


def _decode(body: bytes) -> str:
    """The words after the mark of bytes: read apart from the channel."""
    at = body.index(b"\x84\x01+") + 3
    wide = {0x81: 2, 0x82: 4}.get(body[at], 0)
    size = int.from_bytes(body[at + 1:at + 1 + wide], "little") \
        if wide else body[at]
    start = at + 1 + wide
    return body[start:start + size].decode().replace("\ufffc", "")
