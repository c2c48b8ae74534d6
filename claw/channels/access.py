"""Who may write to a channel, and how a stranger becomes somebody who may.

The allow-list matches a person's ids and names, case-sensitively, a leading
"@" removed; "*" is everybody, an empty list nobody. With an empty list a
six-digit code is logged once at the start; the first person who sends
`/bind <code>` in private is let in.
"""

import hmac
import re
import secrets
import time
from collections.abc import Callable, Hashable, Iterable

from claw.core.channel import STRANGER, ChannelDeps
from claw.core.value import Value

LOCK_TRIES = 5
LOCK_S = 300.0
HINT_S = 3600.0
_ALL_TRIES = 25  # wrong codes of all chats together, then nobody may try
_CHATS = 10_000
_BIND = re.compile(r"/bind(?:@\w+)?(?:\s+(.*))?", re.S)


class Person(Value):
    """Somebody who writes: `id` never changes hands, `name` may."""

    id: str | int
    name: str = ""


class AllowList:
    """Names and ids that may write; grows when somebody is paired."""

    def __init__(self, names: Iterable[str | int]) -> None:
        self._names = {str(name).strip().removeprefix("@")
                       for name in names} - {""}

    def __bool__(self) -> bool:
        return bool(self._names)

    def allows(self, person: Person | None) -> bool:
        """Somebody without an identity passes only where everybody does."""
        return self.open_to_all or self._names_one(person)

    def is_stranger(self, person: Person | None) -> bool:
        """Whether somebody passes only because everybody does, beside
        people who are named: those are the owners."""
        return len(self._names) > 1 and not self._names_one(person)

    def _names_one(self, person: Person | None) -> bool:
        return person is not None and bool(
            {str(person.id), person.name} & self._names - {"*"})

    def add(self, person: Person) -> None:
        self._names.add(str(person.id))

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
        self._wrong: dict[Hashable, int] = {}
        self._locked: dict[Hashable, float] = {}
        self._all_wrong = 0
        self._all_locked = 0.0

    def locked_s(self, chat: Hashable) -> float:
        """Seconds that this chat must wait; 0 for none."""
        until = max(self._locked.get(chat, 0.0), self._all_locked)
        return max(0.0, until - self._clock())

    def accepts(self, chat: Hashable, given: str) -> bool:
        """Try a code; a right one is used up. Ask `locked_s` before."""
        if self.code is not None and hmac.compare_digest(
                given.encode("utf-8", "replace"), self.code.encode()):
            self.code = None
            return True
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
        return False


class Hints:
    """One hint per chat and hour."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._given: dict[Hashable, float] = {}

    def is_due(self, chat: Hashable) -> bool:
        """Whether a hint may be given now; that counts as giving it."""
        now = self._clock()
        if now < self._given.get(chat, float("-inf")) + HINT_S:
            return False
        if len(self._given) >= _CHATS:
            self._given.clear()
        self._given[chat] = now
        return True


class Door:
    """The allow-list of one channel, and what those before it are told.

    `table` is the channel's in config.toml, named in hints; `tells` whether
    strangers are told how they can be let in.
    """

    def __init__(self, allowed: Iterable[str | int], deps: ChannelDeps, *,
                 table: str, tells: bool = True,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.allowed = AllowList(allowed)
        self.pairing: Pairing | None = None
        self._deps = deps
        self._table = table
        self._tells = tells
        self._clock = clock
        self._hints = Hints(clock)

    def labels(self, person: Person | None) -> tuple[str, ...]:
        """What a message of somebody who passes is labelled with."""
        return (STRANGER,) if self.allowed.is_stranger(person) else ()

    def open_pairing(self) -> None:
        """With nobody allowed, make the code and log it, once."""
        if self.pairing is None and not self.allowed:
            self.pairing = Pairing(self._clock)
            self._deps.log(
                "pairing", code=self.pairing.code,
                hint="nobody is allowed yet; send this to the bot: "
                     f"/bind {self.pairing.code}")

    async def answer(self, chat: Hashable, person: Person, text: str
                     ) -> str | None:
        """What a stranger in a private chat is told; None for nothing.
        The right code lets the person in."""
        code = read_code(text)
        if code is not None and self.pairing is not None:
            return await self._bind(self.pairing, chat, person, code)
        if not self._hints.is_due(chat):
            return None
        self._deps.log("stranger", id=person.id, username=person.name,
                       hint=f"to let them in add {person.id} to "
                            f"{self._table}.allowed_users")
        if not self._tells:
            return None
        hint = ("You are not allowed to use this bot yet. Its owner can let "
                f"you in by adding {person.id} to allowed_users of "
                f"[{self._table}] in config.toml.")
        if self.pairing is not None and self.pairing.code is not None:
            hint += ("\nAre you the owner? Then send: /bind CODE, with the "
                     "code that claw has logged at its start.")
        return hint

    async def _bind(self, pairing: Pairing, chat: Hashable, person: Person,
                    code: str) -> str:
        waits = pairing.locked_s(chat)
        if waits > 0:
            return f"Too many wrong codes. Try again in {waits:.0f} seconds."
        if not pairing.accepts(chat, code):
            return "That code is not valid."
        from asyncio import to_thread
        self.allowed.add(person)
        saved = await to_thread(self._deps.remember, str(person.id))
        self._deps.log("paired", id=person.id, username=person.name,
                       saved=saved)
        return "You are paired." if saved else (
            "You are paired until claw restarts: config.toml could not be "
            f"changed. Add {person.id} to allowed_users there.")


def read_code(text: str) -> str | None:
    """The code of a `/bind` command, "" where it has none; None for any
    other text."""
    found = _BIND.fullmatch(text.strip())
    return None if found is None else (found[1] or "").strip()
