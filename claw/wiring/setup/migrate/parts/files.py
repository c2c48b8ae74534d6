"""The files of the prompt: AGENTS.md, SOUL.md and their like.

One that claw has with another text stays; the other's is put beside it as
NAME.from-AGENT.md, where no prompt reads it. One that is new lies there and
waits, as what a command changes does: it counts after the owner's yes (claw
security review).
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from claw.config.places import Places
from claw.core.errors import StorageError
from claw.core.folders import make_private
from claw.security.files import nofollow
from claw.security.files.paths import WATCHED_FILES
from claw.security.watched.record import write_held
from claw.text.plural import plural
from claw.wiring.setup.migrate import Fate, HeldFile, Item, Part

_MOST = 16 << 20
_SHOWN, _LONGEST = 12, 160  # lines of a text, and letters of a line
_WAITS = "it counts after your yes: claw security review"


def look(agent: str, held: Iterable[HeldFile], places: Places) -> Part:
    """What would become of each file."""
    return Part("files", tuple(_decide(agent, each, places)[0]
                               for each in held))


def carry(agent: str, held: Iterable[HeldFile], places: Places) -> Part:
    """Put them in the workspace; all that were put are taken away again
    where one can't be. Raises StorageError."""
    items: list[Item] = []
    put: list[str] = []
    try:
        for each in held:
            item, name = _decide(agent, each, places)
            if name is not None:
                put.append(name)
                if name in WATCHED_FILES:
                    make_private(places.workspace)
                    write_held(places.workspace, name, each.data)
                else:
                    nofollow.write(places.workspace, name, (each.data,))
            items.append(item)
    except (OSError, StorageError) as error:
        for name in put:
            with suppress(OSError, StorageError):
                nofollow.remove(places.workspace, name)
        if isinstance(error, StorageError):
            raise
        raise StorageError(
            f"{places.workspace}: {error.strerror}; no file was brought",
            hint="check the folder and the free space") from error
    return Part("files", tuple(items), undo="remove them: " + ", ".join(
        str(places.workspace / name) for name in put) if put else "")


def _decide(agent: str, each: HeldFile, places: Places
            ) -> tuple[Item, str | None]:
    """(what a person sees, the name that it gets; None: none)."""
    size = plural(len(each.data), "byte")
    own = _read(places, each.name)
    if own == each.data:
        return Item(each.name, "same", shown=size), None
    if own is None or not own.strip():
        return Item(each.name, "new", shown=size, why=_WAITS,
                    lines=_show(each.data)), each.name
    path = Path(each.name)
    beside = f"{path.stem}.from-{agent}{path.suffix}"
    held = _read(places, beside)
    if held == each.data:
        return Item(each.name, "same", shown=size,
                    why=f"it is there as {beside}"), None
    number = 2
    while held is not None:
        beside = f"{path.stem}.from-{agent}-{number}{path.suffix}"
        held = _read(places, beside)
        if held == each.data:
            return Item(each.name, "same", shown=size,
                        why=f"it is there as {beside}"), None
        number += 1
    fate: Fate = "aside"
    return Item(each.name, fate, shown=size,
                why=f"claw has another: it comes as {beside}"), beside


def _show(data: bytes) -> tuple[str, ...]:
    """The beginning of a text, each line cut."""
    lines = data.decode("utf-8", "replace").split("\n")
    shown = [line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
             for line in lines[:_SHOWN]]
    more = len(lines) - len(shown)
    return (*shown, *([f"… {more:,} more lines"] if more > 1 else ()))


def _read(places: Places, name: str) -> bytes | None:
    try:
        return nofollow.read(places.workspace, name, _MOST)
    except (FileNotFoundError, NotADirectoryError):
        return None
