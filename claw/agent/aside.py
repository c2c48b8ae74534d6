"""Work on a thread that the end of the program does not wait for.

asyncio.to_thread is for what is short: a program ends only after its
threads. What may take long and bears being killed goes here.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress


async def aside(work: Callable[[], object], *, patience_s: float = 0) -> None:
    """Run `work` on a thread of its own until it ends. Raises what it
    raises. Who is cancelled meanwhile waits `patience_s` more and leaves it
    to itself."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    # An error that comes when nobody waits any more is nobody's.
    done.add_done_callback(lambda ended: ended.exception())

    def ended(error: Exception | None) -> None:
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        failed: Exception | None = None
        try:
            work()
        except Exception as error:  # raised where it is waited for
            failed = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(ended, failed)

    threading.Thread(target=run, name="aside", daemon=True).start()
    try:
        await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait([done], timeout=patience_s)
        raise
