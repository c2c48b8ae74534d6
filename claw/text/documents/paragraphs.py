"""The text of Word documents and PowerPoint slides (OOXML).

Headings, lists and table rows are marked as in Markdown; what was deleted,
moved away or is hidden is left out. Source: ECMA-376 part 1, sections 17
(WordprocessingML) and 19 to 21 (PresentationML, DrawingML), read 2026-11.
"""

import re

from claw.text.documents.package import Package, XmlReader
from claw.text.documents.sink import Sink

_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)
_OFF = ("0", "false", "off")


def read_word(package: Package, sink: Sink) -> None:
    """The headers, the body with its notes, and the footers."""
    main = next((name for name in package.find_targets(
        "", "officeDocument").values()), "word/document.xml")
    styles = _Styles()
    for name in package.find_targets(main, "styles").values():
        package.walk(name, styles)
    seen: set[str] = set()
    for kind in ("header", "", "footnotes", "endnotes", "footer"):
        names = package.find_targets(main, kind).values() if kind else [main]
        for name in sorted(names):
            _read_once(package, name, styles, sink, seen)
    sink.finish()


def _read_once(package: Package, name: str, styles: "_Styles", sink: Sink,
               seen: set[str]) -> None:
    """A part; headers and footers are often there three times."""
    found = Sink(1 << 20) if "header" in name or "footer" in name else sink
    package.walk(name, Paragraphs(found, styles.marks))
    if found is not sink:
        found.finish()
        text = "\n".join(found.parts)
        if text and text not in seen:
            seen.add(text)
            sink.add(text)


def read_slides(package: Package, sink: Sink) -> None:
    """Slide by slide in their order, each with its notes."""
    main = next((name for name in package.find_targets(
        "", "officeDocument").values()), "ppt/presentation.xml")
    order = _SlideOrder()
    package.walk(main, order)
    targets = package.find_targets(main, "slide")
    for number, key in enumerate(order.keys, 1):
        if key not in targets:
            continue
        sink.add(f"## Slide {number}\n")
        package.walk(targets[key], Paragraphs(sink))
        for name in package.find_targets(targets[key],
                                         "notesSlide").values():
            sink.add("\nNotes:")
            package.walk(name, Paragraphs(sink))
        sink.end_part()


class Paragraphs(XmlReader):
    """Paragraphs, lists and tables of both formats, whose names are
    alike. `marks` is what stands before a paragraph of a style."""

    SKIP = frozenset(("del", "moveFrom", "Fallback", "fld", "pPrChange",
                      "rPrChange"))

    def __init__(self, sink: Sink, marks: dict[str, str] | None = None
                 ) -> None:
        super().__init__()
        self._sink = sink
        self._marks = marks or {}
        self._line: list[str] = []
        self._cells: list[list[str]] = []  # of the rows that are open
        self._mark = ""
        self._in_run = self._in_text = self._hidden = False

    def begin_p(self, _: dict[str, str]) -> None:
        self._mark = ""
        self._line.clear()

    def begin_pStyle(self, attributes: dict[str, str]) -> None:
        self._mark = self._marks.get(attributes.get("val", ""), self._mark)

    def begin_ilvl(self, attributes: dict[str, str]) -> None:
        depth = attributes.get("val", "0")
        if not self._mark.startswith("#"):
            self._mark = "  " * min(int(depth) if depth.isdecimal() else 0,
                                    8) + "- "

    def begin_r(self, _: dict[str, str]) -> None:
        self._in_run, self._hidden = True, False

    def end_r(self) -> None:
        self._in_run = self._hidden = False

    def begin_vanish(self, attributes: dict[str, str]) -> None:
        self._hidden = self._in_run and attributes.get("val") not in _OFF

    def begin_t(self, _: dict[str, str]) -> None:
        self._in_text = not self._hidden

    def end_t(self) -> None:
        self._in_text = False

    def text(self, data: str) -> None:
        if self._in_text:
            self._line.append(data)

    def begin_tab(self, _: dict[str, str]) -> None:
        if self._in_run:
            self._line.append("\t")

    def begin_br(self, _: dict[str, str]) -> None:
        self._line.append("\n")

    begin_cr = begin_br

    def begin_noBreakHyphen(self, _: dict[str, str]) -> None:
        self._line.append("-")

    def begin_footnoteReference(self, attributes: dict[str, str]) -> None:
        self._line.append(f"[^{attributes.get('id', '')}]")

    begin_endnoteReference = begin_footnoteReference

    def begin_footnote(self, attributes: dict[str, str]) -> None:
        if attributes.get("type") is None:
            self._sink.add(f"\n[^{attributes.get('id', '')}]:")

    begin_endnote = begin_footnote

    def end_p(self) -> None:
        line = "".join(self._line)
        self._line.clear()
        if self._cells and self._cells[-1]:
            self._cells[-1][-1] += f" {line}"
        elif line.strip():
            gap = "" if self._mark.lstrip().startswith("-") else "\n"
            self._sink.add(f"{gap}{self._mark}{line}")

    def begin_tr(self, _: dict[str, str]) -> None:
        self._cells.append([])

    def begin_tc(self, _: dict[str, str]) -> None:
        if self._cells:
            self._cells[-1].append("")

    def end_tr(self) -> None:
        row = format_row(self._cells.pop()) if self._cells else ""
        if self._cells and self._cells[-1]:  # a table in a cell
            self._cells[-1][-1] += f" {row}"
        elif row:
            self._sink.add(row)


def format_row(cells: list[str]) -> str:
    """A row as Markdown has it; "" where all of it is empty."""
    texts = [" ".join(cell.split()).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(texts)} |" if any(texts) else ""


class _Styles(XmlReader):
    """What stands before a paragraph, by the id of its style. The names
    of built-in styles are English in every language."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: dict[str, str] = {}
        self._id = ""

    def begin_style(self, attributes: dict[str, str]) -> None:
        self._id = attributes.get("styleId", "")

    def begin_name(self, attributes: dict[str, str]) -> None:
        name = attributes.get("val", "")
        if found := _HEADING.match(name):
            self.marks[self._id] = "#" * min(int(found[1]), 6) + " "
        elif name.lower() == "title":
            self.marks[self._id] = "# "
        elif name.lower().startswith("list"):
            self.marks[self._id] = "- "


class _SlideOrder(XmlReader):
    def __init__(self) -> None:
        super().__init__()
        self.keys: list[str] = []

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name.endswith("}sldId"):  # "id" is there twice
            self.keys += [value for key, value in attributes.items()
                          if key.endswith("relationships}id")]
