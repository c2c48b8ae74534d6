"""The text of a PDF or an office document that goes with a question."""

from claw.cli.attachments.read import Limits, Say
from claw.core.errors import UsageError
from claw.text.documents.read import read_document


def read_whole(name: str, data: bytes, limits: Limits, say: Say
               ) -> str | None:
    """All of its text; None for a ZIP file with something else in it.
    Raises UsageError where that is more than may be sent, and what
    `read_document` raises."""
    document = read_document(name, data, max_chars=limits.text,
                             required=limits.needs_sandbox)
    if document is None:
        return None
    if document.cut or len(document.text.encode()) > limits.text:
        raise UsageError(
            f"the text of {name} is longer than {limits.text:,} bytes",
            hint=limits.way_out)
    if document.count and document.empty:
        say(f"{name}: {document.empty} of {document.count} pages hold no "
            "text (pictures?)")
    return document.text
