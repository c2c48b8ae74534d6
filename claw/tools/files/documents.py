"""pdf_read: the text of a document, by the reader of `claw ask -f`."""

import asyncio

from claw.core.errors import UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolResult,
    closed_object,
    integer,
    optional,
)
from claw.text.documents.kind import is_document
from claw.text.documents.read import read_document
from claw.tools.files.files import FileTool

_MAX_BYTES = 50 * 1024 * 1024


class PdfRead(FileTool):
    """A process that is confined reads it (text/documents)."""

    name = "pdf_read"
    reads = True
    repeatable = True
    description = ("Read the text of a PDF, Word, Excel, PowerPoint, "
                   "OpenDocument or EPUB file.")

    def parameters_schema(self) -> Schema:
        return closed_object(
            path=self.path(),
            max_chars=integer("Most characters", default=50_000, minimum=1,
                              maximum=200_000),
            first_page=integer("First page of a PDF", default=1, minimum=1,
                               maximum=1_000_000),
            last_page=optional(integer("Last page of a PDF", minimum=1,
                                       maximum=1_000_000)))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        return await asyncio.to_thread(self._read, args)

    def _read(self, args: Arguments) -> ToolResult:
        path = args["path"]
        data = self.read(path, _MAX_BYTES)
        found = None
        if is_document(data):
            found = read_document(
                path, data, max_chars=args["max_chars"],
                first=args["first_page"], last=args.get("last_page"))
        if found is None:
            raise UsageError(f"{path} is no document; file_read reads text")
        notes = []
        if found.empty:
            notes.append(f"{found.empty} of the pages read hold no text")
        if found.cut:
            notes.append("cut here; there is more")
        return ToolResult(output=found.text + "".join(
            f"\n[{note}]" for note in notes))
