"""A Mac, and the channel on it. Tests here may be coroutines."""

import asyncio
import inspect
import json
from contextlib import asynccontextmanager

import pytest

from claw.channels.imessage import ImessageChannel, ImessageSettings
from claw.core.channel import ChannelDeps, Marks
from claw.testing.fake_imessage import FakeMac, person


class Desk:
    """The channel, what it took and what it logged."""

    def __init__(self, folder, mac, marks, **settings):
        self.mac, self.marks, self.events = mac, marks, []
        self.taken = []
        settings = {"allowed_users": (person(),), "poll_secs": 0.2,
                    **settings}
        self.channel = ImessageChannel(
            ImessageSettings(**settings), ChannelDeps(
                workspace=folder, files=folder / "files", marks=marks,
                log=lambda event, **fields: self.events.append(
                    (event, fields))), mac=mac.mac)

    async def put(self, message):
        self.taken.append(message)

    async def until(self, count):
        await self.wait_for(lambda: len(self.taken) >= count)
        return self.taken[-1]

    async def wait_for(self, happened):
        async with asyncio.timeout(20):
            while not happened():  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    @asynccontextmanager
    async def listening(self):
        task = asyncio.ensure_future(self.channel.listen(self))
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(test(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def mac(tmp_path):
    with FakeMac(tmp_path / "mac") as found:
        yield found
        assert found.problems == []


@pytest.fixture
def desk(tmp_path, mac):
    """desk(**settings); a second one has the marks of the first."""
    marks = Marks()
    marks.set("at", json.dumps([0, "", 0]))

    def make(*, fresh=False, **settings):
        return Desk(tmp_path, mac, Marks() if fresh else marks, **settings)
    return make
