"""What was said while nobody listened, and no session could be resumed.

The channels of a server whose last message is newer than what was read, and
the direct messages that are known, are read on from there. Bounds: seven
days, 100 channels of a server, the last 100 direct chats, the newest 500
messages of each. Edits and pressed buttons of that time are not told.
"""

from collections.abc import Callable
from typing import Any

from claw.channels.discord.api import Api
from claw.channels.discord.rooms import list_channels
from claw.channels.discord.wire import is_id, snowflake
from claw.core.errors import AuthError, RequestRefusedError, UnavailableError
from claw.core.log import Log

PAGE = 100  # the most that one call gives
MOST_MESSAGES = 500
MOST_CHANNELS = 100
DAYS = 7
_PATIENCE_S = 60.0
_TRIES = 10
_LONGEST_S = 15.0


class History:
    """The history of one bot's channels. `now` is Unix seconds."""

    def __init__(self, api: Api, log: Log, now: Callable[[], float]) -> None:
        self._api = api
        self._log = log
        self._now = now

    def find_behind(self, guild: dict[str, Any], since: int) -> list[str]:
        """The channels of a server in which something newer stands."""
        behind = [(int(channel["last_message_id"]), channel["id"])
                  for channel in list_channels(guild)
                  if is_id(channel.get("last_message_id"))
                  and int(channel["last_message_id"]) > since]
        if len(behind) > MOST_CHANNELS:
            self._log("missed_cut", channels=len(behind),
                      hint=f"the {MOST_CHANNELS} with the newest messages "
                           "are read")
        return [chat for _, chat in sorted(behind)[-MOST_CHANNELS:]]

    async def read_on(self, chat: str, since: int) -> list[dict[str, Any]]:
        """The messages of a channel after an id, oldest first; the newest
        where there are too many. A channel that can't be read has none."""
        after = max(since, snowflake(self._now() - DAYS * 86_400))
        found: list[dict[str, Any]] = []
        before = ""
        while len(found) < MOST_MESSAGES:
            page = await self._read_page(chat, before)
            news = [row for row in page if int(row["id"]) > after]
            found += news
            if len(news) < PAGE:
                return found[::-1]
            before = f"&before={news[-1]['id']}"
        self._log("missed_cut", channel_id=chat, messages=len(found),
                  hint="these are the newest; older ones are not read")
        return found[::-1]

    async def _read_page(self, chat: str, before: str
                         ) -> list[dict[str, Any]]:
        """A page, newest first; tried again while Discord can't answer."""
        path = f"/channels/{chat}/messages?limit={PAGE}{before}"
        for attempt in range(_TRIES):
            try:
                page = await self._api.call("GET", path,
                                            patience_s=_PATIENCE_S)
            except (RequestRefusedError, AuthError) as error:
                self._log("missed_unread", channel_id=chat,
                          error=error.message)
                return []
            except UnavailableError as error:
                self._log("missed_unread", channel_id=chat, again=True,
                          error=error.message)
                await self._api.sleep(min(2.0 ** attempt, _LONGEST_S))
                continue
            rows = [row for row in page if isinstance(row, dict)
                    and is_id(row.get("id"))] \
                if isinstance(page, list) else []
            return sorted(rows, key=lambda row: -int(row["id"]))
        return []
