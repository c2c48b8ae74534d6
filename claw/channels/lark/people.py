"""Who people are: their names, asked once in six hours. An event has none."""

from collections.abc import Callable

from claw.channels.lark.api import LarkApi, ask_quietly
from claw.core.log import Log

HOLDS_S = 6 * 3600.0
_FAILED_S = 600.0
_ASK_S = 2.0  # an event is to be acknowledged within three
_MOST = 1_000


class People:
    """The people of one app. A name that can't be had is no reason to lose
    a message, and no reason to ask for each one."""

    def __init__(self, api: LarkApi, *, clock: Callable[[], float],
                 log: Log) -> None:
        self._api = api
        self._clock = clock
        self._log = log
        self._known: dict[str, tuple[float, str]] = {}
        self._told = False

    async def name(self, open_id: str) -> str:
        """"" where it can't be had."""
        until, name = self._known.get(open_id, (0.0, ""))
        if self._clock() < until:
            return name
        found = await ask_quietly(self._api.call(
            "GET", f"contact/v3/users/{open_id}",
            query={"user_id_type": "open_id"}, timeout_s=_ASK_S,
            patience_s=0.0))
        user = (found or {}).get("user")
        given = user.get("name") if isinstance(user, dict) else None
        name = given.strip() if isinstance(given, str) else ""
        if not name and not self._told:
            self._told = True
            self._log("name_unknown", id=open_id, hint="people's names need "
                      "the scope contact:user.base:readonly, and a person "
                      "within the app's contact range")
        if len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[open_id] = (
            self._clock() + (HOLDS_S if name else _FAILED_S), name)
        return name
