"""What a provider's class is given when it is built."""

from collections.abc import Mapping
from typing import Any

from claw.core.value import Value, hidden, made
from claw.providers.settings import NamedProviderSettings
from claw.providers.vendors import Vendor


class Connection(Value):
    """Where to, as whom, how patiently.

    `vendor` already carries the configured address. `transport` replaces
    the network in tests.
    """

    vendor: Vendor
    key: str | None = hidden(default=None)
    named: NamedProviderSettings = made(factory=NamedProviderSettings)
    extra_headers: Mapping[str, str] = made(factory=dict)
    timeout_s: float = 120.0
    env: Mapping[str, str] = hidden(factory=dict)
    transport: Any = None
