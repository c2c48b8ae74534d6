"""gpio_read, gpio_write, hardware_board_info, hardware_capabilities.

What a board says is text from outside, and so every call's result is.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from claw.core.errors import DeniedError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    integer,
    optional,
    string,
)
from claw.tools.hardware.boards import Board, Boards
from claw.tools.hardware.settings import PeripheralsSettings
from claw.tools.offer.checked import CheckedTool

_CHARS = 4_000


class HardwareTool(CheckedTool):
    """A tool over the boards."""

    def __init__(self, deps: ToolDeps, boards: Boards | None = None) -> None:
        self._policy = deps.policy
        self._boards = boards or Boards(PeripheralsSettings())

    def _board(self) -> Schema:
        return optional(string(
            "Which board; default: the first that is connected. There are: "
            + (", ".join(self._boards.names) or "none")))

    async def _ask(self, args: Arguments, verb: Callable[[Board], Any]
                   ) -> Any:
        self._check()
        return await asyncio.to_thread(self._boards.ask, args.get("board"),
                                       verb)

    def _check(self) -> None:
        """Also where somebody names a tool that is switched off."""
        if not self._boards.enabled:
            raise DeniedError(
                "no board may be used; the owner sets them up with "
                "peripherals.enabled and [[peripherals.boards]]")


class GpioRead(HardwareTool):
    """Reads a pin."""

    name = "gpio_read"
    reads = repeatable = True
    description = "Read a pin of a board: 0 or 1."

    def parameters_schema(self) -> Schema:
        return closed_object(
            pin=integer("Its number (BCM on a Raspberry Pi)", minimum=0,
                        maximum=999),
            board=self._board())

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        return ToolResult(str(await self._ask(
            args, lambda board: board.read_pin(args["pin"]))))


class GpioWrite(HardwareTool):
    """Sets a pin: something in the room moves."""

    name = "gpio_write"
    description = "Set a pin of a board to 0 or 1."

    def parameters_schema(self) -> Schema:
        return closed_object(
            pin=integer("Its number (BCM on a Raspberry Pi)", minimum=0,
                        maximum=999),
            value=integer("0 or 1", minimum=0, maximum=1),
            board=self._board())

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        await self._ask(args, lambda board: board.write_pin(
            args["pin"], args["value"]))
        return ToolResult(f"Pin {args['pin']} is {args['value']}")


class HardwareBoardInfo(HardwareTool):
    """Lists the boards."""

    name = "hardware_board_info"
    reads = repeatable = True
    description = "List the boards with pins, and whether they answer."

    def parameters_schema(self) -> Schema:
        return closed_object()

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        self._check()
        return ToolResult(json.dumps(
            {"boards": await asyncio.to_thread(self._boards.describe)}))


class HardwareCapabilities(HardwareTool):
    """Tells what a board can do."""

    name = "hardware_capabilities"
    reads = repeatable = True
    description = "Ask a board which pins it has and what else it can do."

    def parameters_schema(self) -> Schema:
        return closed_object(board=self._board())

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        found = await self._ask(
            args, lambda board: board.list_capabilities())
        return ToolResult(json.dumps(found)[:_CHARS])
