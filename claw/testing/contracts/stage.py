"""What a channel is tested on: a stage, an inbox, hostile texts.

See claw.testing.contracts.channel.
"""

import asyncio
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from claw.core.abilities import ClosesChannel
from claw.core.channel import Channel, ChannelMessage, Inbox
from claw.core.errors import ClawError, StorageError

T = TypeVar("T")

# How long a test waits for something to come of a call.
PATIENCE_S = 10.0

# What may be in an answer. Each starts and ends with a word to look for.
HOSTILE = {
    "scripts": "alpha 안녕 你好 こんにちは שלום नमस्ते 👩\u200d👧 🇰🇷 omega",
    "controls": "alpha \0 \x1b[2J \x07 \x7f \r\n \u202edrow\u202c omega",
    "half a character": "alpha \ud83d \udc4b omega",
    "markup": "alpha **b *i `c` ```\n<b>&amp;</i> [x](http:// ~~ || _ omega",
    "100,000 characters": "alpha " + "x" * 99_988 + " omega",
    "one long line of emoji": "alpha " + "👋" * 5_000 + " omega",
    "combining": "alpha " + "e" + "\u0301" * 6_000 + " omega",
    "noncharacters": "alpha \ufffe\uffff\U0010ffff\ufeff omega",
}
UNKNOWN = ("", "nobody", "nobody:1", "999999999", "-1:x", "\0", "\ud83d",
           "x" * 5_000)
# The ways in which a platform that is asked over HTTP can fail: what its
# fake is told, a fault and its options.
FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "reset": ("reset", {}),
    "half": ("half", {}),
    "gateway": ("html", {"status": 502}),
    "page": ("html", {"status": 200}),
    "broken": ("status", {"status": 500}),
    "refused": ("status", {"status": 400}),
    "unauthorized": ("status", {"status": 401}),
    "slow down": ("429", {"retry_after": 900}),
}


async def hasten(seconds: float) -> None:
    """Waiting that takes no time."""
    await asyncio.sleep(min(seconds, 0.01))


class Stage:
    """A channel and its platform, for one test.

    `recipient` is someone to write to, `secret` a token that must show
    nowhere, `logged` what the channel wrote to its log (hand `log` to the
    channel's deps). Unless noted the methods must be given.
    """

    recipient = "alice"
    secret: str | None = None

    def __init__(self) -> None:
        self.logged: list[str] = []
        self.channel = self.make()

    def make(self) -> Channel:
        """A channel, as a process that starts has it. What is not
        acknowledged stays with the platform."""
        raise NotImplementedError

    async def say(self, text: str) -> None:
        """A person writes. The channel is listening, or about to."""
        raise NotImplementedError

    async def rename(self) -> bool:
        """The person who writes takes another name; False where people
        have nothing but an id."""
        return False

    def shown(self) -> list[str]:
        """What there is to read at the recipient, in order."""
        raise NotImplementedError

    async def resend(self) -> None:
        """What the platform does about a message that it heard nothing
        good of; one that is polled does nothing."""

    def acknowledged(self) -> bool | None:
        """Whether the platform heard "received" for all that was said;
        None where it can't be told."""
        return None

    def fail(self, how: str) -> None:
        """From now on every call goes wrong, in one of the ways that
        `ChannelContract.failures` names."""
        raise NotImplementedError

    def previews(self) -> int:
        """How many of the messages to the recipient the platform was free
        to show a preview of a link of. One that makes previews counts
        them; others have none."""
        return 0

    def connections(self) -> int:
        """How many connections the channel has to its platform."""
        return 0

    def log(self, event: str, **fields: Any) -> None:
        self.logged.append(f"{event} {fields}")


class Kept:
    """An inbox in memory. The first `refuses` puts raise; while `holds`
    is set no put returns."""

    def __init__(self, refuses: int = 0, holds: bool = False) -> None:
        self.messages: list[ChannelMessage] = []
        self.offered: list[ChannelMessage] = []
        self.free = asyncio.Event()
        self._refuses = refuses
        if not holds:
            self.free.set()

    async def put(self, message: ChannelMessage) -> None:
        self.offered.append(message)
        await self.free.wait()
        if len(self.offered) <= self._refuses:
            raise StorageError("the disk is full")
        self.messages.append(message)


@asynccontextmanager
async def listening(channel: Channel,
                    inbox: Kept) -> AsyncIterator[None]:
    """`listen`, started again after errors as the supervisor does."""
    async def run() -> None:
        while True:
            try:
                await channel.listen(inbox)
            except ClawError:
                pass
            await asyncio.sleep(0.01)

    task = asyncio.create_task(run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task}, timeout=5)


class KeepingInbox:
    """What was put, how often something was heard, and what went wrong;
    `broken` is raised by put instead."""

    def __init__(self) -> None:
        self.messages: list[ChannelMessage] = []
        self.failures: list[str] = []
        self.heard = 0
        self.broken: Exception | None = None

    async def put(self, message: ChannelMessage) -> None:
        if self.broken is not None:
            raise self.broken
        self.messages.append(message)

    def received(self) -> None:
        self.heard += 1

    def failed(self, why: str) -> None:
        self.failures.append(why)

    @property
    def contents(self) -> list[str]:
        return [message.content for message in self.messages]


@asynccontextmanager
async def run_listener(channel: Channel, inbox: Inbox
                       ) -> AsyncIterator["asyncio.Task[None]"]:
    """`listen`, once; what it raises comes out in the end."""
    task = asyncio.create_task(channel.listen(inbox))
    try:
        yield task
    finally:
        if task.done() and not task.cancelled():
            task.result()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(predicate: Callable[[], T]) -> T:
    """Wait until the predicate is true; what it gave."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := predicate()):
        assert time.monotonic() < deadline, "nothing came of it"
        await asyncio.sleep(0.005)
    return found


async def close(channel: Channel) -> None:
    if isinstance(channel, ClosesChannel):
        await channel.aclose()


async def refusal(work: Awaitable[Any]) -> ClawError | None:
    """The ClawError that a call ends with; anything else rises."""
    try:
        await work
    except ClawError as error:
        return error
    return None


def more(stage: Stage, than: int) -> list[str]:
    """What is shown beyond so many messages."""
    return stage.shown()[than:]


def told(error: ClawError) -> list[str]:
    """All that a log could hold of an error, its causes included."""
    return [error.message, error.hint or "", repr(error),
            *traceback.format_exception(error)]


def hidden(stage: Stage, *texts: str) -> None:
    """Assert that none of the texts holds the stage's secret."""
    if stage.secret is None:
        return
    for text in texts:
        assert stage.secret not in text, "a secret shows"
