"""A channel that leaves its sending to one part of it."""

from abc import ABC
from collections.abc import Callable
from typing import Protocol

from claw.core.channel import Channel, Part, SendMessage


def stay_silent() -> None:
    """Nobody wants to know when a call leaves."""


class PartSender(Protocol):
    """Makes the calls of a message and delivers one of them."""

    def parts(self, message: SendMessage) -> list[Part]:
        """As SendsParts says."""

    async def part(self, message: SendMessage, part: Part,
                   leaving: Callable[[], None] = stay_silent) -> str | None:
        """As TellsLeaving says."""


class PartChannel(Channel, ABC):
    """A channel that SendsParts and TellsLeaving with its `_sender`."""

    _sender: PartSender

    def parts(self, message: SendMessage) -> list[Part]:
        return self._sender.parts(message)

    async def send_part(self, message: SendMessage, part: Part
                        ) -> str | None:
        return await self._sender.part(message, part)

    async def send_part_telling(self, message: SendMessage, part: Part,
                                leaving: Callable[[], None]) -> str | None:
        return await self._sender.part(message, part, leaving)

    async def send(self, message: SendMessage) -> None:
        for part in self.parts(message):
            await self._sender.part(message, part)
