"""The files of the prompt: AGENTS.md, SOUL.md and their like.

One that claw has with another text stays; the other's is put beside it as
NAME.from-AGENT.md, where no prompt reads it.
"""

from collections.abc import Iterable
from pathlib import Path

from claw.config.places import Places
from claw.core.errors import StorageError
from claw.security.files import nofollow
from claw.text.plural import plural
from claw.wiring.migrate import Fate, HeldFile, Item, Part

_MOST = 16 << 20


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
                nofollow.write(places.workspace, name, (each.data,))
                put.append(name)
            items.append(item)
    except OSError as error:
        for name in put:
            nofollow.remove(places.workspace, name)
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
        return Item(each.name, "new", shown=size), each.name
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


def _read(places: Places, name: str) -> bytes | None:
    try:
        return nofollow.read(places.workspace, name, _MOST)
    except (FileNotFoundError, NotADirectoryError):
        return None
