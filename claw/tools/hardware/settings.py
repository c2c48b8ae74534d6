"""Settings of boards with pins: [peripherals]."""

import re
from typing import Annotated, Literal

import msgspec

# Lines that microcontrollers and their adapters come as; no disk, no
# console, no memory.
PREFIXES = ("/dev/ttyACM", "/dev/ttyUSB", "/dev/tty.usbmodem",
            "/dev/cu.usbmodem", "/dev/tty.usbserial", "/dev/cu.usbserial",
            "COM")
_REST = re.compile(r"[A-Za-z0-9._-]+")


class BoardSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[[peripherals.boards]]

    board: its name, such as nucleo-f401re or rpi-gpio
    transport: serial (a line of JSON each way) or native (the pins of this
        machine)
    path: the device of a serial board
    baud: its speed
    """

    board: str
    transport: Literal["serial", "native"] = "serial"
    path: str | None = None
    baud: Annotated[int, msgspec.Meta(ge=300, le=4_000_000)] = 115_200

    def __post_init__(self) -> None:
        if not self.board.strip():
            raise ValueError("board needs a name")
        if self.transport == "serial" and not is_serial_path(self.path or ""):
            raise ValueError("path must begin with one of: "
                             + ", ".join(PREFIXES))


def is_serial_path(path: str) -> bool:
    """Whether this names a serial line, and nothing beside it."""
    return any(path.startswith(prefix)
               and _REST.fullmatch(path[len(prefix):])
               for prefix in PREFIXES)


class PeripheralsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[peripherals]

    enabled: let the agent use the boards
    boards: board, transport, path and baud of each
    datasheet_dir: not read
    """

    enabled: bool = False
    boards: tuple[BoardSettings, ...] = ()
    datasheet_dir: str | None = None


INERT = ("peripherals.datasheet_dir",)
