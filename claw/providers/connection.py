"""What a provider's class is given when it is built."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from claw.core.value import Value, hidden, made
from claw.providers.settings import NamedProviderSettings, ReasoningSettings
from claw.providers.vendors import Vendor


class Facts(Value):
    """What is known of one model at one address.

    `native_tools` None: never tried. `without` are the parts of a request
    that it refuses (providers.refusals.Feature). `checked_at` is RFC 3339
    in UTC, "" where nothing is known.
    """

    native_tools: bool | None = None
    without: tuple[str, ...] = ()
    checked_at: str = ""


class KeepsFacts(Protocol):
    """Remembers facts from one process to the next; neither member
    raises."""

    def facts(self, address: str, model: str) -> Facts: ...

    def learn(self, address: str, model: str, facts: Facts) -> None: ...


def unheard(_: str) -> None:
    """Nobody listens."""


class Connection(Value):
    """Where to, as whom, how patiently.

    `vendor` already carries the configured address. `notify` hears what a
    person should know (a model without tools, say). `transport` replaces
    the network in tests.
    """

    vendor: Vendor
    key: str | None = hidden(default=None)
    named: NamedProviderSettings = made(factory=NamedProviderSettings)
    extra_headers: Mapping[str, str] = hidden(factory=dict)
    timeout_s: float = 120.0
    env: Mapping[str, str] = hidden(factory=dict)
    transport: Any = None
    reasoning: ReasoningSettings = made(factory=ReasoningSettings)
    facts: KeepsFacts | None = None
    notify: Callable[[str], None] = unheard
