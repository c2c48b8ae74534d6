"""Conversations, as sessions named AGENT:NAME.

They keep to that name: claw's own conversations of channels are made anew
from its queue, and nothing of another agent's is mixed into them. Each
message says that its text is from elsewhere.
"""

import shlex
from collections.abc import Iterable
from typing import Any

from claw.agent.history import add_labels, encode
from claw.config.tree import Tree
from claw.core.errors import ClawError, NotFoundError
from claw.core.labels import UNKNOWN
from claw.core.provider import Chat, ChatMessage
from claw.core.value import Value, replace
from claw.security.redact.redactor import Redactor
from claw.storage.sessions import SessionStore
from claw.text.plural import plural
from claw.wiring.setup.migrate import HeldSession, Item, Part
from claw.wiring.setup.migrate.reading.transcripts import Line, read_transcript
from claw.wiring.workspace.secrets import collect_secrets
from claw.wiring.workspace.sessions import open_sessions

_LONGEST_NAME = 200


class _Decided(Value):
    item: Item
    records: tuple[dict[str, Any], ...] = ()


def look(agent: str, held: Iterable[HeldSession], tree: Tree,
         notes: list[str]) -> Part:
    """What would become of each conversation."""
    keeper = _Keeper(agent, tree, notes)
    return Part("sessions", tuple(_shorten(keeper.decide(each).item
                                           for each in held)))


def carry(agent: str, held: Iterable[HeldSession], tree: Tree,
          notes: list[str]) -> Part:
    """Write those that are new, each whole; where one can't be written
    those before it are taken away again."""
    keeper = _Keeper(agent, tree, notes)
    items: list[Item] = []
    put: list[str] = []
    for each in held:
        decided = keeper.decide(each)
        if decided.item.fate == "new":
            try:
                keeper.store.replace(decided.item.name, decided.records)
            except ClawError:
                for name in put:
                    keeper.store.clear(name)
                raise
            if not decided.item.why:
                put.append(decided.item.name)
        items.append(decided.item)
    return Part("sessions", tuple(_shorten(items)),
                undo="claw session clear " + shlex.join(put) if put else "")


def _shorten(items: Iterable[Item]) -> list[Item]:
    """Without those in which nothing was said."""
    return [item for item in items if item.shown]


class _Keeper:
    def __init__(self, agent: str, tree: Tree, notes: list[str]) -> None:
        self._agent = agent
        self._notes = notes
        self._redactor = Redactor(lambda: collect_secrets(tree))
        self.store: SessionStore = open_sessions(tree.places)

    def decide(self, held: HeldSession) -> _Decided:
        name = " ".join(f"{self._agent}:{held.name}".split())[:_LONGEST_NAME]
        lines = read_transcript(held, self._notes)
        where = str(held.root / held.path)
        if not lines:
            return _Decided(Item(name, "left", where))
        records = [self._redactor.record(_encode(line)) for line in lines]
        item = Item(name, "new", where, plural(len(lines), "message"))
        try:
            own = self.store.read(name).records
        except NotFoundError:
            return _Decided(item, tuple(records))
        if not own:  # a kill left its empty file
            return _Decided(item, tuple(records))
        mine = [(r.get("type"), r.get("data")) for r in own]
        theirs = [(r.get("type"), r.get("data")) for r in records]
        if mine == theirs:
            return _Decided(replace(item, fate="same"))
        if mine == theirs[:len(mine)]:
            return _Decided(replace(item, why="it has become longer"),
                            tuple(records))
        return _Decided(replace(item, fate="left",
                                why="it went on in claw, and stays as it is"))


def _encode(line: Line) -> dict[str, Any]:
    record = encode(add_labels(Chat(ChatMessage(
        "user" if line.role == "user" else "assistant", line.text)),
        (UNKNOWN,)))
    return {**({"at": line.at} if line.at else {}), **record}
