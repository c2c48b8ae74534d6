"""What a disk holds when the power goes. Pure.

A write is in the file at once, and on the disk when the file was synced; a
name is in its folder at once, and on the disk when the folder was synced.
Until then each write, and each sector of one, is there or not, in whatever
order the disk liked.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

SECTOR_BYTES = 512

# Of what was not synced: nothing, everything, all but half of the last
# write, or any part of it.
Loss = Literal["all", "none", "torn", "some"]
LOSSES: tuple[Loss, ...] = ("all", "none", "torn", "some")


class Step(NamedTuple):
    """One change of a folder's files. `name` is "" for a sync of the
    folder itself."""

    kind: Literal["write", "cut", "remove", "sync"]
    name: str
    at: int = 0  # an offset, or the new size
    data: bytes = b""


@dataclass(slots=True)
class _File:
    """`kept` is what the disk holds for certain, `loose` the changes since
    then."""

    now: bytearray = field(default_factory=bytearray)
    kept: bytes = b""
    loose: list[Step] = field(default_factory=list)


class Disk:
    """One folder; `files` are on the disk already."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._now = {name: _File(bytearray(data), data)
                     for name, data in files.items()}
        self._kept = dict(self._now)

    def take(self, step: Step) -> None:
        if step.kind == "remove":
            self._now.pop(step.name, None)
        elif step.kind != "sync":
            file = self._now.setdefault(step.name, _File())
            _change(file.now, step)
            file.loose.append(step)
        elif step.name:
            file = self._now.setdefault(step.name, _File())
            file.kept, file.loose = bytes(file.now), []
        else:
            self._kept = dict(self._now)

    def files(self) -> dict[str, bytes]:
        """What a process sees."""
        return {name: bytes(file.now) for name, file in self._now.items()}

    def lose_power(self, loss: Loss, rng: random.Random
                   ) -> dict[str, bytes]:
        """What is found afterwards."""
        found = {}
        for name in {**self._kept, **self._now}:
            before, after = self._kept.get(name), self._now.get(name)
            file = before if loss == "all" or (
                loss == "some" and rng.random() < 0.5) else after
            if file is not None:
                found[name] = _left(file, loss, rng)
        return found


def _left(file: _File, loss: Loss, rng: random.Random) -> bytes:
    if loss == "none":
        return bytes(file.now)
    data = bytearray(file.kept)
    steps = [] if loss == "all" else file.loose
    for number, step in enumerate(steps, 1):
        if loss == "some":
            _write_sectors(data, step, rng)
        elif number < len(steps):
            _change(data, step)
        elif step.kind == "write":
            _change(data, step._replace(data=step.data[
                :len(step.data) // 2]))
    return bytes(data)


def _write_sectors(data: bytearray, step: Step, rng: random.Random) -> None:
    """Some sectors of a write; another change whole or not at all."""
    if rng.random() < 0.4:
        return
    if step.kind == "cut" or rng.random() < 0.5:
        _change(data, step)
        return
    for start in range(0, len(step.data), SECTOR_BYTES):
        if rng.random() < 0.5:
            _change(data, Step("write", step.name, step.at + start,
                               step.data[start:start + SECTOR_BYTES]))


def _change(data: bytearray, step: Step) -> None:
    end = step.at + len(step.data)
    if len(data) < end:
        data.extend(bytes(end - len(data)))
    if step.kind == "cut":
        del data[step.at:]
    else:
        data[step.at:end] = step.data
