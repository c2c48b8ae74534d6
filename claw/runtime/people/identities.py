"""Who is who on all channels, and what of it a turn may see.

A person is called by the name of [people.NAME], or "CHANNEL:ID" where no
table names him. Nothing is kept under that name: a memory stays in the
conversation that it comes from, and which conversations are a person's is
looked up when he writes. So a table that is made finds what was there
before it, and one that is taken away loses nothing.

In a private chat a turn sees what its person said in his other private
chats. In a group it sees what he said there, and what the owner noted of
him.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from claw.channels import REGISTRY
from claw.core.channel import (
    STRANGER,
    ChannelMessage,
    KeepsMarks,
    Marks,
)
from claw.runtime.message.keys import history_key, registered_name

# people -> channel -> entries as an allow-list holds them
Tables = Mapping[str, Mapping[str, Sequence[str]]]


def find_nobody(channel: str, entry: str) -> str | None:
    """No name in an allow-list belongs to anybody yet."""
    return None


class People:
    """`listed` are the entries of each channel's allow-list, those of the
    tables among them. `find_holder` says whose an entry is that is a name,
    or an id that became another one. `chats` keeps whose the private
    conversations are."""

    def __init__(self, tables: Tables | None = None,
                 listed: Mapping[str, Iterable[str]] | None = None, *,
                 find_holder: Callable[[str, str], str | None] = find_nobody,
                 chats: KeepsMarks | None = None) -> None:
        self._tables = tables or {}
        self._listed = {channel: tuple(entries) for channel, entries
                        in (listed or {}).items()}
        self._find_holder = find_holder
        self._chats = Marks() if chats is None else chats

    def find(self, channel: str, sender: str) -> str:
        """Who this is."""
        channel = registered_name(channel)
        return next((name for name in self._tables if _bare(sender)
                     in self._read(channel, self._tables[name])),
                    f"{channel}:{sender}")

    def is_same(self, channel: str, sender: str, other: str,
                other_sender: str) -> bool:
        """Whether two senders are one person."""
        return self.find(channel, sender) == self.find(other, other_sender)

    def is_one(self) -> bool:
        """Whether nobody but one person may write, on all channels. One
        without an allow-list may hear many."""
        return all(entries and "*" not in entries
                   for entries in self._listed.values()) and len({
                       self.find(channel, entry)
                       for channel, entries in self._listed.items()
                       for entry in entries}) <= 1

    def find_by_name(self, name: str) -> str | None:
        """Whom the owner calls so: by the name of a table, or by an id that
        one person alone has."""
        if name in self._tables:
            return name
        known = self.find_bearers(name)
        return known.pop() if len(known) == 1 else None

    def list_scopes(self, message: ChannelMessage) -> list[str]:
        """The memory sessions that a turn of this message may see, its own
        conversation's first."""
        person = self.find(message.channel, message.sender)
        return list(dict.fromkeys([history_key(message), *(
            self.list_private(person) if is_private(message) else
            self._list_notes(person, message.sender))]))

    def list_private(self, person: str) -> list[str]:
        """The memory sessions of what a person said in private, and of
        what was noted of him."""
        ids = list(self.list_ids(person))
        whose = {f"{channel}:{_bare(sender)}" for channel, sender in ids}
        kept = self._chats.keys()
        known = [key for key in kept if
                 _bare_whose(self._chats.get(key)) in whose]
        return [*known,
                *(history_key(ChannelMessage("", sender, sender, "", channel,
                                             0)) for channel, sender in ids),
                *([person] if person in self._tables else ()),
                *(scope for _, sender in ids
                  for one in (_bare(sender), f"@{_bare(sender)}")
                  for scope in self._list_notes(person, one))]

    def note(self, message: ChannelMessage) -> None:
        """Remember whose private conversation this is."""
        if is_private(message) and STRANGER not in message.labels:
            self._chats.set(
                history_key(message),
                f"{registered_name(message.channel)}:{message.sender}")

    def _read(self, channel: str, table: Mapping[str, Sequence[str]]
              ) -> list[str]:
        """The ids of a table's entries on a channel."""
        return [_bare(self._find_holder(channel, entry) or entry)
                for entry in table.get(channel, ())]

    def list_ids(self, person: str) -> Iterator[tuple[str, str]]:
        """Channel and id of all that a person is."""
        if person not in self._tables:
            channel, _, sender = person.partition(":")
            yield channel, sender
            return
        table = self._tables[person]
        for channel in table:
            for sender in self._read(channel, table):
                yield channel, sender

    def _list_notes(self, person: str, sender: str) -> list[str]:
        """The memory session called by a bare id, where that can mean this
        person alone. People choose their ids on some platforms: one must
        not be another's id, a table's name, or read as a conversation."""
        taken = tuple(name + sign for name in (
            *REGISTRY.names(), *self._listed, person.partition(":")[0],
            "gateway") for sign in "_:")
        return [] if sender.startswith(taken) or sender in self._tables \
            or not self.find_bearers(sender) <= {person} else [sender]

    def find_bearers(self, sender: str, channels: Iterable[str] | None = None
                     ) -> set[str]:
        """All whom the lists of these channels (None: of any) name by this
        id."""
        return {self.find(channel, sender) for channel
                in (self._listed if channels is None else channels)
                if _bare(sender) in self._read(channel, self._listed)}


def is_private(message: ChannelMessage) -> bool:
    """Whether only its sender reads the chat."""
    return message.reply_target == message.sender \
        if message.private is None else message.private


def _bare(name: str) -> str:
    """As an allow-list compares it."""
    return name.strip().removeprefix("@")


def _bare_whose(whose: str | None) -> str:
    channel, _, sender = (whose or "").partition(":")
    return f"{channel}:{_bare(sender)}"
