"""The blocks of a prompt -> one message.

Text stays text. An image becomes a marker with a data: URL. What else is
attached (a resource that the editor sends, a file that a link names) is
mentioned where it stood, and its text goes under the message. A file is
read only where policy lets the agent read it; another one is told of.
"""

import base64
import re
from collections.abc import Callable, Iterable
from urllib.parse import unquote, urlsplit

from claw.core.errors import ClawError, UsageError
from claw.core.images import MARK, image_type
from claw.core.provider import Passage
from claw.core.value import Value
from claw.gateway.acp.wire import (
    Block,
    ImageBlock,
    LinkBlock,
    Resource,
    ResourceBlock,
    TextBlock,
)
from claw.text.documents.kind import is_document
from claw.text.documents.read import read_document
from claw.text.encoding import decode_text, find_binary

# Of all the text together, as of what is piped to a command.
MAX_BYTES = 1 << 20
MAX_FILE_BYTES = 25 << 20  # a document is larger than its text
_BASE64 = re.compile(r"[\w+/-]*={0,2}", re.ASCII)
_NAME_CHARS = 200

ReadFile = Callable[[str, int], bytes]


class Message(Value):
    """`question` is what the person wrote, `passages` what goes under it;
    `remarks` tell what does not."""

    question: str
    passages: tuple[Passage, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it, for a model."""
        return "\n\n".join([self.question, *(
            f"{one.source.removeprefix('file:')}:\n{one.text}"
            for one in self.passages)])


def build_message(blocks: Iterable[Block], read_file: ReadFile, *,
                  needs_sandbox: bool = False) -> Message:
    """The message of a prompt. `read_file` takes a path and the most bytes;
    it raises what SecurityPolicy.read_beneath does. `needs_sandbox`: a
    document is read in a whole sandbox or not at all. Blocks.

    Raises UsageError for a prompt that says nothing, an image that is none,
    and more than 1 MiB of text, links left aside.
    """
    reader = _Reader(read_file, needs_sandbox=needs_sandbox)
    question = _join([reader.take(block) for block in blocks]).strip()
    if not question:
        raise UsageError("the prompt is empty", hint="write a message")
    return Message(question, tuple(reader.passages), tuple(reader.remarks))


def _join(pieces: list[tuple[str, bool]]) -> str:
    """The pieces of a message. A mention stands within its sentence, two
    texts (`is_text`) are two paragraphs, unless a blank parts them."""
    found, after_text = "", False
    for text, is_text in pieces:
        if found and text and not (found[-1].isspace() or text[0].isspace()):
            found += "\n\n" if is_text and after_text else " "
        found += text
        after_text = is_text
    return found


class _Reader:
    """Reads blocks one after the other, as long as there is room."""

    def __init__(self, read_file: ReadFile, *, needs_sandbox: bool) -> None:
        self._read_file = read_file
        self._needs_sandbox = needs_sandbox
        self._room = MAX_BYTES
        self.passages: list[Passage] = []
        self.remarks: list[str] = []

    def take(self, block: Block) -> tuple[str, bool]:
        """What stands in the message for a block, and whether it is the
        person's own text."""
        match block:
            case TextBlock(text):
                self._charge(text)
                return text, True
            case ImageBlock(data):
                return _write_image(data), False
            case ResourceBlock(resource):
                return self._take_resource(resource), False
            case LinkBlock(uri, name):
                return self._take_link(uri, name), False

    def _take_resource(self, resource: Resource) -> str:
        name = _clean(resource.uri)
        if resource.text is not None:
            self._add(name, resource.text)
        elif resource.blob is not None:
            data = _decode(resource.blob, name)
            if image_type(data) is not None:
                return _write_image(resource.blob)
            self._add_data(name, data)
        return f"[{name}]"

    def _take_link(self, uri: str, name: str) -> str:
        """Only files are opened; the agent has tools for addresses."""
        mention = f"[{_clean(name)}]({_clean(uri)})"
        path = find_path(uri)
        if path is None:
            return mention
        try:
            data = self._read_file(path, MAX_FILE_BYTES)
        except ClawError as error:
            self.remarks.append(f"{_clean(path)} was not read: "
                                f"{error.message}")
            return mention
        if image_type(data) is not None:
            return f"{mention} " + _write_image(
                base64.b64encode(data).decode())
        try:
            self._add_data(_clean(path), data)
        except UsageError as error:  # the agent may read it in parts
            self.remarks.append(f"{_clean(path)} was left out: "
                                f"{error.message}")
        return mention

    def _add_data(self, name: str, data: bytes) -> None:
        """The text of a file, if it holds any."""
        try:
            document = read_document(
                name, data, max_chars=self._room + 1,
                required=self._needs_sandbox) if is_document(data) else None
        except ClawError as error:
            self.remarks.append(error.message)
            return
        if document is not None:
            self._add(name, document.text)
        elif find_binary(data) is None:
            self._add(name, decode_text(data))
        else:
            self.remarks.append(f"{name} holds no text and was left out")

    def _charge(self, text: str) -> None:
        size = len(text.encode("utf-8", "replace"))
        if size > self._room:
            raise UsageError(
                f"the message and what is attached are longer than "
                f"{MAX_BYTES:,} bytes",
                hint="attach less; the agent reads files by itself")
        self._room -= size

    def _add(self, name: str, text: str) -> None:
        self._charge(text)
        self.passages.append(Passage(f"file:{name}", text))


def find_path(uri: str) -> str | None:
    """The path of a file: URL, or of a bare absolute one; None for another
    address."""
    if uri.startswith("/"):
        return uri
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return unquote(parts.path)


def _write_image(data: str) -> str:
    """The marker of an image; its first bytes decide about its type, when
    it is shown. Raises UsageError for what is no base64."""
    if not data or not _BASE64.fullmatch(data):
        raise UsageError("an image of the prompt is no base64")
    return f"{MARK}data:image/png;base64,{data}]"


def _decode(data: str, name: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        raise UsageError(f"{name} is no base64") from error


def _clean(text: str) -> str:
    """A name on one line, without brackets that would end a mention."""
    line = "".join(c if c.isprintable() else "?" for c in text)
    return line[:_NAME_CHARS].translate(str.maketrans("[]", "()"))
