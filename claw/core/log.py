"""The log of a service as its parts see it: a function that takes an event
and its fields, `log("channel.error", channel="webhook", error="...")`,
and writes one line for the operator. What it writes is the CLI's business.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

Log: TypeAlias = Callable[..., None]


# Hears of an event and its fields, on whatever thread it happened.
Ear: TypeAlias = Callable[[str, Mapping[str, object]], None]


class Tap:
    """A log that others listen to as well."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._ears: tuple[Ear, ...] = ()

    def __call__(self, event: str, **fields: object) -> None:
        self._log(event, **fields)
        for ear in self._ears:
            ear(event, fields)

    def listen(self, ear: Ear) -> Callable[[], None]:
        """From now on; the function ends it."""
        self._ears = (*self._ears, ear)

        def leave() -> None:
            self._ears = tuple(one for one in self._ears if one is not ear)
        return leave


def silent(event: str, **fields: object) -> None:
    """Nobody reads the log."""
