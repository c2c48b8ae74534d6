"""The part of the screen that still changes: the rows above the cursor.

Only rows that differ are written again, all at once, so that nothing
flickers; what has scrolled away is never touched. Where the terminal was
made narrower meanwhile it has broken the rows that no longer fit: those are
counted as it shows them now.
"""

from typing import TextIO

from claw.cli.show.bars import count_cells

# Terminals that know it show all between at once, others ignore it.
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
# A terminal that draws a row wider than we count it (skin tones, flags) cuts
# it and does not break it: a row that grew in two would stay behind.
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"
# Row by row: tmux keeps a screen that is cleared at once as scrolled away.
_CLEAR_ROW, _UP = "\r\x1b[K", "\x1b[A"


class LiveRows:
    """Rows that are drawn over and over, the cursor behind the last."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rows: list[str] = []
        self._cells: list[int] = []
        self._columns = 0

    def draw(self, rows: list[str], plain: list[str], columns: int) -> None:
        """Show these rows in place of those before. `plain` are the same
        without escapes; none is wider than the terminal."""
        same = 0
        if columns == self._columns:
            while same < min(len(rows), len(self._rows)) - 1 \
                    and rows[same] == self._rows[same]:
                same += 1
        if columns == self._columns and rows == self._rows:
            return
        self._write(self._rewind(same, columns) + _NO_WRAP
                    + "\n".join(rows[same:]) + _WRAP)
        self._rows, self._columns = rows, columns
        self._cells = [count_cells(text) for text in plain]

    def erase(self, columns: int) -> None:
        """Take the rows away; the cursor stands where they began."""
        if self._rows:
            self._write(self._rewind(0, columns))
            self._rows = []

    def _rewind(self, same: int, columns: int) -> str:
        """To the beginning of this row, and nothing from there on."""
        if not self._rows:
            return ""
        high = sum(max(1, -(-cells // columns))
                   for cells in self._cells[same:]) - 1
        return _CLEAR_ROW + (_UP + _CLEAR_ROW) * high

    def _write(self, text: str) -> None:
        self._stream.write(_BEGIN + text + _END)
        self._stream.flush()
