"""From what came to what is put in the inbox: who may, which files.

Who may not write is answered here (pairing, one hint) and goes no further.
Nothing is fetched of them, nor of strangers, who have no tools to read it.
"""

from collections.abc import Callable, Sequence

from claw.channels.access import Door, Hints, Person, read_code
from claw.channels.media import FileRef, FileSaver, name_strangers
from claw.channels.telegram.api import FILE_BYTES, BotApi
from claw.channels.telegram.content import find_files
from claw.channels.telegram.settings import TelegramSettings
from claw.channels.telegram.updates import (
    address,
    build_action,
    compose,
    is_group,
    own_text,
)
from claw.channels.telegram.wire import Bot, Incoming, Message, User
from claw.core.abilities import TakesReplies
from claw.core.channel import (
    Attachment,
    ChannelDeps,
    ChannelMessage,
    Inbox,
    Part,
    SendMessage,
)
from claw.core.value import replace


class Intake:
    """Makes ChannelMessages of allowed people's updates.

    `heard` is called after each file, since fetching many takes time and
    proves that receiving works.
    """

    def __init__(self, settings: TelegramSettings, deps: ChannelDeps,
                 api: BotApi, *, clock: Callable[[], float]) -> None:
        self.door = Door(settings.allowed_users, deps, clock=clock,
                         table="channels_config.telegram",
                         tells=settings.show_hint_to_strangers)
        self._deps = deps
        # Whether what is for us can't be told without our name.
        self.needs_name = settings.mention_only
        self._told = Hints(clock)  # who has sent a code for nothing
        self._api = api
        self._saver = FileSaver(deps, api.download, most_bytes=FILE_BYTES,
                                sleep=api.sleep)

    def allows(self, user: User | None) -> bool:
        return self.door.allows(_person(user))

    # -- messages

    async def message(self, group: Sequence[Incoming], bot: Bot,
                      heard: Callable[[], None], inbox: Inbox
                      ) -> ChannelMessage | None:
        """One update, or those of an album; None for what is not for us.
        Who may not write is answered by `inbox`, where it sends."""
        message = group[0].message
        if message is not None and message.migrate_to_chat_id is not None:
            self._deps.carry_over(str(message.chat.id),
                                  str(message.migrate_to_chat_id))
            return None
        if message is None or _ours_to_skip(group[0]):
            return None
        if not self.allows(message.user):
            await self._answer_stranger(message, inbox)
            return None
        if not is_group(message) and read_code(message.text) is not None:
            if self._told.is_due(message.chat.id):
                await self._reply(message, "You are already allowed.", inbox)
            return None
        texts = [own_text(i.message) for i in group if i.message is not None]
        if is_group(message) and self.needs_name:
            ours = [address(i.message, bot) for i in group
                    if i.message is not None]
            if all(text is None for text in ours):
                return None
            texts = [new if new is not None else old
                     for new, old in zip(ours, texts, strict=True)]
            if not any(texts) and not find_files(message) and texts != [
                    own_text(message)]:
                return None  # a mention and nothing else
        person = _person(message.user)
        stranger = self.door.allowed.is_stranger(person)
        files = [(ref, _name_file(i.message, ref)) for i in group
                 if i.message is not None for ref in find_files(i.message)]
        lines, attachments = (
            name_strangers(ref for ref, _ in files) if stranger
            else await self._saver.save_all(files, heard))
        quoted = None if stranger else await self._find_quoted(message, heard)
        composed = compose(group, "\n".join(t for t in texts if t), lines,
                           attachments, quoted)
        return composed and replace(composed, labels=(
            *composed.labels, *self.door.labels(person)))

    def action(self, incoming: Incoming, now: float) -> ChannelMessage | None:
        """A pressed button of somebody who may."""
        callback = incoming.callback
        if callback is None or not self.allows(callback.user):
            return None
        built = build_action(callback, now)
        return built and replace(built, labels=self.door.labels(
            _person(callback.user)))

    async def _find_quoted(self, message: Message,
                           heard: Callable[[], None]) -> Attachment | None:
        """The voice message that is answered, so that what was said in it
        can be told: as it was saved when it came, else fetched."""
        replied = message.reply_to_message
        if replied is None or replied.voice is None:
            return None
        ref, *_ = find_files(replied)
        name = _name_file(replied, ref)
        found = self._saver.find(ref, name)
        if found is None:
            found, _ = await self._saver.save(ref, name)
            heard()
        return found

    # -- strangers

    async def _answer_stranger(self, message: Message,
                               inbox: Inbox) -> None:
        person = _person(message.user)
        if person is None or message.chat.type != "private":
            return
        answer = await self.door.answer(message.chat.id, person,
                                        message.text)
        if answer is not None:
            await self._reply(message, answer, inbox)

    async def _reply(self, message: Message, text: str,
                     inbox: Inbox) -> None:
        if isinstance(inbox, TakesReplies):
            await inbox.reply(
                f"{message.chat.id}:{message.message_id}",
                SendMessage(text, str(message.chat.id)),
                Part("text", text, {"text": text}))
            return
        await self._api.cosmetic("sendMessage", {
            "chat_id": message.chat.id, "text": text})


def _name_file(message: Message, ref: FileRef) -> str:
    return f"telegram_{message.chat.id}_{message.message_id}_{ref.name}"


def _person(user: User | None) -> Person | None:
    return None if user is None else Person(user.id, user.username)


def _ours_to_skip(incoming: Incoming) -> bool:
    """Bots (two of them would talk for ever), and the moving of a live
    location, which comes as an edit every few seconds."""
    message = incoming.message
    assert message is not None
    return (message.user is not None and message.user.is_bot) \
        or (incoming.edited and "location" in incoming.raw)
