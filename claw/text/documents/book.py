"""The chapters of an EPUB book, in the order that they are read in.
Source: EPUB 3.3, sections 4 and 5, read 2026-11.
"""

from claw.text.documents.package import (
    DamagedError,
    Package,
    XmlReader,
    resolve,
)
from claw.text.documents.sink import Sink
from claw.text.encoding import decode_text
from claw.text.html import tidy, title_and_text

_ENOUGH = 1 << 24


def read_book(package: Package, sink: Sink) -> None:
    """A part for each chapter. Raises DamagedError where it names none."""
    container = _Container()
    package.walk("META-INF/container.xml", container)
    contents = _Contents()
    package.walk(container.path, contents)
    for key in contents.spine:
        name = resolve(container.path, contents.members.get(key, ""))
        if name not in package.names:
            continue
        _, text = title_and_text(decode_text(package.read(name)), _ENOUGH)
        sink.add(tidy(text))
        sink.end_part()
    if not sink.parts:
        raise DamagedError("it names no chapters")


class _Container(XmlReader):
    def __init__(self) -> None:
        super().__init__()
        self.path = ""

    def begin_rootfile(self, attributes: dict[str, str]) -> None:
        self.path = self.path or attributes.get("full_path", "")


class _Contents(XmlReader):
    def __init__(self) -> None:
        super().__init__()
        self.members: dict[str, str] = {}
        self.spine: list[str] = []

    def begin_item(self, attributes: dict[str, str]) -> None:
        self.members[attributes.get("id", "")] = attributes.get("href", "")

    def begin_itemref(self, attributes: dict[str, str]) -> None:
        self.spine.append(attributes.get("idref", ""))
