"""Work on threads whose caller is cancelled."""

import asyncio
import time

import pytest

from claw.core.threads import make_on_thread


def test_what_is_made_is_returned():
    undone = []

    assert asyncio.run(make_on_thread(lambda: 7, undone.append)) == 7
    assert undone == []


def test_what_a_cancelled_caller_made_is_undone():
    undone = []

    def make():
        time.sleep(0.05)
        return "folder"

    async def cancel():
        task = asyncio.ensure_future(make_on_thread(make, undone.append))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())

    assert undone == ["folder"]


def test_an_error_comes_through():
    def fail():
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        asyncio.run(make_on_thread(fail, print))
