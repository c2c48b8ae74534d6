"""The pins of this machine (a Raspberry Pi), by their BCM numbers.

gpiozero finds the pins. One that was written is held, and so keeps its
value, until the process ends.
"""

import warnings
from typing import Any

from claw.core.errors import MissingPartError, UnavailableError, UsageError
from claw.core.installed import install_command

PINS = range(28)


class NativeBoard:
    """See boards.Board."""

    def __init__(self) -> None:
        self._gpiozero: Any = None
        self._outputs: dict[int, Any] = {}

    def connect(self) -> None:
        if self._gpiozero is not None:
            return
        try:
            import gpiozero
        except ModuleNotFoundError as error:
            raise MissingPartError(
                "its pins need gpiozero, which is not installed; the owner "
                f"installs it with: {install_command('hardware')}"
            ) from error
        self._gpiozero = gpiozero
        try:
            with warnings.catch_warnings():  # of each library it tries
                warnings.simplefilter("ignore")
                gpiozero.Device.ensure_pin_factory()
        except Exception as error:  # of whatever library stands behind it
            self._gpiozero = None
            raise UnavailableError(
                f"this machine shows no pins: {error}") from error

    def disconnect(self) -> None:
        for output in self._outputs.values():
            output.close()
        self._outputs.clear()
        self._gpiozero = None

    def health_check(self) -> None:
        """It is here, or was not connected."""

    def read_pin(self, pin: int) -> int:
        _check_pin(pin)
        if pin in self._outputs:
            return int(self._outputs[pin].value)
        with self._make("InputDevice", pin, pull_up=None,
                        active_state=True) as found:
            return int(found.value)

    def write_pin(self, pin: int, value: int) -> None:
        _check_pin(pin)
        if pin not in self._outputs:
            self._outputs[pin] = self._make("OutputDevice", pin,
                                            initial_value=None)
        self._outputs[pin].value = value

    def list_capabilities(self) -> dict[str, Any]:
        return {"gpio": list(PINS)}

    def _make(self, kind: str, pin: int, **options: Any) -> Any:
        try:
            return getattr(self._gpiozero, kind)(pin, **options)
        except self._gpiozero.GPIOZeroError as error:
            raise UnavailableError(f"pin {pin}: {error}") from error


def _check_pin(pin: int) -> None:
    if pin not in PINS:
        raise UsageError(f"there is no pin {pin}; there are "
                         f"{PINS[0]} to {PINS[-1]} (BCM)")
