"""/v1/events, over a real socket."""

import asyncio
import json

from claw.core.log import Tap, silent
from claw.gateway.endpoint import Key
from claw.gateway.events import KEPT, Events, Reader
from tests.gateway import test_app
from tests.gateway.test_app import TOKEN, exchange, request, serving, until


async def read_events(port, count, make):
    """The first events after `make` was called with the stream open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request("/v1/events", token=TOKEN))
    async with asyncio.timeout(5):
        await reader.readuntil(b": connected\n\n")
        make()
        found = [json.loads((await reader.readuntil(b"\n\n"))
                            .partition(b"data: ")[2])
                 for _ in range(count)]
    writer.close()
    return found


def test_what_is_logged_is_streamed():
    async def go():
        tap = Tap(silent)
        async with serving([Events(tap).endpoint]) as (port, _, _):
            found = await read_events(port, 1, lambda: tap(
                "turn", turn="t1", outcome="answered"))
            await until(lambda: not tap._ears)
        return found
    [event] = asyncio.run(go())

    assert (event["type"], event["turn"], event["outcome"]) == (
        "turn", "t1", "answered")
    assert event["at"].endswith("Z")


def test_only_the_owners_keys_may_listen(monkeypatch):
    class Others:
        def find(self, token):
            return Key("2", "mina", "mina")

    monkeypatch.setattr(test_app, "Keys", Others)

    async def go():
        async with serving([Events(Tap(silent)).endpoint]) as (port, _, _):
            return await exchange(port, request("/v1/events", token=TOKEN))

    assert asyncio.run(go())[0] == 403


def test_who_reads_too_slowly_hears_how_much_was_missed():
    async def go():
        reader = Reader(asyncio.get_running_loop())
        for number in range(KEPT + 10):
            reader.hear("turn", {"number": number})
        await asyncio.sleep(0.01)
        return await reader.take(0)
    found = asyncio.run(go())

    assert found[0] == {"type": "skipped", "events": 10}
    assert len(found) == KEPT + 1
    assert found[-1]["number"] == KEPT + 9


def test_the_end_of_the_gateway_ends_the_streams():
    async def go():
        tap = Tap(silent)
        async with serving([Events(tap).endpoint]) as (port, _, app):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request("/v1/events", token=TOKEN))
            async with asyncio.timeout(5):
                await reader.readuntil(b": connected\n\n")
                app.closing.set()
                rest = await reader.readuntil(b"0\r\n\r\n")
            writer.close()
        return rest

    assert asyncio.run(go()).endswith(b"0\r\n\r\n")
