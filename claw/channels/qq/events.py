"""One event, from the gateway or from a webhook: what it means here.

Messages and pressed buttons become ChannelMessages; the rest tells whether
the bot may write of its own accord, and is logged.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from claw.channels.gateway import Frame
from claw.channels.qq.api import Api
from claw.channels.qq.chats import Chats
from claw.channels.qq.intake import Intake
from claw.channels.qq.wire import (
    GROUP,
    MESSAGES,
    USER,
    Place,
    is_id,
    is_name,
    read_message,
    read_press,
    read_time,
)
from claw.core.channel import ChannelMessage, Inbox
from claw.core.log import Log

_CLOSE_S = 0.5
_PRESSED, _FORBIDDEN = 0, 4
# Events that close a chat to messages of the bot's own accord, and those
# that open it and may be answered.
_CLOSED = {"C2C_MSG_REJECT": "the person has switched off the bot's own "
                             "messages",
           "GROUP_MSG_REJECT": "the group has switched off the bot's own "
                               "messages",
           "FRIEND_DEL": "the person has removed the bot",
           "GROUP_DEL_ROBOT": "the bot was removed from the group"}
_OPENED = ("C2C_MSG_RECEIVE", "GROUP_MSG_RECEIVE", "FRIEND_ADD",
           "GROUP_ADD_ROBOT")


class Events:
    """Reads events. `bot_id` is known once a session has begun."""

    def __init__(self, api: Api, intake: Intake, chats: Chats,
                 log: Log) -> None:
        self._api = api
        self._intake = intake
        self._chats = chats
        self._log = log
        self._tasks: set[asyncio.Task[Any]] = set()
        self.bot_id = ""

    async def read(self, frame: Frame, inbox: Inbox,
                   heard: Callable[[], None] = lambda: None
                   ) -> ChannelMessage | None:
        """The message of an event, not committed yet; None where it has
        none for us."""
        event = frame.t or ""
        try:
            if event in MESSAGES:
                return await self._message(event, frame.d, inbox, heard)
            if event == "INTERACTION_CREATE":
                return self._press(frame.d)
            if event in _CLOSED or event in _OPENED:
                self._permission(event, frame)
        except ValueError as error:  # also msgspec's
            self._log("event_unreadable", kind=event[:60],
                      error=str(error)[:300])
        return None

    async def _message(self, event: str, data: Any, inbox: Inbox,
                       heard: Callable[[], None]) -> ChannelMessage | None:
        message, place, sender = read_message(event, data)
        self._chats.note(place, message.id, read_time(message.timestamp))
        return await self._intake.message(event, message, place, sender,
                                          self.bot_id, inbox, heard)

    def _press(self, data: Any) -> ChannelMessage | None:
        press, place, sender = read_press(data)
        self._chats.note(place, press.id, read_time(press.timestamp),
                         is_event=True)
        found = self._intake.press(press, place, sender)
        if found is None:
            self.tell_pressed(press.id, _FORBIDDEN)
        return found

    def tell_pressed(self, number: str, code: int = _PRESSED) -> None:
        """QQ shows that the button works on it until it hears this."""
        self._start(self._api.cosmetic("PUT", f"/interactions/{number}",
                                       {"code": code}))

    def _permission(self, event: str, frame: Frame) -> None:
        data = frame.d if isinstance(frame.d, dict) else {}
        kind, key = (GROUP, "group_openid") if event.startswith("GROUP") \
            else (USER, "openid")
        if not is_name(data.get(key)):
            raise ValueError(f"{event} names no chat")
        place = Place(kind, str(data[key]))
        why = _CLOSED.get(event)
        if why:
            self._chats.close(place, why, for_good=True)
        else:
            self._chats.open(place)
            if is_id(frame.id):
                self._chats.note(place, str(frame.id), None, is_event=True)
        self._log(event.lower(), chat=place.recipient)

    def _start(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """End what nobody waits for."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_S)
