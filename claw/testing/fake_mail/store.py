"""The mails of a fake server."""

import email
import email.policy
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any


@dataclass
class Kept:
    """A mail in a folder."""

    uid: int
    raw: bytes
    at: datetime
    flags: set[str] = field(default_factory=set)

    @property
    def message(self) -> EmailMessage:
        return _parse(self.raw)


@dataclass
class Folder:
    name: str
    validity: int = 1000
    next_uid: int = 1
    mails: list[Kept] = field(default_factory=list)

    def add(self, raw: bytes, at: datetime | None = None,
            flags: tuple[str, ...] = ()) -> Kept:
        kept = Kept(self.next_uid, raw, at or datetime.now(UTC), set(flags))
        self.next_uid += 1
        self.mails.append(kept)
        return kept

    def renumber(self) -> None:
        """As a server that was built anew: other UIDs, another validity."""
        self.validity += 1
        self.next_uid = 1
        for kept in self.mails:
            kept.uid = self.next_uid
            self.next_uid += 1


@dataclass(frozen=True)
class Sent:
    """A mail that the server took."""

    sender: str
    recipient: str
    raw: bytes

    @property
    def message(self) -> EmailMessage:
        return _parse(self.raw)

    @property
    def text(self) -> str:
        body = self.message.get_body(("plain",))
        text = "" if body is None else body.get_content()
        return text.replace("\r\n", "\n").removesuffix("\n")

    @property
    def files(self) -> list[bytes]:
        found: list[Any] = [part.get_payload(decode=True)
                            for part in self.message.iter_attachments()]
        return [bytes(content) for content in found]


@dataclass
class Store:
    """The folders of one account, and what was sent."""

    folders: dict[str, Folder] = field(default_factory=lambda: {
        name: Folder(name) for name in ("INBOX", "Sent")})
    sent: list[Sent] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)


def _parse(raw: bytes) -> EmailMessage:
    found = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(found, EmailMessage)
    return found
