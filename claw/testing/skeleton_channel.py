"""Skeleton channel: a whole platform in one file, to copy and to change.

It speaks to a small HTTP API, with the token as a bearer:

    GET /messages?after=7    [{"id": 8, "from": "al", "text": "hi", "at": 1}]
                             once there is news; 7 is not given again
    POST /messages           {"to": "al", "text": "hello"}
    GET /me                  {"name": "..."}
"""

from typing import Annotated, Any

import msgspec

from claw.channels.access import AccessSettings, Door, Person
from claw.channels.client import open_client
from claw.channels.connection import Connection, put_all, works
from claw.channels.splitting import split_text
from claw.core.channel import (
    Capabilities,
    Channel,
    ChannelDeps,
    ChannelMessage,
    Inbox,
    SendMessage,
)
from claw.core.errors import UnavailableError
from claw.text.segment import clean

SETUP = """
A server of notes: people write to it, and claw answers them.

1. Ask its operator for a token, and set it:
   `claw config set channels_config.skeleton.token`
2. Start `claw listen`: it prints a code. Who sends `/bind CODE` may write.
"""


class SkeletonSettings(AccessSettings, frozen=True, kw_only=True):
    """api_url: the address of the server
    token: the key that its operator gave
    allowed_users: ids that may write; "*" is everybody, empty nobody
    allow_everyone: with "*" alone: let everybody in, as strangers
    poll_secs: how long a poll may wait for news
    """

    api_url: str = "http://127.0.0.1:8999"
    token: str = ""
    poll_secs: Annotated[int, msgspec.Meta(ge=1, le=600)] = 20


class Note(msgspec.Struct, rename={"sender": "from"}):
    id: int
    sender: str
    text: str
    at: int


class SkeletonChannel(Channel):
    """Polls, alone for its address."""

    name = "skeleton"
    Settings = SkeletonSettings
    capabilities = Capabilities(several_connections=False)
    setup = SETUP
    first_setting = "token"
    example_recipient = "alice"
    guidance = "## Writing here\n\n- Plain text only. Be brief."

    def __init__(self, settings: SkeletonSettings, deps: ChannelDeps) -> None:
        table = f"channels_config.{self.name}"
        self._http = open_client(table, settings.token, f"{table}.token",
                                 timeout_s=settings.poll_secs + 10)
        self._url = settings.api_url.rstrip("/")
        self._key = {"Authorization": f"Bearer {settings.token}"}
        self._door = Door(settings.allowed_users, deps, table=table)
        self._link = Connection(deps.log)
        self.poll_time_s = float(settings.poll_secs)
        self.account = f"{self.name}:{self._url}"

    async def listen(self, inbox: Inbox) -> None:
        self._link.begin(inbox)
        self._door.open_pairing()
        after = 0
        while True:
            try:
                news = await self._call(
                    "GET", f"messages?after={after}", list[Note])
            except UnavailableError as error:
                await self._link.wait_out(error)
                continue
            self._link.recover()
            # On disk first: the next call's `after` confirms them.
            await put_all(inbox, [m for note in news
                                  if (m := await self._read(note))])
            after = max([after, *(note.id for note in news)])

    async def _read(self, note: Note) -> ChannelMessage | None:
        """A message of somebody who may write; others get a hint."""
        sender, text = clean(note.sender), clean(note.text)
        person = Person(sender)
        if not self._door.allows(person):
            if answer := await self._door.answer(sender, person, text):
                await self.send(SendMessage(answer, sender))
            return None
        return ChannelMessage(
            f"{self.name}_{note.id}", sender, sender, text, self.name,
            note.at, labels=self._door.labels(person))

    async def send(self, message: SendMessage) -> None:
        for piece, _ in split_text(clean(message.content), limit=2000):
            await self._call("POST", "messages", Any, {
                "to": message.recipient, "text": piece})

    async def health_check(self) -> bool:
        return await works(self._call("GET", "me", dict[str, Any]))

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _call(self, method: str, path: str, kind: Any,
                    body: Any = None) -> Any:
        answer = await self._http.request(
            method, f"{self._url}/{path}", json=body, headers=self._key)
        try:
            return msgspec.convert(answer.json(), kind)
        except ValueError as error:
            raise UnavailableError(f"{self._url}: {error}") from error
