"""The text of a document: PDF, Word, Excel, PowerPoint, OpenDocument, EPUB.

Documents come from others, so a process that is confined reads them
(`child`): what they do to the reader ends there.
"""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import claw
from claw.core.errors import (
    DeniedError,
    MissingPartError,
    StorageError,
    UsageError,
)
from claw.core.installed import install_command
from claw.core.value import Value

TIMEOUT_S = 60.0
# How a reader ends to whom no more memory is given.
_OUT_OF_MEMORY = tuple(-number for number in (
    signal.SIGABRT, signal.SIGTRAP, signal.SIGILL))
# Read no further than the output of `child` may be long.
_OUTPUT_BYTES = 1 << 28
_BOOT = ("import sys; sys.path.append({!r}); "
         "from claw.text.documents.child import main; main()")


class DocumentText(Value):
    """What a document says. `parts` are its pages, sheets, slides or
    chapters, else one. `empty` is how many pages of a PDF hold no text.
    `count` is how many there are in all, 0 where that is not known. `cut`:
    there is more than was asked for."""

    kind: str
    parts: Sequence[str]
    count: int = 0
    cut: bool = False

    @property
    def text(self) -> str:
        return "\n\n".join(part for part in self.parts if part)

    @property
    def empty(self) -> int:
        return sum(not part for part in self.parts)


def read_document(name: str, data: bytes, *, max_chars: int, first: int = 1,
                  last: int | None = None, timeout_s: float = TIMEOUT_S,
                  required: bool = False) -> DocumentText | None:
    """The text of a document, `max_chars` of it at most; of a PDF the pages
    from `first` to `last`. None for a ZIP file that is no document.
    `required`: nothing is read where a layer of the sandbox is missing.

    Raises UsageError for what is locked, damaged, without text or more than
    can be read, MissingPartError where a PDF needs what is not installed,
    DeniedError for want of a sandbox that is required.
    """
    is_pdf = data.startswith(b"%PDF-")
    found = _ask_child([str(max_chars), str(first), str(last or 0),
                        *(["pdf"] if is_pdf else []),
                        *(["required"] if required else [])],
                       data, timeout_s)
    _check(name, "PDF" if is_pdf else "document", found)
    if found.get("error") == "unknown":
        return None
    document = DocumentText(found.get("kind", ""), found["parts"],
                            found.get("count", 0), found.get("cut", False))
    if not document.text:
        raise UsageError(f"{name} holds no text" + (
            ": its pages are pictures" if is_pdf and document.parts else ""),
            hint="make text of them: ocrmypdf IN.pdf OUT.pdf; or show the "
                 "model a page: pdftoppm -png -r 100 IN.pdf page"
            if is_pdf else "open it in the program that made it")
    return document


def _check(name: str, kind: str, found: dict[str, Any]) -> None:
    match found.get("error"):
        case "locked":
            raise UsageError(
                f"{name} is locked with a password",
                hint="save it without one: qpdf --decrypt --password=... "
                     "IN.pdf OUT.pdf" if kind == "PDF"
                else "save it without one")
        case "damaged":
            raise UsageError(
                f"{name} can't be read as a {kind}: it is damaged or not "
                "whole", hint="fetch it again, or save it anew with the "
                              "program that made it")
        case "large" | "slow":
            what = "memory" if found["error"] == "large" else "time"
            raise UsageError(
                f"{name} takes more {what} to read than a document may",
                hint="give a part of it: pdftotext -f 1 -l 50 IN.pdf -"
                if kind == "PDF" else "save a part of it as text")
        case "unconfined":
            raise DeniedError(
                f"{name} is not read: the sandbox is required and not "
                f"complete here: {found.get('detail', '')}",
                hint='security.sandbox.mode = "auto" uses what there is')
        case "missing":
            raise MissingPartError(
                f"{name} is a PDF document, and pypdfium2, which reads them, "
                "is not installed",
                hint=f"{install_command('documents')}; or turn it into "
                     "text: pdftotext IN.pdf -")


def _ask_child(arguments: list[str], data: bytes, timeout_s: float
               ) -> dict[str, Any]:
    """What the child says. Files in place of pipes: nobody waits for the
    other, and the child's own limit holds for what it writes."""
    root = str(Path(claw.__file__).parents[1])
    try:
        with tempfile.TemporaryFile() as given, \
                tempfile.TemporaryFile() as said:
            given.write(data)
            given.seek(0)
            code = _run([sys.executable, "-I", "-c", _BOOT.format(root),
                         *arguments], given, said, timeout_s)
            said.seek(0)
            output = said.read(_OUTPUT_BYTES)
    except OSError as error:
        raise StorageError(f"the document can't be read: {error}",
                           hint="is there room in the temporary folder, and "
                                "may another process be started?") from error
    if code == 0:
        try:
            found = json.loads(output)
            return found if isinstance(found, dict) else {"error": "damaged"}
        except ValueError:
            return {"error": "damaged"}
    if code is None or code in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"error": "slow"}
    return {"error": "large" if code in _OUT_OF_MEMORY else "damaged"}


def _run(command: list[str], given: Any, said: Any, timeout_s: float
         ) -> int | None:
    """The exit code; None where the time was over."""
    process = subprocess.Popen(
        command, stdin=given, stdout=said, stderr=subprocess.DEVNULL,
        env={}, cwd="/", start_new_session=True)
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        process.kill()
        process.wait()
