"""The cells of Excel workbooks, sheet by sheet, a row a line, a tab
between cells. Numbers that are shown as dates become dates.
Source: ECMA-376 part 1, section 18 (SpreadsheetML), read 2026-11.
"""

import re
from datetime import datetime, timedelta

from claw.text.documents.package import Package, XmlReader
from claw.text.documents.sink import Sink

_REFERENCE = re.compile(r"([A-Z]{1,3})[0-9]+$")
_BUILT_IN_DATES = frozenset((*range(14, 23), *range(27, 37), 45, 46, 47,
                             *range(50, 59)))
# Of a number format without what is quoted, escaped or a colour.
_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_DATE = re.compile(r"[ymdhs]", re.IGNORECASE)
_MOST_COLUMNS = 16_384
# Excel holds 1900 for a leap year, so its day 0 lies a day early.
_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)


def read_workbook(package: Package, sink: Sink) -> None:
    """Each sheet under its name; empty rows are left out."""
    main = next((name for name in package.find_targets(
        "", "officeDocument").values()), "xl/workbook.xml")
    book, strings, styles = _Book(), _Strings(), _Styles()
    package.walk(main, book)
    for kind, reader in (("sharedStrings", strings), ("styles", styles)):
        for name in package.find_targets(main, kind).values():
            package.walk(name, reader)
    targets = package.find_targets(main, "worksheet")
    for title, key in book.sheets:
        if key in targets:
            sink.add(f"## {title}\n")
            package.walk(targets[key], _Sheet(sink, strings.found,
                                              styles.dates, book.epoch))
            sink.end_part()


class _Book(XmlReader):
    def __init__(self) -> None:
        super().__init__()
        self.sheets: list[tuple[str, str]] = []
        self.epoch = _EPOCH

    def begin_sheet(self, attributes: dict[str, str]) -> None:
        self.sheets.append((attributes.get("name", ""),
                            attributes.get("id", "")))

    def begin_workbookPr(self, attributes: dict[str, str]) -> None:
        if attributes.get("date1904") in ("1", "true"):
            self.epoch = _EPOCH_1904


class _Strings(XmlReader):
    SKIP = frozenset(("rPh",))  # how Japanese is read aloud

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._in_text = False

    def begin_si(self, _: dict[str, str]) -> None:
        self.found.append("")

    def begin_t(self, _: dict[str, str]) -> None:
        self._in_text = True

    def end_t(self) -> None:
        self._in_text = False

    def text(self, data: str) -> None:
        if self._in_text and self.found:
            self.found[-1] += data


class _Styles(XmlReader):
    """Which styles of cells show dates."""

    def __init__(self) -> None:
        super().__init__()
        self.dates: list[bool] = []
        self._own: dict[str, bool] = {}
        self._in_cells = False

    def begin_numFmt(self, attributes: dict[str, str]) -> None:
        code = _LITERAL.sub("", attributes.get("formatCode", ""))
        self._own[attributes.get("numFmtId", "")] = \
            _DATE.search(code) is not None

    def begin_cellXfs(self, _: dict[str, str]) -> None:
        self._in_cells = True

    def end_cellXfs(self) -> None:
        self._in_cells = False

    def begin_xf(self, attributes: dict[str, str]) -> None:
        if self._in_cells:
            key = attributes.get("numFmtId", "")
            self.dates.append(self._own.get(key, key.isdecimal() and int(
                key) in _BUILT_IN_DATES))


class _Sheet(XmlReader):
    def __init__(self, sink: Sink, strings: list[str], dates: list[bool],
                 epoch: datetime) -> None:
        super().__init__()
        self._sink = sink
        self._strings, self._dates, self._epoch = strings, dates, epoch
        self._row: list[str] = []
        self._cell: dict[str, str] = {}
        self._value = self._formula = ""
        self._into = ""

    def begin_row(self, _: dict[str, str]) -> None:
        self._row.clear()

    def begin_c(self, attributes: dict[str, str]) -> None:
        self._cell, self._value, self._formula = attributes, "", ""

    def begin_v(self, _: dict[str, str]) -> None:
        self._into = "value"

    begin_t = begin_v

    def begin_f(self, _: dict[str, str]) -> None:
        self._into = "formula"

    def end_v(self) -> None:
        self._into = ""

    end_t = end_f = end_v

    def text(self, data: str) -> None:
        if self._into == "value":
            self._value += data
        elif self._into:
            self._formula += data

    def end_c(self) -> None:
        found = _REFERENCE.match(self._cell.get("r", ""))
        column = _read_column(found[1]) if found else len(self._row)
        self._row += [""] * (min(column, _MOST_COLUMNS) - len(self._row))
        self._row.append(" ".join(self._show().split()))

    def end_row(self) -> None:
        while self._row and not self._row[-1]:
            self._row.pop()
        if self._row:
            self._sink.add("\t".join(self._row))

    def _show(self) -> str:
        value, kind = self._value, self._cell.get("t", "n")
        if not value:
            return f"={self._formula}" if self._formula else ""
        if kind == "s" and value.isdecimal() \
                and int(value) < len(self._strings):
            return self._strings[int(value)]
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        style = self._cell.get("s", "")
        if kind == "n" and style.isdecimal() \
                and int(style) < len(self._dates) and self._dates[int(style)]:
            return _show_date(value, self._epoch)
        return value


def _read_column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _show_date(value: str, epoch: datetime) -> str:
    """A day, a time of day, or both; what is no date stays a number."""
    try:
        days = float(value)
        moment = epoch + timedelta(seconds=round(days * 86_400))
    except (ValueError, OverflowError):
        return value
    if 0 <= days < 1:
        return moment.strftime("%H:%M:%S")
    return moment.isoformat(" ") if days % 1 else moment.date().isoformat()
