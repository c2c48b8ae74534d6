"""The text of OpenDocument files (LibreOffice): texts, sheets, slides.
Source: OpenDocument 1.3 part 3, read 2026-11.
"""

from claw.text.documents.package import LockedError, Package, XmlReader
from claw.text.documents.paragraphs import format_row
from claw.text.documents.sink import Sink

_MANIFEST = "META-INF/manifest.xml"
_MOST_REPEATED = 1_000


def read_opendocument(package: Package, sink: Sink) -> None:
    """A part for each sheet or slide, one for a text. Raises LockedError
    for one with a password."""
    if _MANIFEST in package.names \
            and b"encryption-data" in package.read(_MANIFEST):
        raise LockedError
    package.walk("content.xml", _Content(sink))
    sink.finish()


class _Content(XmlReader):
    SKIP = frozenset(("tracked_changes", "annotation", "forms"))

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self._sink = sink
        self._lines: list[list[str]] = []  # paragraphs that are open
        self._cells: list[list[str]] = []  # rows that are open
        self._repeats: list[int] = []
        self._lists = self._pages = 0
        self._level = ""
        self._in_sheets = False

    def begin_spreadsheet(self, _: dict[str, str]) -> None:
        self._in_sheets = True

    def begin_page(self, attributes: dict[str, str]) -> None:
        self._pages += 1
        self._sink.add(f"## Slide {self._pages}\n")

    def end_page(self) -> None:
        self._sink.end_part()

    def begin_notes(self, _: dict[str, str]) -> None:
        self._sink.add("\nNotes:")

    def begin_table(self, attributes: dict[str, str]) -> None:
        if self._in_sheets:
            self._sink.add(f"## {attributes.get('name', '')}\n")

    def end_table(self) -> None:
        if self._in_sheets:
            self._sink.end_part()

    def begin_list(self, _: dict[str, str]) -> None:
        self._lists += 1

    def end_list(self) -> None:
        self._lists -= 1

    def begin_p(self, _: dict[str, str]) -> None:
        self._lines.append([])

    def begin_h(self, attributes: dict[str, str]) -> None:
        level = attributes.get("outline_level", "1")
        self._level = "#" * min(int(level) if level.isdecimal() else 1, 6)
        self._lines.append([])

    def text(self, data: str) -> None:
        if self._lines:
            self._lines[-1].append(data)

    def begin_tab(self, _: dict[str, str]) -> None:
        self.text("\t")

    def begin_line_break(self, _: dict[str, str]) -> None:
        self.text("\n")

    def begin_s(self, attributes: dict[str, str]) -> None:
        self.text(" " * _count(attributes.get("c", "1")))

    def end_p(self) -> None:
        line = "".join(self._lines.pop())
        if self._lines:  # a note, within the paragraph that it stands at
            self._lines[-1].append(f" [{line.strip()}] ")
        elif self._cells and self._cells[-1]:
            self._cells[-1][-1] += f" {line}"
        elif line.strip():
            mark = f"\n{self._level} " if self._level else \
                "  " * min(self._lists - 1, 8) + "- " if self._lists else "\n"
            self._sink.add(mark + line)

    def end_h(self) -> None:
        self.end_p()
        self._level = ""

    def begin_table_row(self, _: dict[str, str]) -> None:
        self._cells.append([])
        self._repeats.append(1)

    def begin_table_cell(self, attributes: dict[str, str]) -> None:
        if self._cells:
            self._cells[-1].append("")
            self._repeats[-1] = _count(
                attributes.get("number_columns_repeated", "1"))

    begin_covered_table_cell = begin_table_cell

    def end_table_cell(self) -> None:
        if self._cells and self._cells[-1]:
            self._cells[-1] += [self._cells[-1][-1]] \
                * (self._repeats[-1] - 1)

    end_covered_table_cell = end_table_cell

    def end_table_row(self) -> None:
        if not self._cells:
            return
        cells = [" ".join(cell.split()) for cell in self._cells.pop()]
        self._repeats.pop()
        while cells and not cells[-1]:
            cells.pop()
        row = "\t".join(cells) if self._in_sheets else format_row(cells)
        if self._cells and self._cells[-1]:
            self._cells[-1][-1] += f" {row}"
        elif row:
            self._sink.add(row)


def _count(text: str) -> int:
    """How often something stands there; a number of absurd size is that
    of the empty cells to the right."""
    return min(int(text), _MOST_REPEATED) if text.isdecimal() \
        and len(text) < 9 else 1
