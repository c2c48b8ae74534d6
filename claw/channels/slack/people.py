"""Who people are: their display names, asked once in six hours."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from claw.channels.slack.api import SIGN_S, SlackApi
from claw.core.errors import AuthError, UnavailableError
from claw.core.log import Log

HOLDS_S = 6 * 3600.0
_FAILED_S = 60.0
_MOST = 1_000


class People:
    """The people of one workspace. A name that can't be had is no reason
    to lose a message: the id stands in its place."""

    def __init__(self, api: SlackApi, *, clock: Callable[[], float],
                 log: Log) -> None:
        self._api = api
        self._clock = clock
        self._log = log
        self._known: dict[str, tuple[float, str]] = {}
        self._told = False

    async def names(self, ids: Iterable[str]) -> dict[str, str]:
        """The names of those whose names are known."""
        found = {person: await self.name(person)
                 for person in list(dict.fromkeys(ids))[:20]}
        return {person: name for person, name in found.items() if name}

    async def name(self, person: str) -> str:
        """"" where it can't be had."""
        until, name = self._known.get(person, (0.0, ""))
        if self._clock() < until:
            return name
        holds = HOLDS_S
        try:
            found = await self._api.call(
                "users.info", {"user": person}, timeout_s=SIGN_S,
                patience_s=0.0)
            name = read_name(found.get("user"))
        except (UnavailableError, AuthError) as error:
            holds = _FAILED_S
            if not self._told:
                self._told = True
                self._log("name_unknown", id=person, error=error.message,
                          hint=error.hint)
        if len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[person] = (self._clock() + holds, name)
        return name

    def forget(self, user: Any) -> None:
        """Somebody has changed his profile."""
        if isinstance(user, dict):
            self._known.pop(str(user.get("id")), None)


def read_name(user: Any) -> str:
    """How a person is called there: as he calls himself, else his real
    name, else his account's."""
    if not isinstance(user, dict):
        return ""
    profile = user.get("profile")
    places: tuple[tuple[Mapping[str, Any], str], ...] = (
        (user, "real_name"), (user, "name"))
    if isinstance(profile, dict):
        places = ((profile, "display_name"), (profile, "real_name"), *places)
    for place, key in places:
        name = place.get(key)
        if isinstance(name, str) and name.strip():
            return name.strip()
    return ""
