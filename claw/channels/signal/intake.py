"""From an envelope to what is put in the inbox: who may, which files.

Who may not write is answered here (pairing, one hint, in private chats only)
and goes no further. Nothing is fetched of them, nor of strangers, who have no
tools to read it.
"""

from collections import OrderedDict
from collections.abc import Callable

from claw.channels.access import Door, Hints, Person, read_code
from claw.channels.answers import is_lone
from claw.channels.media import FileSaver, describe_file, name_strangers
from claw.channels.outfiles import name_received
from claw.channels.signal.api import FILE_BYTES, TABLE, SignalApi
from claw.channels.signal.messages import (
    LONG_TEXT,
    NAME,
    chat_key,
    compose,
    fill_mentions,
    find_ref,
    is_for_us,
    message_id,
    read_quote,
    stands_alone,
)
from claw.channels.signal.outgoing import QUOTED_CHARS, text_part
from claw.channels.signal.settings import SignalSettings
from claw.channels.signal.wire import NUMBER, File, Incoming
from claw.core.abilities import TakesReplies
from claw.core.channel import (
    Attachment,
    ChannelDeps,
    ChannelMessage,
    Inbox,
    SendMessage,
)
from claw.core.errors import AuthError, UnavailableError
from claw.core.value import replace
from claw.text.segment import clean

_MOST_FILES = 10
_LONG_BYTES = 256 * 1024
_BODY_BYTES = 2100  # what is cut off has 2,000, and perhaps a sign more
_REMEMBERED = 1000


class Intake:
    """Makes ChannelMessages of allowed people's envelopes. `heard` is
    called after each file, since fetching many takes time."""

    def __init__(self, settings: SignalSettings, deps: ChannelDeps,
                 api: SignalApi, *, clock: Callable[[], float]) -> None:
        self.door = Door(
            map(settings.spell, map(str, settings.allowed_users)), deps,
            clock=clock, table=TABLE, tells=settings.show_hint_to_strangers)
        self.texts: OrderedDict[str, str] = OrderedDict()  # by message id
        self._names: OrderedDict[str, str] = OrderedDict()  # by ACI
        self._settings = settings
        self._places = settings.group_id.replace(",", " ").split()
        self._own = {settings.account.strip().lower()} - {""}
        self._told = Hints(clock)  # who has sent a code for nothing
        self._deps = deps
        self._api = api
        self._saver = FileSaver(deps, api.download, most_bytes=FILE_BYTES,
                                sleep=api.sleep)

    async def read(self, incoming: Incoming, inbox: Inbox,
                   heard: Callable[[], None] = lambda: None
                   ) -> ChannelMessage | None:
        """An envelope as a message; None for what is not for us. Who may
        not write is answered by `inbox`."""
        own = tuple({*self._own, incoming.account} - {""})
        person = Person(incoming.sender, "" if incoming.sender.startswith(
            "+") else incoming.number)
        if not incoming.sender or incoming.sender in own \
                or incoming.number in own or not self._is_wanted(incoming):
            return None
        private = not incoming.group
        self._follow(person)
        if not self.door.allows(person):
            if private and incoming.edits is None and not incoming.story:
                await self._answer_stranger(incoming, person, inbox)
            return None
        if private and read_code(incoming.data.message or "") is not None:
            if self._told.is_due(incoming.sender):
                await self._reply(incoming, "You are already allowed.", inbox)
            return None
        if self._settings.mention_only and not private \
                and not is_for_us(incoming, own):
            return None
        self._keep(self._names, incoming.sender, incoming.name)
        return await self._compose(incoming, person, own, heard)

    async def _compose(self, incoming: Incoming, person: Person,
                       own: tuple[str, ...], heard: Callable[[], None]
                       ) -> ChannelMessage | None:
        stranger = self.door.allowed.is_stranger(person)
        if not stranger and incoming.sender.startswith("+"):
            self._deps.marks.set(f"number:{incoming.sender}", "1")
        files = incoming.data.attachments or ()
        text = incoming.data.message or ""
        if not stranger:
            text = await self._find_whole(incoming, text, files)
        text = fill_mentions(text, incoming.data.mentions, self._names, own)
        chat = chat_key(incoming)
        refs = [ref for file in files[:_MOST_FILES]
                if file.content_type != LONG_TEXT
                and not self._settings.ignore_attachments
                and (ref := find_ref(file, chat)) is not None]
        lines: list[str]
        attachments: list[Attachment] = []
        if stranger:
            lines, attachments = name_strangers(refs)
        elif incoming.data.view_once:
            lines = [describe_file(ref, None, "it was sent to be seen once")
                     for ref in refs]
        else:
            lines, attachments = await self._saver.save_all(
                [(ref, name_received(NAME, chat, str(
                    incoming.data.timestamp), ref.name)) for ref in refs],
                heard)
        if incoming.group:
            self._keep(self.texts, message_id(incoming), text[:QUOTED_CHARS])
        if stands_alone(text) or (is_lone(text)
                                  and is_for_us(incoming, own)):
            # The question is quoted, by a swipe: that is no foreign text.
            incoming.data.quote = None
        built = compose(
            incoming, text, lines=lines, refs=refs, attachments=attachments,
            quote=read_quote(incoming.data.quote, self._names, own))
        return built and replace(built, labels=(
            *built.labels, *self.door.labels(person)))

    def _is_wanted(self, incoming: Incoming) -> bool:
        if incoming.story and self._settings.ignore_stories:
            return False
        return not self._places or (incoming.group or "dm") in self._places

    def _follow(self, person: Person) -> None:
        """Who was known by his number alone, and has an ACI now, is the
        same person: the two came in one envelope, signed by Signal."""
        mark = f"number:{person.name}"
        if NUMBER.fullmatch(person.name) and self._deps.marks.get(mark):
            self._deps.carry_over(person.name, str(person.id))
            self._deps.marks.set(mark, None)

    async def _find_whole(self, incoming: Incoming, text: str,
                          files: tuple[File, ...]) -> str:
        """A long text: its body is cut at 2,000 bytes, and the whole is a
        file beside it. From 0.14 the daemon puts that in its place."""
        found = next((f for f in files if f.content_type == LONG_TEXT), None)
        if found is None or not found.id or (found.size or 0) > _LONG_BYTES \
                or len(text.encode("utf-8", "replace")) > _BODY_BYTES:
            return text
        try:
            raw = await self._api.download(f"{chat_key(incoming)} {found.id}")
        except (UnavailableError, AuthError) as error:
            self._deps.log("file_not_fetched", file="the rest of a long text",
                           error=error.message)
            return f"{text}\n[The rest of this message could not be fetched]"
        whole = clean(raw[:_LONG_BYTES].decode("utf-8", "replace"))
        return whole if whole.startswith(text.rstrip("\ufffd")) else text

    def _keep(self, table: OrderedDict[str, str], key: str,
              value: str) -> None:
        table[key] = value
        while len(table) > _REMEMBERED:
            table.popitem(last=False)

    # -- strangers

    async def _answer_stranger(self, incoming: Incoming, person: Person,
                               inbox: Inbox) -> None:
        text = incoming.data.message or ""
        if not text and not incoming.data.attachments:
            return  # a reaction, a key: nobody wrote
        answer = await self.door.answer(incoming.sender, person, text)
        if answer is not None:
            await self._reply(incoming, answer, inbox)

    async def _reply(self, incoming: Incoming, text: str,
                     inbox: Inbox) -> None:
        message = SendMessage(text, incoming.sender)
        part = text_part(text, [])
        if isinstance(inbox, TakesReplies):
            await inbox.reply(message_id(incoming), message, part)
            return
        await self._api.cosmetic("send", {
            "recipient": [incoming.sender], "message": text},
            incoming.sender)
