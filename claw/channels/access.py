"""Who may write to a channel, and how a stranger becomes somebody who may.

The allow-list holds people's ids and usernames, case-sensitively, a leading
"@" removed; "*" is everybody, an empty list nobody. A username belongs to
the first person who came with it: he is let in whatever he calls himself
later, and another one of that name is not. Who is named is an owner, who
passes only because everybody does a stranger.

With an empty list a six-digit code is logged at the start; the first person
who sends `/bind <code>` in private is let in.
"""

import hmac
import re
import secrets
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable

import msgspec

from claw.core.abilities import Finding
from claw.core.channel import (
    STRANGER,
    BindsNames,
    ChannelDeps,
    FirstComers,
    FollowsIds,
)
from claw.core.value import Value

LOCK_TRIES = 5
LOCK_S = 300.0
HINT_S = 3600.0
CODE_S = 3600.0
_CROWD = 25  # wrong codes of all chats in LOCK_S: then one try a chat
_SHORT_TRIES = 1_000
_CHATS = 10_000
_BIND = re.compile(r"/bind(?:@\w+)?(?:\s+(.*))?", re.S)


class AccessSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel with an allow-list has in its table.

    allowed_users: who may write: ids and usernames; "*" is everybody
    allow_everyone: let everybody in where "*" stands alone: all of them are
        strangers, who have no tools
    """

    allowed_users: tuple[str | int, ...] = ()
    allow_everyone: bool = False

    @staticmethod
    def spell(entry: str) -> str:
        """An entry as ids of the platform are written: people write them
        in several ways."""
        return entry

    def __post_init__(self) -> None:
        allowed = AllowList(self.allowed_users)
        if allowed.open_to_all and not allowed.has_owners \
                and not self.allow_everyone:
            raise ValueError(
                'allowed_users holds "*" alone, which names no owner: add '
                "your own id to it, or set allow_everyone = true, and "
                "everybody is a stranger without tools")


class Person(Value):
    """Somebody who writes: `id` never changes hands, `name` may."""

    id: str | int
    name: str = ""


class AllowList:
    """Names and ids that may write; grows when somebody is paired."""

    def __init__(self, names: Iterable[str | int],
                 bindings: BindsNames | None = None) -> None:
        # "@*" is nobody's name, and not everybody either.
        self._names = {str(name).strip().removeprefix("@")
                       for name in names if str(name).strip() != "@*"} - {""}
        self._sort_usernames()
        self._bindings = bindings or FirstComers()

    def _sort_usernames(self) -> None:
        # The entries that are no ids; a name of digits could pass for one.
        self.usernames = sorted(name for name in self._names
                                if name != "*" and not name.isdigit())

    def __bool__(self) -> bool:
        return bool(self._names)

    def allows(self, person: Person | None) -> bool:
        """Somebody without an identity passes only where everybody does."""
        return self.open_to_all or not self.is_stranger(person)

    def is_stranger(self, person: Person | None) -> bool:
        """Whether nothing in the list names somebody: who is named is an
        owner."""
        if person is None:
            return True
        number = str(person.id)
        if number.removeprefix("@") in self._follow(self._names - {"*"}) \
                or self.find_holder(person) == number:
            return False
        return all(self._bindings.find(name) != number
                   for name in self._follow(self.usernames))

    def find_holder(self, person: Person) -> str | None:
        """The id of whom this person's name in the list belongs to, who is
        he himself where nobody had it before; None where it isn't there."""
        return (self._bindings.bind(person.name, str(person.id))
                if person.name in self._follow(self.usernames) else None)

    def _follow(self, names: Iterable[str]) -> set[str]:
        """These entries as they are now: a number that is a name of
        somebody with an id moves, too."""
        return self._bindings.follow(names) if isinstance(
            self._bindings, FollowsIds) else set(names)

    def add(self, person: Person) -> None:
        self._names.add(str(person.id).removeprefix("@"))

    def move(self, old: str, new: str) -> None:
        """Who was `old` is `new`; `old` may be anybody's from now on."""
        self._names = {*self._names - {old}, new}
        self._sort_usernames()

    @property
    def open_to_all(self) -> bool:
        return "*" in self._names

    @property
    def has_owners(self) -> bool:
        """Whether somebody is named."""
        return bool(self._names - {"*"})

    def judge(self, hint: str) -> Finding | None:
        """The doctor's row of a list that names nobody, or everybody;
        `hint` is how to name people. None: it is for the channel to say."""
        if not self:
            return Finding("allow_list", "warn", "nobody is allowed; claw "
                           "listen logs a pairing code", hint)
        if self.open_to_all:
            return Finding("allow_list", "warn", "everybody may write; "
                           + ("only the owners have tools" if self.has_owners
                              else "nobody has tools, as no owner is named"),
                           hint)
        return None


class Pairing:
    """One code, used once, good for an hour; another one follows it.

    Who may be the owner is told by the code alone, so no number of wrong
    ones ever refuses the right one of a chat that has not failed itself.
    What slows the others: five wrong codes lock their chat for 300 s, and
    while all chats together gave 25 in 300 s, one does.

    Guessing: of six digits at most 1,000 wrong codes are compared in the
    life of a process, a chance of 1,000 in 10**6, 0.1 % in all, however
    many accounts try. Codes after that have twelve: a million accounts at
    five tries in 300 s have a chance of 6e7 in 10**12 an hour.
    """

    def __init__(self, clock: Callable[[], float], code: str | None = None,
                 announce: Callable[[str], None] = lambda code: None) -> None:
        self._clock = clock
        self._announce = announce
        self._wrong: dict[Hashable, int] = {}
        self._locked: dict[Hashable, float] = {}
        self._crowd: deque[float] = deque(maxlen=_CROWD)
        self._compared = 0
        self.code: str | None = None
        self._renew(code)

    def locked_s(self, chat: Hashable) -> float:
        """Seconds that this chat must wait; 0 for none."""
        return max(0.0, self._locked.get(chat, 0.0) - self._clock())

    def takes(self, chat: Hashable) -> bool:
        """Whether a code is tried now; who goes on sending them is not
        answered each time, since every answer waits in the outbox."""
        return self.code is not None and self.locked_s(chat) == 0

    def accepts(self, chat: Hashable, given: str) -> bool:
        """Try a code; a right one is used up. Ask `locked_s` before."""
        if self.code is not None and self._clock() >= self._expires:
            self._renew()
        if self.code is not None and hmac.compare_digest(
                given.encode("utf-8", "replace"), self.code.encode()):
            self.code = None
            return True
        self._note_wrong(chat)
        return False

    def _note_wrong(self, chat: Hashable) -> None:
        now = self._clock()
        if len(self._wrong) >= _CHATS:
            self._wrong.clear()
        while self._locked and next(iter(self._locked.values())) <= now:
            del self._locked[next(iter(self._locked))]  # the oldest
        self._crowd.append(now)
        is_crowd = (len(self._crowd) == _CROWD
                    and now - self._crowd[0] < LOCK_S)
        self._wrong[chat] = self._wrong.get(chat, 0) + 1
        if is_crowd or self._wrong[chat] >= LOCK_TRIES:
            del self._wrong[chat]
            self._locked.pop(chat, None)
            self._locked[chat] = now + LOCK_S
        self._compared += 1
        if self._compared == _SHORT_TRIES and self.code is not None:
            self._renew()

    def _renew(self, code: str | None = None) -> None:
        digits = 6 if self._compared < _SHORT_TRIES else 12
        self.code = code or f"{secrets.randbelow(10**digits):0{digits}d}"
        self._expires = self._clock() + CODE_S
        self._announce(self.code)


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
    strangers are told how they can be let in; `bind` is how people type
    the command: with another sign than "/", or a blank before it, where
    programs keep lines with "/" for themselves.
    """

    def __init__(self, allowed: Iterable[str | int], deps: ChannelDeps, *,
                 table: str, tells: bool = True, bind: str = "/bind",
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.allowed = AllowList(allowed, deps.names)
        self.pairing: Pairing | None = None
        self._deps = deps
        self._table = table
        self._tells = tells
        self._bind_word = bind
        self._note = "; mind the blank before the /" \
            if bind.startswith(" ") else ""
        self._clock = clock
        self._hints = Hints(clock)
        self._reports = Hints(clock)

    def allows(self, person: Person | None) -> bool:
        """Whether somebody may write. A name of the list that is another
        person's now is reported."""
        holder = None if person is None else self.allowed.find_holder(person)
        if person is not None and holder not in (None, str(person.id)) \
                and self._reports.is_due(person.id):
            self._deps.log(
                "name.rejected", id=person.id, username=person.name,
                holder=holder, hint=f"{person.name} in {self._table}."
                f"allowed_users is {holder}; to let this one in too add "
                f"{person.id}")
        return self.allowed.allows(person)

    def labels(self, person: Person | None) -> tuple[str, ...]:
        """What a message of somebody who passes is labelled with."""
        return (STRANGER,) if self.allowed.is_stranger(person) else ()

    def open_pairing(self) -> None:
        """With nobody allowed, make the code and log it."""
        if self.pairing is None and not self.allowed:
            self.pairing = Pairing(self._clock, announce=self._tell_code)

    def _tell_code(self, code: str) -> None:
        self._deps.log("pairing", code=code, bind=self._bind_word,
                       hint=f"nobody is allowed yet{self._note}")

    async def answer(self, chat: Hashable, person: Person, text: str
                     ) -> str | None:
        """What a stranger in a private chat is told; None for nothing.
        The right code lets the person in."""
        code = read_code(text)
        if code is not None and self.pairing is not None \
                and self.pairing.takes(chat):
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
            hint += (f"\nAre you the owner? Then send: {self._bind_word} "
                     "CODE, with the code that claw has logged at its start"
                     f"{self._note}.")
        return hint

    async def _bind(self, pairing: Pairing, chat: Hashable, person: Person,
                    code: str) -> str:
        if not pairing.accepts(chat, code):
            waits = pairing.locked_s(chat)
            return "That code is not valid." + (
                f" Try again in {waits:.0f} seconds." if waits else "")
        from asyncio import to_thread
        self.allowed.add(person)
        if person.name:  # what was kept under the name is his
            self._deps.names.bind(person.name, str(person.id))
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
