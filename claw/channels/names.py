"""Who people are, where an event has no names: asked once in six hours."""

from collections.abc import Awaitable, Callable
from typing import Any

from claw.core.log import Log

HOLDS_S = 6 * 3600.0
_FAILED_S = 600.0
_MOST = 1_000


class Names:
    """The people of one account. `ask` gives a name, or what is no text
    where it can't be had: no reason to lose a message, and no reason to ask
    for each one. `hint` is for the operator, then."""

    def __init__(self, ask: Callable[[str], Awaitable[Any]], *,
                 clock: Callable[[], float], log: Log, hint: str) -> None:
        self._ask = ask
        self._clock = clock
        self._log = log
        self._hint = hint
        self._known: dict[str, tuple[float, str]] = {}
        self._told = False

    async def name(self, person: str) -> str:
        """"" where it can't be had."""
        until, name = self._known.get(person, (0.0, ""))
        if self._clock() < until:
            return name
        given = await self._ask(person)
        name = given.strip() if isinstance(given, str) else ""
        if not name and not self._told:
            self._told = True
            self._log("name_unknown", id=person, hint=self._hint)
        if len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[person] = (
            self._clock() + (HOLDS_S if name else _FAILED_S), name)
        return name
