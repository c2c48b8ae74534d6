"""The log of a service as its parts see it: a function that takes an event
and its fields, `log("channel.error", channel="webhook", error="...")`,
and writes one line for the operator. What it writes is the CLI's business.
"""

from collections.abc import Callable
from typing import TypeAlias

Log: TypeAlias = Callable[..., None]


def silent(event: str, **fields: object) -> None:
    """Nobody reads the log."""
