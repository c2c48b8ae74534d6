"""The boards of [peripherals], each connected when it is first asked.

One that can't be connected is left out with a warning, and tried again with
the next call. A process holds one connection to a board, whatever agents it
builds: a serial line has one reader, and a pin keeps its value only while it
is held.
"""

import threading
from collections.abc import Callable
from typing import Any, Protocol

from claw.core.errors import ClawError, UnavailableError, UsageError
from claw.tools.hardware.settings import BoardSettings, PeripheralsSettings


class Board(Protocol):
    """One board; its methods wait, on a thread. Raises UnavailableError,
    UsageError for a pin that it has not, MissingPartError."""

    def connect(self) -> None:
        """Nothing where it is connected."""

    def disconnect(self) -> None: ...

    def health_check(self) -> None:
        """Raises where it does not answer."""

    def read_pin(self, pin: int) -> int:
        """0 or 1."""

    def write_pin(self, pin: int, value: int) -> None: ...

    def list_capabilities(self) -> dict[str, Any]: ...


_held: dict[BoardSettings, tuple[Board, threading.Lock]] = {}


def hold_board(settings: BoardSettings) -> tuple[Board, threading.Lock]:
    """The board of this process, and the lock that each call takes."""
    if settings not in _held:
        board: Board
        if settings.transport == "native":
            from claw.tools.hardware.native import NativeBoard
            board = NativeBoard()
        else:
            from claw.tools.hardware.serial_line import SerialBoard
            board = SerialBoard(settings)
        # in one step: other threads may be here
        _held.setdefault(settings, (board, threading.Lock()))
    return _held[settings]


class Boards:
    """The boards by name. `notify` hears of one that is left out."""

    def __init__(self, settings: PeripheralsSettings,
                 notify: Callable[[str], None] = lambda _: None) -> None:
        self.enabled = settings.enabled and bool(settings.boards)
        self._boards = {one.board: one for one in settings.boards}
        self._notify = notify
        self._told: set[str] = set()

    @property
    def names(self) -> list[str]:
        return list(self._boards)

    def describe(self) -> list[dict[str, Any]]:
        """What each is, and whether it answers."""
        rows = []
        for name, one in self._boards.items():
            row: dict[str, Any] = {
                "board": name, "transport": one.transport, "path": one.path}
            try:
                self.ask(name, lambda board: board.health_check())
                row["connected"] = True
            except ClawError as error:
                row |= {"connected": False, "error": error.message}
            rows.append({k: v for k, v in row.items() if v is not None})
        return rows

    def ask(self, name: str | None, verb: Callable[[Board], Any]) -> Any:
        """What this board says, or the first that is connected where none
        is named. Raises UsageError for an unknown one, UnavailableError."""
        if name is not None and name not in self._boards:
            raise UsageError(f"no board is called {name[:80]!r}; there are: "
                             + (", ".join(self._boards) or "none"))
        why = "no board is set up ([[peripherals.boards]])"
        for each in self.names if name is None else [name]:
            board, lock = hold_board(self._boards[each])
            with lock:
                try:
                    board.connect()
                except ClawError as error:
                    why = self._leave_out(each, error)
                    continue
                return verb(board)
        raise UnavailableError(why)

    def _leave_out(self, name: str, error: ClawError) -> str:
        why = f"the board {name} is not connected: {error.message}"
        text = f"{why} ({error.hint})" if error.hint else why
        if text not in self._told:
            self._told.add(text)
            self._notify(text)
        return text
