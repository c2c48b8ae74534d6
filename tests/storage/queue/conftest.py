"""A queue on a file, with clocks that the test turns; async tests."""

import asyncio
import inspect

import pytest

from claw.core.channel import ChannelMessage, Part, SendMessage
from claw.core.value import replace
from claw.storage.queue.model import Arrival, Completion, NewSend
from claw.storage.queue.owner import this_process, uptime
from claw.storage.queue.sqlite import SqliteQueue


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run tests that are coroutines."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(
        **{name: pyfuncitem.funcargs[name] for name in names}))
    return True


class Kit:
    """Queues on one file, as of several processes, and what to put in."""

    def __init__(self, path):
        self.path = path
        self.clock = 1_000_000.0
        self.uptime = uptime()  # others really run
        self._opened = []

    def open(self, owner=None):
        queue = SqliteQueue(self.path, owner=owner, now=lambda: self.clock,
                            uptime=lambda: self.uptime)
        self._opened.append(queue)
        return queue

    @staticmethod
    def process(**changes):
        """A process that runs: this one, but for what is changed."""
        return replace(this_process(), **changes)

    @classmethod
    def dead(cls, number=1):
        """A process of this machine that runs no more."""
        return cls.process(started=f"gone {number}")

    @staticmethod
    def message(message_id, *, content="hello", channel="telegram"):
        return ChannelMessage(message_id, "bob", "42", content, channel, 1)

    @classmethod
    def arrival(cls, message_id, conversation="telegram_bob", **given):
        return Arrival(cls.message(message_id, **given), conversation)

    @staticmethod
    def send(source, *texts, recipient="42", thread=None,
             channel="telegram", draft_id=None):
        return NewSend(
            source, channel,
            SendMessage(" ".join(texts), recipient, thread_ts=thread),
            tuple(Part("text", text) for text in texts), draft_id)

    @classmethod
    def answered(cls, *sends, **given):
        return Completion("answered", sends=sends, **given)

    async def due(self, queue, channel="telegram", limit=100):
        return await queue.due(channel, self.clock, limit)

    def close(self):
        for queue in self._opened:
            asyncio.run(queue.aclose())


@pytest.fixture
def kit(tmp_path):
    kit = Kit(tmp_path / "queue.db")
    yield kit
    kit.close()
