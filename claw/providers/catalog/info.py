"""What is known of one model, and who remembers it (model_info.py does)."""

from typing import Protocol

from claw.core.value import Value


class ModelInfo(Value):
    """What is known of one model at one address.

    `native_tools` None: never tried. `without` are the parts of a request
    that it refuses (wire.refusals.Feature). `checked_at` is RFC 3339
    in UTC, "" where nothing is known.
    """

    native_tools: bool | None = None
    without: tuple[str, ...] = ()
    checked_at: str = ""


class KeepsModelInfo(Protocol):
    """Remembers model info from one process to the next; neither member
    raises."""

    def find(self, address: str, model: str) -> ModelInfo: ...

    def learn(self, address: str, model: str, info: ModelInfo) -> None: ...
