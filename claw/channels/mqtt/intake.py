"""From what came to what is put in the inbox: what counts, who may.

People are the topics that they write to: a broker lets a person write to
some topics only, and to no other's. A name in a message is shown, and is
somebody only where `trust_senders` says that the broker checks it.
"""

import time
from collections.abc import Callable, Iterable

from claw.channels.access import AllowList, Door, Hints, Person, read_code
from claw.channels.mqtt.deliveries import Deliveries
from claw.channels.mqtt.packets import (
    CORRELATION,
    RESPONSE_TOPIC,
    Publish,
)
from claw.channels.mqtt.payload import (
    CORRELATION_BYTES,
    MADE_BY,
    Said,
    make_id,
    read_payload,
)
from claw.channels.mqtt.settings import MqttSettings
from claw.channels.mqtt.topics import (
    find_fault,
    make_reply_topic,
    matches_any,
    may_answer_at,
)
from claw.core.channel import ChannelDeps, ChannelMessage
from claw.core.value import Value
from claw.text.segment import clean


class Topics(AllowList):
    """Topics that may be written to: "@claw/ask" is another one than
    "claw/ask", and may be another person's."""

    def __init__(self, entries: Iterable[str | int]) -> None:
        super().__init__(())
        self._names = {str(entry).strip() for entry in entries} - {""}
        self.usernames = sorted(self._names - {"*"})

    def is_stranger(self, person: Person | None) -> bool:
        return person is None or person.id not in self._names - {"*"}

    def add(self, person: Person) -> None:
        self._names.add(str(person.id))


class Reply(Value):
    """What a stranger is told; `key` is the same when it is told again."""

    key: str
    topic: str
    text: str


class Intake:
    """Makes ChannelMessages of allowed people's messages."""

    def __init__(self, settings: MqttSettings, deps: ChannelDeps, *,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        # Most topics have no reader for a hint: the log tells the owner.
        self.door = Door(settings.allowed_users, deps, clock=clock,
                         table="channels_config.mqtt", tells=False)
        if not settings.trust_senders:
            self.door.allowed = Topics(settings.allowed_users)
        self.deliveries = Deliveries(deps.marks, clock)
        self._settings = settings
        self._log = deps.log
        self._told = Hints(clock)
        self._now = now

    async def read(self, message: Publish) -> ChannelMessage | Reply | None:
        """None for what is not for us."""
        if why := self._find_reason_to_skip(message):
            if self._told.is_due((why, message.topic)):
                self._log("message_skipped", topic=clean(message.topic)[:200],
                          why=why)
            return None
        said = read_payload(message)
        if said is None or not said.content.strip():
            if message.payload.strip() and self._told.is_due(message.topic):
                self._log("message_skipped", topic=clean(message.topic)[:200],
                          why="it is no text")
            return None
        person = self._find_person(message, said)
        if not self.door.allows(person):
            answer = await self.door.answer(message.topic, person,
                                            said.content)
        elif read_code(said.content) is not None:
            answer = ("You are already allowed."
                      if self._told.is_due(("code", message.topic)) else None)
        else:
            return self._build(message, said, person)
        return None if answer is None else Reply(
            said.key or self.deliveries.identify(message),
            self._find_reply_topic(message), answer)

    def _find_reason_to_skip(self, message: Publish) -> str | None:
        if message.retain:
            return "retained messages are old ones"
        if not message.readable:
            return "its properties can't be read"
        if MADE_BY in message.user:
            return "a claw has sent it"
        if find_fault(message.topic) or not matches_any(
                self._settings.topics, message.topic):
            return "it came from a topic that is not listened to"
        return None

    def _find_person(self, message: Publish, said: Said) -> Person:
        trusted = (self._settings.trust_senders and said.sender
                   and not said.is_ambiguous)
        return Person(said.sender if trusted else message.topic)

    def _build(self, message: Publish, said: Said, person: Person
               ) -> ChannelMessage:
        correlation = message.properties.get(CORRELATION, b"")
        if len(correlation) > CORRELATION_BYTES:
            self._log("correlation_too_long", topic=message.topic[:200],
                      bytes=len(correlation), hint="the answer goes without "
                      f"it; we take {CORRELATION_BYTES} bytes")
            correlation = b""
        key = said.key or self.deliveries.identify(message)
        return ChannelMessage(
            make_id(key, correlation), str(person.id),
            self._find_reply_topic(message), said.content, "mqtt",
            int(self._now()), thread_ts=said.thread_id,
            interruption_scope_id=said.thread_id,
            labels=self.door.labels(person), sender_name=said.sender)

    def _find_reply_topic(self, message: Publish) -> str:
        """Where the answer goes: where the request says, if that is no
        harm."""
        wanted = message.properties.get(RESPONSE_TOPIC, "")
        if wanted:
            if may_answer_at(wanted, message.topic,
                             prefixes=self._settings.reply_prefixes,
                             filters=self._settings.topics):
                return str(wanted)
            if self._told.is_due(("response", message.topic)):
                self._log("response_topic_refused",
                          topic=message.topic[:200],
                          wanted=clean(wanted)[:200],
                          hint="to allow it add the topic above it to "
                               "channels_config.mqtt.reply_prefixes")
        return make_reply_topic(self._settings.reply_topic, message.topic)
