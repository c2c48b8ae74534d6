"""What an embedding provider's class is given when it is built."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claw.core.errors import ClawError
from claw.core.value import Value, hidden


class Connection(Value):
    """One choice of provider and model, read from the settings.

    `name` is the provider as configured ("openai", "custom:http://..."),
    `url` its base address ("" where it has none), `headers` what the
    vendor wants besides. `key` is None where none is sent; where one is
    needed, `no_key` is the error to raise instead of asking. `models` is
    the folder of downloaded weights. `transport` replaces the network in
    tests.
    """

    name: str
    model: str = ""
    dimensions: int = 0
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    key: str | None = hidden(default=None)
    no_key: ClawError | None = None
    models: Path = Path("models")
    env: Mapping[str, str] = hidden(factory=dict)
    transport: Any = None
