"""Doctor: the log of questions and turns."""

import shlex
from collections.abc import Iterator

from claw.config.places import Places
from claw.core.errors import ClawError, NotFoundError
from claw.storage.log.reader import open_reader
from claw.text.plural import plural
from claw.wiring.checks.check import Check
from claw.wiring.checks.places import DISK
from claw.wiring.place_names import log_path


@DISK.check
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
        yield Check("disk.log", "warn", error.message, error.hint
                    or f"mv {shlex.quote(str(path))} "
                    f"{shlex.quote(str(path) + '.damaged')}")
