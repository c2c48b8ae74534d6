"""The process that reads one document, and can do nothing else.

The document comes on standard input; what was found goes to standard output
as one JSON object: `kind`, `parts`, `count`, `cut`; or `error`, `detail`.
Before the first byte is read the process gives away what it does not need:
files, the network, programs, memory and time without end. A layer that this
machine does not have is left out, or the document is where all are required;
the limits hold everywhere.
"""

import json
import os
import re
import resource
import sys
from collections.abc import Callable
from typing import Any

from claw.security.confine import kernel, landlock, seccomp
from claw.text.documents.book import read_book
from claw.text.documents.opendocument import read_opendocument
from claw.text.documents.package import (
    DamagedError,
    LockedError,
    Package,
    TooLargeError,
)
from claw.text.documents.paragraphs import read_slides, read_word
from claw.text.documents.sink import FullError, Sink
from claw.text.documents.spreadsheet import read_workbook

CPU_S = 30
# Addresses, beside so many times the document itself. A book of 5,000 pages
# takes a sixth of it.
MEMORY_BYTES = 320 << 20
_TIMES = 3
OUTPUT_BYTES = 1 << 28
# What a package has inside -> what it is, and who reads it.
_PACKAGES: tuple[tuple[str, str, Callable[[Package, Sink], None]], ...] = (
    ("word/", "Word document", read_word),
    ("xl/", "Excel workbook", read_workbook),
    ("ppt/", "PowerPoint presentation", read_slides),
    ("META-INF/container.xml", "EPUB book", read_book),
    ("content.xml", "OpenDocument file", read_opendocument),
)


def main() -> None:
    """argv: most characters, first page, last page (0: to the end), then
    "pdf" for one, and "required" where no layer may be missing."""
    limit, first, last = map(int, sys.argv[1:4])
    is_pdf = "pdf" in sys.argv[4:]
    if is_pdf:
        try:  # before the files are out of reach
            from claw.text.documents.pdf import read_pdf
        except ImportError as error:
            _say(error="missing", detail=str(error))
            return
    status = _open_status()  # likewise
    missing = _confine()
    if missing and "required" in sys.argv[4:]:
        _say(error="unconfined", detail="; ".join(missing))
        return
    sink, found = Sink(limit), dict[str, Any]()
    try:
        if is_pdf:
            found = {"kind": "PDF document", "count": read_pdf(
                sys.stdin.buffer.read(), first, last or None, sink)}
        else:
            found = {"kind": _read_package(sink)}
    except FullError:
        found = {"cut": True}
    except LockedError:
        found = {"error": "locked"}
    except DamagedError as error:
        found = {"error": "large" if _was_full(status) else "damaged",
                 "detail": str(error)}
    except (MemoryError, TooLargeError, RecursionError):
        found = {"error": "large"}
    except NotADocumentError:
        found = {"error": "unknown"}
    sink.finish()
    _say(**found, parts=[] if "error" in found else sink.parts)


class NotADocumentError(Exception):
    """A ZIP file with something else in it."""


def _read_package(sink: Sink) -> str:
    package = Package(sys.stdin.buffer)
    for sign, kind, read in _PACKAGES:
        if any(name.startswith(sign) for name in package.names):
            read(package, sink)
            return kind
    raise NotADocumentError


def _open_status() -> int | None:
    """What Linux tells of this process. getrusage would do, but for the
    memory of whoever started it, which counts there too."""
    try:
        return os.open("/proc/self/status", os.O_RDONLY)
    except OSError:
        return None


def _was_full(status: int | None) -> bool:
    """Whether half of the memory was used: a reader that gets no more says
    that a document is damaged."""
    if status is None:
        return False
    found = re.search(rb"VmHWM:\s*(\d+) kB", os.read(status, 1 << 16))
    return found is not None and int(found[1]) * 1024 > MEMORY_BYTES // 2


def _confine() -> list[str]:
    """Hold this process to reading what it has; what this machine does not
    have for that. Only the standard library can still be read: parts of it
    load when they are needed."""
    memory = MEMORY_BYTES + _TIMES * os.fstat(0).st_size
    for kind, value in (("CPU", CPU_S), ("AS", memory), ("CORE", 0),
                        ("FSIZE", OUTPUT_BYTES)):
        _limit(getattr(resource, f"RLIMIT_{kind}"), value)
    if sys.platform != "linux":
        return ["Linux"]
    missing: list[str] = []
    for step in (lambda: kernel.prctl(kernel.PR_SET_PDEATHSIG, 9),
                 lambda: kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1),
                 lambda: landlock.restrict([os.path.dirname(os.__file__)],
                                           [], network=False),
                 lambda: seccomp.restrict(())):
        try:
            step()
        except OSError as error:
            missing.append(str(error))
    return missing


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(kind, (value, value))
    except (OSError, ValueError):  # macOS has no limit on memory
        return


def _say(**found: Any) -> None:
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
