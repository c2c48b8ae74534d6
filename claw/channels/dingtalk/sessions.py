"""The session webhooks: where a conversation's answers may be posted for a
while (an hour and a half in 2026). They are kept, so that a restart can
still answer.
"""

import json
from collections.abc import Callable

from claw.core.channel import KeepsMarks
from claw.core.value import Value

MOST = 500
EARLY_S = 60.0  # an answer has to get there
_KEY = "session:"


class Session(Value):
    """Where to answer, until when (unix seconds)."""

    url: str
    until: float


class Sessions:
    """The webhooks of one robot's chats; `judge` says whether an address
    is DingTalk's. Addresses are secrets: who has one can write there."""

    def __init__(self, marks: KeepsMarks, judge: Callable[[str], bool],
                 now: Callable[[], float]) -> None:
        self._marks = marks
        self._judge = judge
        self._now = now
        self._known: dict[str, Session] = {}

    def note(self, chat: str, session: Session) -> None:
        """Know it for this process, where it can be used."""
        if not self._judge(session.url) or session.until <= self._now():
            return
        self._known.pop(chat, None)
        self._known[chat] = session
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]

    def keep(self, chat: str) -> None:
        """Keep what was noted, now that its message is committed."""
        session = self._known.get(chat)
        if session is None:
            return
        kept = json.dumps([session.url, session.until])
        if self._marks.get(_KEY + chat) == kept:
            return
        known = self._marks.keys()
        names = [name for name in known if name.startswith(_KEY)]
        for name in names[:max(0, len(names) - MOST)]:
            self._marks.set(name, None)
        self._marks.set(_KEY + chat, kept)

    def find(self, chat: str) -> Session | None:
        """The webhook of a chat, while it lives."""
        session = self._known.get(chat) or self._read(chat)
        if session is None:
            return None
        if session.until - EARLY_S <= self._now():
            self.forget(chat)
            return None
        return session

    def forget(self, chat: str) -> None:
        """DingTalk knows it no longer."""
        self._known.pop(chat, None)
        self._marks.set(_KEY + chat, None)

    def _read(self, chat: str) -> Session | None:
        try:
            url, until = json.loads(self._marks.get(_KEY + chat) or "")
            found = Session(str(url), float(until))
        except (ValueError, TypeError):
            return None
        return found if self._judge(found.url) else None
