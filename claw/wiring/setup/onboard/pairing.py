"""Live pairing: the channel runs as under `claw listen` until the right
code has come, and whoever sent it may write."""

import asyncio
from collections.abc import Callable
from typing import Any

from claw.config.places import Places
from claw.core.value import Value
from claw.wiring.listen.service import open_service

_TROUBLE = ("error", "failed", "rejected", "unusable", "lost", "conflict",
            "unsaved")
_ANSWER_S = 5.0  # the most to wait until "You are paired." has gone out


class Person(Value):
    """Who was let in."""

    id: str
    name: str = ""

    @property
    def shown(self) -> str:
        return f"{self.name} ({self.id})" if self.name else self.id


class Heard(Value):
    """Who hears of a pairing: of the code and how it is typed, of the
    person, of each message and answer, and of what goes wrong (with the
    next step)."""

    code: Callable[[str, str], None]
    person: Callable[[Person], None]
    traffic: Callable[[str], None]
    trouble: Callable[[str, str | None], None]


class Listening:
    """The service of one channel, as long as it takes.

    It ends by itself once somebody was paired and, where `lingers`, `stop`
    was called; without anybody after `patience_s`.
    """

    def __init__(self, places: Places, name: str, heard: Heard, *,
                 patience_s: float | None = None,
                 lingers: bool = False) -> None:
        self._places = places
        self._name = name
        self._heard = heard
        self._patience_s = patience_s
        self._lingers = lingers
        self._over = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.paired: Person | None = None
        self.is_elsewhere = False

    def stop(self) -> None:
        """Go on without waiting any longer."""
        self._over.set()

    async def run(self) -> Person | None:
        """Listen; who was let in, None for nobody. Raises ClawError where
        the service can't run, KeyboardInterrupt at Ctrl-C."""
        async with open_service(self._places, [self._name],
                                self._log) as service:
            working = asyncio.ensure_future(service.run())
            waiting = asyncio.ensure_future(self._over.wait())
            await asyncio.wait({working, waiting},
                               timeout=self._patience_s,
                               return_when=asyncio.FIRST_COMPLETED)
            was_stopped = working.done() and not self._over.is_set()
            waiting.cancel()
            service.stop()
            await working
        if was_stopped:  # the service drains at a signal
            raise KeyboardInterrupt
        return self.paired

    def _log(self, event: str, /, **fields: Any) -> None:
        """Called from any thread."""
        self._loop.call_soon_threadsafe(self._take, event, fields)

    def _take(self, event: str, fields: dict[str, Any]) -> None:
        if event == "pairing":
            self._heard.code(str(fields.get("code")),
                             str(fields.get("bind") or "/bind"))
        elif event == "paired":
            self.paired = Person(str(fields.get("id")),
                                 str(fields.get("username") or ""))
            self._heard.person(self.paired)
            if not self._lingers:  # the answer is on its way
                self._loop.call_later(_ANSWER_S, self._over.set)
        elif event == "standby":
            self.is_elsewhere = True
            self._over.set()
        elif event in ("message.accepted", "sent", "stranger"):
            self._heard.traffic(event)
            if event == "sent" and self.paired and not self._lingers:
                self._over.set()
        elif event.endswith(_TROUBLE):
            self._heard.trouble(
                str(fields.get("error") or fields.get("text") or event),
                fields.get("hint"))


