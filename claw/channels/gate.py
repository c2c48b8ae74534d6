"""The gate before a platform: who was asked to slow down, and until when.

A 429 closes the chat it was for; when another chat gets one while the first
is closed, or the call had no chat, the whole bot is closed. Every call that
sends or edits asks the gate; typing and reactions have one of their own
beside it. Times come from the clock handed in.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from claw.core.errors import RateLimitedError

DEFAULT_WAIT_S = 5.0
LONGEST_S = 3600.0  # then it is asked whether the limit still stands


def bound_wait(wait_s: float) -> float:
    """What a server asked to wait, in sensible bounds."""
    return max(0.0, float(min(LONGEST_S, wait_s)))


class RateGate:
    """Closed chats and their times."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._chats: dict[str, float] = {}
        self._bot = 0.0

    def close(self, chat: str | None, wait_s: float | None) -> float:
        """After a 429; the seconds that it closes for."""
        wait_s = bound_wait(DEFAULT_WAIT_S if wait_s is None else wait_s)
        now = self._clock()
        until = now + wait_s
        self._chats = {c: t for c, t in self._chats.items() if t > now}
        if chat is None or any(c != chat for c in self._chats):
            self._bot = max(self._bot, until)
        if chat is not None:
            self._chats[chat] = max(self._chats.get(chat, 0.0), until)
        return wait_s

    def wait_s(self, chat: str | None) -> float:
        """Seconds until this chat is open; 0 where it is."""
        until = self._bot
        if chat is not None:
            until = max(until, self._chats.get(chat, 0.0))
        return max(0.0, until - self._clock())


async def wait_turn(title: str, waits_s: float, patience_s: float,
                    sleep: Callable[[float], Awaitable[Any]]) -> None:
    """Sleep until a call may go; what takes longer than `patience_s` raises
    RateLimitedError with `retry_after_s`. `title` is the platform's."""
    if waits_s > patience_s:
        raise RateLimitedError(
            f"{title} asked to slow down; {waits_s:.0f} s are left",
            hint=f"try again in {waits_s:.0f} s", status=429,
            retry_after_s=waits_s)
    if waits_s > 0:
        await sleep(waits_s)
