"""A microcontroller on a serial line: a line of JSON each way.

    {"id": "7", "cmd": "gpio_write", "args": {"pin": 13, "value": 1}}
    {"id": "7", "ok": true, "result": "done"}

What comes in between (a boot message, noise, the late answer to a call that
was given up) is passed over. A board that fails is connected anew with the
next call.
"""

import itertools
import json
import time
from typing import Any

from claw.core.errors import MissingPartError, UnavailableError, UsageError
from claw.core.installed import install_command
from claw.tools.hardware.settings import BoardSettings
from claw.tools.web.foreign import to_line

ANSWER_S = 5.0
_STEP_S = 0.1
_LINE_BYTES = 64 * 1024
_SAID_CHARS = 200


class SerialBoard:
    """One line. See boards.Board."""

    def __init__(self, settings: BoardSettings) -> None:
        self._settings = settings
        self._port: Any = None
        self._ids = itertools.count(1)

    def connect(self) -> None:
        if self._port is not None:
            return
        try:
            import serial
        except ModuleNotFoundError as error:
            raise MissingPartError(
                "a serial line needs pyserial, which is not installed; the "
                f"owner installs it with: {install_command('hardware')}"
            ) from error
        path = self._settings.path
        try:
            self._port = serial.Serial(
                path, self._settings.baud, timeout=_STEP_S,
                write_timeout=ANSWER_S, exclusive=True)
        except (OSError, ValueError) as error:
            raise UnavailableError(
                f"{path} can't be opened: {error}",
                hint="is it plugged in, may you use it (group dialout), and "
                     "does no other program hold it?") from error

    def disconnect(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            port.close()

    def health_check(self) -> None:
        self._request("ping")

    def read_pin(self, pin: int) -> int:
        found = self._request("gpio_read", pin=pin)
        value = found.get("value") if isinstance(found, dict) else found
        if str(value) not in ("0", "1"):
            raise UnavailableError("it answers that the pin is "
                                   + repr(to_line(str(value), _SAID_CHARS)))
        return int(str(value))

    def write_pin(self, pin: int, value: int) -> None:
        self._request("gpio_write", pin=pin, value=value)

    def list_capabilities(self) -> dict[str, Any]:
        found = self._request("capabilities")
        if isinstance(found, str):  # some firmware nests it as text
            try:
                found = json.loads(found)
            except (ValueError, RecursionError):
                pass
        return found if isinstance(found, dict) else {"said": found}

    def _request(self, command: str, **args: int) -> Any:
        """The result. Raises UnavailableError, UsageError where the board
        says no."""
        name = str(next(self._ids))
        line = json.dumps({"id": name, "cmd": command, "args": args})
        try:
            self._port.reset_input_buffer()
            self._port.write(line.encode() + b"\n")
            answer = self._read_answer(name)
        except (OSError, TypeError) as error:  # TypeError: closed meanwhile
            self.disconnect()
            raise UnavailableError(
                f"{self._settings.path} was lost: {error}",
                hint="is it still plugged in?") from error
        except UnavailableError:
            self.disconnect()
            raise
        if answer.get("ok") is not True:
            why = to_line(answer.get("error"), _SAID_CHARS)
            raise UsageError(f"the board refused {command}"
                             + (f": {why}" if why else ""))
        return answer.get("result")

    def _read_answer(self, name: str) -> dict[str, Any]:
        """The answer of this id; other lines are passed over."""
        end, waiting, others = time.monotonic() + ANSWER_S, b"", 0
        while time.monotonic() < end:
            waiting += self._port.read(max(1, self._port.in_waiting))
            *lines, waiting = waiting.split(b"\n")
            waiting = waiting[-_LINE_BYTES:]
            for line in lines:
                found = _read_object(line)
                if found is not None and found.get("id") == name:
                    return found
                others += 1
        raise UnavailableError(
            f"the board did not answer within {ANSWER_S:g} s"
            + (f"; {others} lines came that are no answer to it"
               if others else ""))


def _read_object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
