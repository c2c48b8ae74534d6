"""Doctor: the log of questions and turns, the answers of claw map."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from claw.config.places import Places
from claw.core.errors import ClawError, NotFoundError
from claw.storage.log.reader import open_reader
from claw.storage.map_answers import check_answers
from claw.text.plural import plural
from claw.wiring.checks.check import Check
from claw.wiring.workspace.place_names import log_path, map_path


def check_log(places: Places) -> Iterator[Check]:
    """Whether the log can be read, and how large it is."""
    path = log_path(places)
    try:
        with open_reader(path) as reader:
            reader.check()
            text = plural(reader.count(), "entry", "entries")
            size = path.stat().st_size / (1 << 20)
            yield Check("disk.log", "ok", f"log: {text}, {size:,.1f} MiB")
    except NotFoundError:
        return
    except ClawError as error:
        yield _warn("disk.log", error, path)


def check_map(places: Places) -> Iterator[Check]:
    """Whether the kept answers can be read."""
    path = map_path(places)
    if not path.exists():
        return
    try:
        yield Check("disk.map", "ok", "claw map keeps "
                    + plural(check_answers(path), "answer"))
    except ClawError as error:
        yield _warn("disk.map", error, path)


def _warn(name: str, error: ClawError, path: Path) -> Check:
    return Check(name, "warn", error.message, error.hint
                 or f"mv {shlex.quote(str(path))} "
                 f"{shlex.quote(str(path) + '.damaged')}")
