"""Reply tokens: which answer goes by which.

An event brings a token that answers its chat once, for a minute, free of
charge. What is sent by it has no key, but the token is one: the same token
again is refused where the first call arrived, as long as the minute lasts.
So each token is given to one part alone, as the part is made, and is kept
with it; a call that broke off is made again within that minute. What may
have arrived, and comes later, is the outbox's doubt.

When the month's pushes are used up a part may take a token after it was
made. That is kept as a mark before it is used.
Source: developers.line.biz/en/reference/messaging-api, send reply message.
"""

from collections import deque
from collections.abc import Callable

from claw.core.channel import KeepsMarks, Part
from claw.core.value import Value

FRESH_S = 45.0  # so old it may be when it is used first
KNOWN_S = 57.0  # so long a second use tells whether the first arrived
_MARGIN_S = 2.0
_CHATS, _MOST = 1000, 20
_LATE, _REFUSED = "late:", "refused"


class Token(Value):
    """`until` is when a use of it tells nothing any more, Unix seconds."""

    value: str
    until: float


class Replies:
    """The tokens of one account. `now` is Unix seconds."""

    def __init__(self, marks: KeepsMarks, now: Callable[[], float]) -> None:
        self._marks = marks
        self._now = now
        self._waiting: dict[str, deque[Token]] = {}
        self._unused: set[str] = set()  # given out here, never sent
        self._owed: set[str] = set()  # chats where a part waits for one

    def note(self, chat: str, value: str) -> None:
        """An event has brought a token."""
        found = self._waiting.pop(chat, deque[Token](maxlen=_MOST))
        found.append(Token(value, self._now() + KNOWN_S))
        self._waiting[chat] = found
        while len(self._waiting) > _CHATS:
            del self._waiting[next(iter(self._waiting))]

    def give(self, chat: str) -> Token | None:
        """A token for a part that is made; none where an older part waits
        for one, since it has to go first."""
        return None if chat in self._owed else self._take(chat)

    def _take(self, chat: str) -> Token | None:
        """The newest token of a chat, for one part alone."""
        found = self._waiting.get(chat)
        if not found or not self._is_fresh(found[-1]):
            return None
        if len(self._unused) >= _CHATS:
            self._unused.clear()
        self._unused.add(found[-1].value)
        return found.pop()

    def take_late(self, chat: str, part: Part) -> Token | None:
        """A token for a part that no push can carry."""
        self._owed.add(chat)
        token = self._take(chat)
        if token is not None:
            self._marks.set(_LATE + chat, f"{_key(part)} {token.until} "
                                          f"{token.value}")
        return token

    def find(self, chat: str, part: Part) -> Token | None:
        """The token that a part was given and may still go by."""
        token = self._own(chat, part)
        if token is None or self._is_refused(token):
            return None
        if token.value in self._unused:
            return token if self._is_fresh(token) else None
        return token if self._now() < token.until else None

    def is_tried(self, token: Token) -> bool:
        """Whether it may have been used, here or by a process before."""
        return token.value not in self._unused

    def use(self, token: Token) -> None:
        """A call with it leaves."""
        self._unused.discard(token.value)

    def give_back(self, token: Token) -> None:
        """LINE has not looked at it."""
        self._unused.add(token.value)

    def refuse(self, token: Token) -> None:
        """LINE does not take it, and it was never used."""
        kept = (self._marks.get(_REFUSED) or "").split()[1 - _MOST:]
        self._marks.set(_REFUSED, " ".join([*kept, token.value]))

    def settle(self, chat: str) -> None:
        """A part of the chat has arrived."""
        self._owed.discard(chat)
        if self._marks.get(_LATE + chat):
            self._marks.set(_LATE + chat, None)

    def may_tell(self, chat: str, part: Part) -> bool | None:
        """Whether sending a part again shows it once, by its token; None
        where it never went by one."""
        token = self._own(chat, part)
        if token is None or self._is_refused(token) \
                or token.value in self._unused:
            return None
        return self._now() < token.until - _MARGIN_S

    def _own(self, chat: str, part: Part) -> Token | None:
        key, _, rest = (self._marks.get(_LATE + chat) or "").partition(" ")
        until, _, value = rest.partition(" ")
        if key == _key(part) and value:
            return Token(value, float(until))
        found, ends = part.data.get("reply"), part.data.get("until")
        return Token(found, ends) if isinstance(found, str) \
            and isinstance(ends, int | float) else None

    def _is_fresh(self, token: Token) -> bool:
        return self._now() < token.until - KNOWN_S + FRESH_S

    def _is_refused(self, token: Token) -> bool:
        return token.value in (self._marks.get(_REFUSED) or "").split()


def _key(part: Part) -> str:
    return str(part.data.get("key"))
