"""Mails that no person wrote, which are never answered. Pure but for the
count of who answers us too often.

Two programs that answer each other would talk for ever. Source: RFC 3834,
RFC 2369, RFC 3464, and [MS-OXCMAIL] for X-Auto-Response-Suppress.
"""

import re
from collections import deque
from collections.abc import Callable, Collection
from email.message import Message

from claw.channels.email.envelope import Envelope, Sender

ANSWERS = 30  # to our answers, of one correspondent in
ANSWERS_S = 3600.0
_PEOPLE = 10_000
OURS = "claw."  # how the left half of our Message-IDs begins
_DAEMON = re.compile(r"mailer-?daemon|postmaster", re.IGNORECASE)
_OUR_ID = re.compile(r"Message-ID:\s*(<claw\.[^<>\s]{1,200}>)", re.IGNORECASE)
_STATUS = re.compile(r"^Status:\s*([245]\.\d+\.\d+)", re.MULTILINE | re.I)
_FAILED = re.compile(r"^Final-Recipient:\s*[\w-]+;\s*(\S{1,200})",
                     re.MULTILINE | re.I)


def find_robot(mail: Envelope, own: Collection[str]) -> str | None:
    """What says that no person wrote it; None where nothing does."""
    def read(name: str) -> str:
        return str(mail.raw.get(name, "")).strip().lower()
    for value in mail.raw.get_all("Auto-Submitted", []):
        auto = re.split(r"[;(]", str(value))[0].strip().lower()
        if auto and auto != "no":
            return f"Auto-Submitted: {auto[:40]}"
    if read("Precedence") in ("bulk", "list", "junk", "auto_reply"):
        return f"Precedence: {read('Precedence')}"
    for name in ("List-Id", "List-Unsubscribe", "X-Auto-Response-Suppress",
                 "X-Autoreply", "X-Autorespond", "X-Failed-Recipients"):
        if mail.raw.get(name) is not None and not (
                name == "X-Auto-Response-Suppress" and read(name) == "none"):
            return name
    if "Return-Path" in mail.raw and read("Return-Path") in ("<>", ""):
        return "an empty Return-Path"
    if is_report(mail.raw):
        return "a report of a mail server"
    if any(str(value).strip().lower() in own
           for value in mail.raw.get_all("X-Loop", [])):
        return "our own X-Loop"
    return None if mail.sender is None else _find_name(mail.sender, own)


def _find_name(sender: Sender, own: Collection[str]) -> str | None:
    if sender.address in own:
        return "our own address"
    local = sender.address.partition("@")[0]
    return f"from {local[:60]}" if _DAEMON.fullmatch(local) else None


def is_report(raw: Message) -> bool:
    return raw.get_content_type() == "multipart/report"


def answers_us(mail: Envelope) -> bool:
    """Whether it answers a mail of ours."""
    return any(one.startswith(f"<{OURS}") for one in mail.references)


def read_bounce(text: str) -> tuple[str, str, str] | None:
    """(our Message-ID, the status, the address) of a report about a mail of
    ours that was not delivered."""
    ours, status = _OUR_ID.search(text), _STATUS.search(text)
    if ours is None or (status and status[1].startswith("2")):
        return None
    failed = _FAILED.search(text)
    return (ours[1], status[1] if status else "unknown",
            failed[1] if failed else "unknown")


class AnswerLimit:
    """Counts the answers to our answers: what a person never reaches stops
    a program that says of itself that it is none."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._times: dict[str, deque[tuple[float, str]]] = {}

    def admits(self, address: str, mail_id: str) -> bool:
        """Count one, however often it is read; False where it is one too
        many."""
        now = self._clock()
        if len(self._times) >= _PEOPLE:
            self._times.clear()
        times = self._times.setdefault(address, deque(maxlen=ANSWERS))
        while times and now - times[0][0] >= ANSWERS_S:
            times.popleft()
        if any(known == mail_id for _, known in times):
            return True
        if len(times) == ANSWERS:
            return False
        times.append((now, mail_id))
        return True
