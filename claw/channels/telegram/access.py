"""Who may write to the bot, and how a stranger becomes somebody who may.

The allow-list matches the numeric id (it never changes hands) or the
username, case-sensitively, a leading "@" removed; "*" is everybody, an empty
list nobody. With an empty list a six-digit code is logged once at the start;
the first person who sends `/bind <code>` in a private chat is let in.
"""

import hmac
import re
import secrets
from collections.abc import Callable, Iterable

from claw.channels.telegram.wire import User

LOCK_TRIES = 5
LOCK_S = 300.0
HINT_S = 3600.0
_ALL_TRIES = 25  # wrong codes of all chats together, then nobody may try
_CHATS = 10_000
_BIND = re.compile(r"/bind(?:@\w+)?(?:\s+(.*))?", re.S)


class AllowList:
    """Names and ids that may write; grows when somebody is paired."""

    def __init__(self, names: Iterable[str | int]) -> None:
        self._names = {str(name).strip().removeprefix("@")
                       for name in names} - {""}

    def __bool__(self) -> bool:
        return bool(self._names)

    def allows(self, user: User | None) -> bool:
        """Somebody without an identity passes only where everybody does."""
        return "*" in self._names or self._named(user)

    def is_stranger(self, user: User | None) -> bool:
        """Whether somebody passes only because everybody does, beside
        people who are named: those are the owners."""
        return len(self._names) > 1 and not self._named(user)

    def _named(self, user: User | None) -> bool:
        return user is not None and (
            str(user.id) in self._names or (
                bool(user.username) and user.username in self._names))

    def add(self, user: User) -> None:
        self._names.add(str(user.id))

    @property
    def usernames(self) -> list[str]:
        """The entries that are no ids."""
        return sorted(n for n in self._names
                      if n != "*" and not n.isdigit())

    @property
    def open_to_all(self) -> bool:
        return "*" in self._names

    @property
    def has_owners(self) -> bool:
        """Whether somebody is named."""
        return bool(self._names - {"*"})


class Pairing:
    """One code, used once. Five wrong tries lock a chat for 300 s, and 25
    of all chats lock everybody out as long."""

    def __init__(self, clock: Callable[[], float], code: str | None = None
                 ) -> None:
        self._clock = clock
        self.code: str | None = code or f"{secrets.randbelow(10**6):06d}"
        self._wrong: dict[int, int] = {}
        self._locked: dict[int, float] = {}
        self._all_wrong = 0
        self._all_locked = 0.0

    def locked_s(self, chat: int) -> float:
        """Seconds that this chat must wait; 0 for none."""
        until = max(self._locked.get(chat, 0.0), self._all_locked)
        return max(0.0, until - self._clock())

    def accepts(self, chat: int, given: str) -> bool:
        """Try a code; a right one is used up. Ask `locked_s` before."""
        if self.code is not None and hmac.compare_digest(
                given.encode("utf-8", "replace"), self.code.encode()):
            self.code = None
            return True
        self._count(chat)
        return False

    def _count(self, chat: int) -> None:
        now = self._clock()
        if len(self._wrong) >= _CHATS:
            self._wrong.clear()
        self._locked = {c: t for c, t in self._locked.items() if t > now}
        self._wrong[chat] = self._wrong.get(chat, 0) + 1
        if self._wrong[chat] >= LOCK_TRIES:
            del self._wrong[chat]
            self._locked[chat] = now + LOCK_S
        self._all_wrong += 1
        if self._all_wrong >= _ALL_TRIES:
            self._all_wrong = 0
            self._all_locked = now + LOCK_S


class Hints:
    """One hint per chat and hour."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._given: dict[int, float] = {}

    def due(self, chat: int) -> bool:
        """Whether a hint may be given now; that counts as giving it."""
        now = self._clock()
        if now < self._given.get(chat, float("-inf")) + HINT_S:
            return False
        if len(self._given) >= _CHATS:
            self._given.clear()
        self._given[chat] = now
        return True


def bind_code(text: str) -> str | None:
    """The code of a `/bind` command, "" where it has none; None for any
    other text."""
    found = _BIND.fullmatch(text.strip())
    return None if found is None else (found[1] or "").strip()


def stranger_hint(user: User, pairing: bool) -> str:
    """What a person who is not allowed is told."""
    text = ("You are not allowed to use this bot yet. Its owner can let you "
            f"in by adding {user.id} to allowed_users of "
            "[channels_config.telegram] in config.toml.")
    if pairing:
        text += ("\nAre you the owner? Then send: /bind CODE, with the code "
                 "that claw has logged at its start.")
    return text
