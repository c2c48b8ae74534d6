"""Boards with pins: real bytes on a line, gpiozero's mock pins."""

import asyncio
import sys
import time

import pytest

from claw.core.errors import UnavailableError
from claw.core.turn import TurnContext
from claw.security.approval import ApprovalManager, NoApprover
from claw.testing.fake_board import FakeBoard
from claw.tools.hardware import boards as module
from claw.tools.hardware import serial_line, settings
from claw.tools.hardware.boards import Boards
from claw.tools.hardware.settings import (
    BoardSettings,
    PeripheralsSettings,
    is_serial_path,
)
from claw.tools.hardware.tools import (
    GpioRead,
    GpioWrite,
    HardwareBoardInfo,
    HardwareCapabilities,
)


@pytest.fixture(autouse=True)
def _lines(monkeypatch):
    """Pseudo terminals count as lines; no board is held from before."""
    monkeypatch.setattr(settings, "PREFIXES",
                        (*settings.PREFIXES, "/dev/pts/"))
    monkeypatch.setattr(serial_line, "ANSWER_S", 0.4)
    held = {}
    monkeypatch.setattr(module, "_held", held)
    yield
    for board, _ in held.values():
        board.disconnect()


class Line:
    """The tools over one board on a line."""

    def __init__(self, room, board, *more):
        pytest.importorskip("serial")
        self.room, self.told = room, []
        self.boards = Boards(PeripheralsSettings(enabled=True, boards=(
            *more, BoardSettings(board="nucleo", path=board.path))),
            self.told.append)

    def call(self, tool, **args):
        return self.room.call(tool(self.room.deps(sandbox=False),
                                   self.boards), **args)


def test_a_pin_is_set_and_read(room):
    with FakeBoard() as board:
        line = Line(room, board)
        written = line.call(GpioWrite, pin=13, value=1)
        read = line.call(GpioRead, pin=13)
        can = line.call(HardwareCapabilities)

    assert written.output == "Pin 13 is 1"
    assert read.output == "1"
    assert '"led_pin": 13' in can.output
    assert board.asked == [
        {"id": "1", "cmd": "gpio_write", "args": {"pin": 13, "value": 1}},
        {"id": "2", "cmd": "gpio_read", "args": {"pin": 13}},
        {"id": "3", "cmd": "capabilities", "args": {}}]


def test_what_a_board_refuses_is_said(room):
    with FakeBoard() as board:
        result = Line(room, board).call(GpioRead, pin=99)

    assert result.error == "the board refused gpio_read: no pin 99"


@pytest.mark.parametrize("before", [
    b"booting...\r\n", b"\xff\xfe\x00\n", b"[1, 2]\n{}\n",
    b'{"id": "0", "ok": true, "result": 0}\n', b"x" * 2_000 + b"\n",
    b"[" * 3_000 + b"\n"])
def test_noise_and_late_answers_are_passed_over(room, before):
    with FakeBoard(before=before) as board:
        board.pins[2] = 1
        assert Line(room, board).call(GpioRead, pin=2).output == "1"


@pytest.mark.parametrize(("answer", "said"), [
    (lambda request: None, "did not answer within 0.4 s"),
    (lambda request: b'{"id": "77", "ok": true, "result": 1}\n',
     "1 lines came that are no answer to it"),
    (lambda request: b"no JSON\n" * 3, "3 lines came"),
    (lambda request: b'{"id": "1", "ok": true, "result": "a\\u001b[2J"}\n',
     "it answers that the pin is 'a[2J'"),
    (lambda request: b'{"id": "1", "ok": false, "error": {"a": 1}}\n',
     "the board refused gpio_read"),
    (lambda request: b'{"id": "1"}\n', "the board refused gpio_read"),
])
def test_a_board_that_says_something_else_fails_the_call(room, answer, said):
    with FakeBoard(answer) as board:
        assert said in Line(room, board).call(GpioRead, pin=1).error


def test_a_board_that_never_stops_talking_ends_with_its_time(room):
    def talk(request):
        end = time.monotonic() + 1
        while time.monotonic() < end:
            board.write(b"blah\n" * 100)
    with FakeBoard(talk) as board:
        start = time.monotonic()
        result = Line(room, board).call(GpioRead, pin=1)

        assert "did not answer" in result.error
        assert time.monotonic() - start < 3


def test_a_board_that_is_unplugged_in_the_middle_fails_and_is_found_again(
        room):
    def half(request):
        board.write(b'{"id": "1", "ok"')
        board.unplug()
    with FakeBoard(half) as board:
        line = Line(room, board)
        start = time.monotonic()
        result = line.call(GpioRead, pin=1)
        again = line.call(GpioRead, pin=1)

    assert result.error
    assert time.monotonic() - start < 3
    assert "is not connected" in again.error
    assert len(line.told) == 1


def test_a_board_that_can_not_be_connected_is_left_out_with_a_warning(room):
    missing = BoardSettings(board="gone", path="/dev/ttyACM99")
    with FakeBoard() as board:
        line = Line(room, board, missing)
        first = line.call(GpioRead, pin=1)
        line.call(GpioRead, pin=1)
        listed = line.call(HardwareBoardInfo)
        named = line.call(GpioRead, pin=1, board="gone")

    assert first.output == "0"
    assert len(line.told) == 1
    assert line.told[0].startswith("the board gone is not connected: "
                                   "/dev/ttyACM99 can't be opened")
    assert '"connected": false' in listed.output
    assert '"connected": true' in listed.output
    assert "the board gone is not connected" in named.error


def test_an_unknown_board_is_named_with_those_there_are(room):
    with FakeBoard() as board:
        error = Line(room, board).call(GpioRead, pin=1, board="x").error

    assert error == "no board is called 'x'; there are: nucleo"


def test_a_line_has_one_reader(room):
    serial = pytest.importorskip("serial")
    with FakeBoard() as board, serial.Serial(board.path, exclusive=True):
        result = Line(room, board).call(GpioRead, pin=1)

    assert "does no other program hold it?" in result.error


def test_a_missing_library_gives_the_command_that_installs_it(
        room, monkeypatch):
    with FakeBoard() as board:
        line = Line(room, board)
        monkeypatch.setitem(sys.modules, "serial", None)
        result = line.call(GpioRead, pin=1)

    assert "needs pyserial, which is not installed" in result.error
    assert "install" in result.error
    assert "hardware" in result.error


@pytest.mark.parametrize(("path", "fits"), [
    ("/dev/ttyACM0", True), ("/dev/ttyUSB1", True), ("COM3", True),
    ("/dev/cu.usbmodem-1401", True), ("/dev/sda", False), ("", False),
    ("/dev/ttyACM0/../sda", False), ("/dev/ttyACM", False),
    ("/dev/tty1", False), ("/dev/mem", False), ("ttyACM0", False),
    ("/dev/ttyACM0\n", False)])
def test_only_lines_of_boards_may_be_opened(path, fits):
    assert is_serial_path(path) is fits
    if not fits:
        with pytest.raises(ValueError, match="path must begin"):
            BoardSettings(board="x", path=path)


def test_setting_a_pin_needs_a_yes_and_reading_one_does_not(room):
    deps = room.deps(sandbox=False)
    manager = ApprovalManager(deps.policy, NoApprover(), interactive=False)

    async def ask(tool, **args):
        return await manager.gate(tool(deps), args, TurnContext("ask"))

    assert "needs approval" in asyncio.run(ask(GpioWrite, pin=1, value=1))
    assert asyncio.run(ask(GpioRead, pin=1)) is None


def test_what_is_switched_off_refuses_also_where_it_is_named(room):
    result = room.call(GpioWrite(room.deps(sandbox=False)), pin=1, value=1)

    assert "peripherals.enabled" in result.error


# -- the pins of this machine

@pytest.fixture
def pins():
    gpiozero = pytest.importorskip("gpiozero")
    from gpiozero.pins.mock import MockFactory
    before, gpiozero.Device.pin_factory = \
        gpiozero.Device.pin_factory, MockFactory()
    yield gpiozero.Device.pin_factory
    gpiozero.Device.pin_factory.reset()
    gpiozero.Device.pin_factory = before


NATIVE = BoardSettings(board="rpi-gpio", transport="native")


def call_native(room, tool, **args):
    boards = Boards(PeripheralsSettings(enabled=True, boards=(NATIVE,)))
    return room.call(tool(room.deps(sandbox=False), boards), **args)


def test_a_pin_of_this_machine_is_set_read_and_keeps_its_value(room, pins):
    assert call_native(room, GpioWrite, pin=17, value=1).success
    assert pins.pin(17).state == 1
    assert call_native(room, GpioRead, pin=17).output == "1"
    assert call_native(room, GpioWrite, pin=17, value=0).success
    assert pins.pin(17).state == 0
    pins.pin(4).drive_high()
    assert call_native(room, GpioRead, pin=4).output == "1"


def test_a_pin_that_there_is_not_is_refused(room, pins):
    assert call_native(room, GpioRead, pin=28).error \
        == "there is no pin 28; there are 0 to 27 (BCM)"
    assert '"gpio": [0, 1' in call_native(room, HardwareCapabilities).output


def test_a_machine_without_pins_is_left_out(room, monkeypatch):
    gpiozero = pytest.importorskip("gpiozero")
    monkeypatch.setattr(gpiozero.Device, "pin_factory", None)
    monkeypatch.setattr(gpiozero.Device, "_default_pin_factory",
                        staticmethod(_raise))

    assert "this machine shows no pins" in call_native(
        room, GpioRead, pin=1).error


def _raise():
    raise UnavailableError("no library finds any")
