"""The tools for boards with pins keep the contract."""

from contextlib import contextmanager
from unittest import mock

import pytest

from claw.testing.contracts.tool import ToolContract
from claw.testing.fake_board import FakeBoard
from claw.tools import REGISTRY
from claw.tools.hardware import boards, settings
from claw.tools.hardware.settings import BoardSettings, PeripheralsSettings


class OverBoards(ToolContract):
    @contextmanager
    def running(self, deps):
        pytest.importorskip("serial")
        held = {}
        with FakeBoard() as board, mock.patch.object(
                settings, "PREFIXES", ("/dev/pts/",)), mock.patch.object(
                boards, "_held", held):
            yield REGISTRY.build(self.name, deps, boards.Boards(
                PeripheralsSettings(enabled=True, boards=(
                    BoardSettings(board="nucleo", path=board.path),))))
            for held_board, _ in held.values():
                held_board.disconnect()


class TestGpioRead(OverBoards):
    name = "gpio_read"
    arguments = {"pin": 3, "board": "nucleo"}


class TestGpioWrite(OverBoards):
    name = "gpio_write"
    arguments = {"pin": 3, "value": 1}


class TestHardwareBoardInfo(OverBoards):
    name = "hardware_board_info"


class TestHardwareCapabilities(OverBoards):
    name = "hardware_capabilities"
