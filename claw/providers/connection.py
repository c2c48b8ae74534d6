"""What a provider's class is given when it is built."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from claw.providers.settings import NamedProviderSettings
from claw.providers.vendors import Vendor


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to, as whom, how patiently.

    `vendor` already carries the configured address. `transport` replaces
    the network in tests.
    """

    vendor: Vendor
    key: str | None = field(default=None, repr=False)
    named: NamedProviderSettings = field(
        default_factory=NamedProviderSettings)
    extra_headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 120.0
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    transport: Any = None
