"""What a provider's class is given when it is built."""

from collections.abc import Callable, Mapping
from typing import Any

from claw.core.value import Value, hidden, made
from claw.providers.catalog.info import KeepsModelInfo
from claw.providers.catalog.vendors import Vendor
from claw.providers.settings import NamedProviderSettings, ReasoningSettings


def ignore_notice(_: str) -> None:
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
    model_info: KeepsModelInfo | None = None
    notify: Callable[[str], None] = ignore_notice
