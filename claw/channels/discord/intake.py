"""From what came to what is put in the inbox: who may, which files.

Who may not write is answered here (pairing, one hint) and goes no further.
Nothing is fetched of them, nor of strangers, who have no tools to read it.
"""

from collections.abc import Callable

from claw.channels.access import Door, Hints, Person, read_code
from claw.channels.discord.api import FILE_BYTES, Api
from claw.channels.discord.markup import escape
from claw.channels.discord.messages import (
    address,
    compose,
    find_files,
    is_machine,
    is_written,
)
from claw.channels.discord.rooms import Rooms
from claw.channels.discord.settings import DiscordSettings
from claw.channels.discord.wire import Message, User
from claw.channels.media import FileSaver, name_strangers
from claw.channels.outfiles import name_received
from claw.core.abilities import TakesReplies
from claw.core.channel import (
    ChannelDeps,
    ChannelMessage,
    Inbox,
    Part,
    SendMessage,
)
from claw.core.value import replace


class Intake:
    """Makes ChannelMessages of allowed people's messages. `now` is Unix
    seconds; `heard` is called after each file, since fetching many takes
    time and proves that receiving works."""

    def __init__(self, settings: DiscordSettings, deps: ChannelDeps,
                 api: Api, rooms: Rooms, *, clock: Callable[[], float],
                 now: Callable[[], float]) -> None:
        self.door = Door(settings.allowed_users, deps, clock=clock,
                         table="channels_config.discord")
        self._settings = settings
        self._guild = str(settings.guild_id or "").strip()
        self._told = Hints(clock)  # who has sent a code for nothing
        self._rooms = rooms
        self._now = now
        self._saver = FileSaver(deps, api.download, most_bytes=FILE_BYTES,
                                sleep=api.sleep)

    def allows(self, user: User | None, guild_id: str | None) -> bool:
        """Whether somebody may act there."""
        return self._hears(guild_id) and self.door.allows(_person(user))

    def labels(self, user: User | None) -> tuple[str, ...]:
        return self.door.labels(_person(user))

    def _hears(self, guild_id: str | None) -> bool:
        return guild_id is None or self._guild in ("", guild_id)

    async def message(self, message: Message, bot_id: str,
                      heard: Callable[[], None], inbox: Inbox
                      ) -> ChannelMessage | None:
        """None for what is not for us. Who may not write is answered by
        `inbox`, where it sends."""
        private = message.guild_id is None
        if message.author.id == bot_id or not is_written(message) \
                or (is_machine(message)
                    and not self._settings.listen_to_bots) \
                or not self._hears(message.guild_id):
            return None
        # A webhook or a bot may have the name of anybody.
        person = Person(message.author.id, "" if is_machine(message)
                        else message.author.username)
        if not self.door.allows(person):
            if private and not is_machine(message):
                await self._answer_stranger(message, person, inbox)
            return None
        if private and read_code(message.content) is not None:
            if self._told.is_due(message.channel_id):
                await self._reply(message, "You are already allowed.", inbox)
            return None
        text = await self._read_text(message, bot_id)
        if text is None:
            return None
        refs = find_files(message)
        lines, attachments = (
            name_strangers(refs) if self.door.allowed.is_stranger(person)
            else await self._saver.save_all((
                (ref, name_received("discord", message.channel_id,
                                    f"{message.id}_{number}", ref.name))
                for number, ref in enumerate(refs)), heard))
        composed = compose(
            message, text, lines, attachments, now=self._now(),
            thread=await self._rooms.find_thread(message))
        return replace(composed, labels=(
            *composed.labels, *self.door.labels(person)))

    async def _read_text(self, message: Message, bot_id: str) -> str | None:
        """Its words, in a server without the mention of us; None where it
        is not for us, or a mention and nothing else."""
        if message.guild_id is None:
            return message.content
        roles = await self._rooms.find_roles(
            message.guild_id, bot_id) if message.mention_roles else ()
        ours = address(message, bot_id, roles)
        if ours is None:
            return None if self._settings.mention_only else message.content
        if not ours and message.content and not message.attachments \
                and not message.sticker_items:
            return None
        return ours

    async def _answer_stranger(self, message: Message, person: Person,
                               inbox: Inbox) -> None:
        answer = await self.door.answer(message.channel_id, person,
                                        message.content)
        if answer is not None:
            await self._reply(message, answer, inbox)

    async def _reply(self, message: Message, text: str,
                     inbox: Inbox) -> None:
        if isinstance(inbox, TakesReplies):
            await inbox.reply(
                f"{message.channel_id}:{message.id}",
                SendMessage(text, message.channel_id),
                Part("text", text, {"text": escape(text),
                                    "nonce": f"r{message.id}"}))


def _person(user: User | None) -> Person | None:
    return None if user is None else Person(user.id, user.username)
