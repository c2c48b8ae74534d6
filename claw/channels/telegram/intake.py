"""From what came to what is put in the inbox: who may, which files.

Strangers are answered here (pairing, one hint) and go no further; nothing of
theirs is fetched.
"""

import asyncio
from collections.abc import Callable, Sequence

from claw.channels.telegram.access import (
    AllowList,
    Hints,
    Pairing,
    bind_code,
    stranger_hint,
)
from claw.channels.telegram.api import FILE_BYTES, BotApi
from claw.channels.telegram.content import FileRef, file_line, files_of
from claw.channels.telegram.settings import TelegramSettings
from claw.channels.telegram.updates import (
    action_of,
    address,
    compose,
    is_group,
    own_text,
)
from claw.channels.telegram.wire import Bot, Incoming, Message, User
from claw.core.channel import (
    STRANGER,
    Attachment,
    ChannelDeps,
    ChannelMessage,
)
from claw.core.errors import (
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.files import save_bytes
from claw.core.value import replace

_FETCH_TRIES = 3
_FETCH_S = 60.0
_FETCH_WAIT_S = 1.0


class Intake:
    """Makes ChannelMessages of allowed people's updates.

    `heard` is called after each file, since fetching many takes time and
    proves that receiving works.
    """

    def __init__(self, settings: TelegramSettings, deps: ChannelDeps,
                 api: BotApi, *, clock: Callable[[], float]) -> None:
        self.allowed = AllowList(settings.allowed_users)
        self.pairing: Pairing | None = None
        self._settings = settings
        self._deps = deps
        self._api = api
        self._clock = clock
        self._hints = Hints(clock)

    @property
    def needs_name(self) -> bool:
        """Whether what is for us can't be told without our name."""
        return self._settings.mention_only

    def open_pairing(self) -> None:
        """With nobody allowed, make the code and log it, once."""
        if self.pairing is None and not self.allowed:
            self.pairing = Pairing(self._clock)
            self._deps.log(
                "pairing", code=self.pairing.code,
                hint="nobody is allowed yet; send this to the bot: "
                     f"/bind {self.pairing.code}")

    # -- messages

    async def message(self, group: Sequence[Incoming], bot: Bot,
                      heard: Callable[[], None]) -> ChannelMessage | None:
        """One update, or those of an album; None for what is not for us."""
        message = group[0].message
        if message is None or _ours_to_skip(group[0]):
            return None
        if not self.allowed.allows(message.user):
            await self._stranger(message)
            return None
        if not is_group(message) and bind_code(message.text) is not None:
            await self._reply(message, "You are already allowed.")
            return None
        texts = [own_text(i.message) for i in group if i.message is not None]
        if is_group(message) and self._settings.mention_only:
            ours = [address(i.message, bot) for i in group
                    if i.message is not None]
            if all(text is None for text in ours):
                return None
            texts = [new if new is not None else old
                     for new, old in zip(ours, texts, strict=True)]
            if not any(texts) and not files_of(message) and texts != [
                    own_text(message)]:
                return None  # a mention and nothing else
        lines, attachments = await self._files(group, heard)
        composed = compose(group, "\n".join(t for t in texts if t), lines,
                           attachments, bot)
        author = group[0].message.user if group[0].message else None
        if composed is not None and self.allowed.is_stranger(author):
            return replace(composed, labels=(*composed.labels, STRANGER))
        return composed

    def action(self, incoming: Incoming, now: float) -> ChannelMessage | None:
        """A pressed button of somebody who may."""
        callback = incoming.callback
        if callback is None or not self.allowed.allows(callback.user):
            return None
        return action_of(callback, now)

    # -- files

    async def _files(self, group: Sequence[Incoming],
                     heard: Callable[[], None]
                     ) -> tuple[list[str], list[Attachment]]:
        lines: list[str] = []
        found: list[Attachment] = []
        for incoming in group:
            if incoming.message is None:
                continue
            for ref in files_of(incoming.message):
                attachment, why = await self._file(incoming.message, ref)
                heard()
                lines.append(file_line(
                    ref, attachment.path if attachment else None, why))
                if attachment is not None:
                    found.append(attachment)
        return lines, found

    async def _file(self, message: Message, ref: FileRef
                    ) -> tuple[Attachment | None, str]:
        """The saved file, or why there is none. Raises StorageError."""
        if ref.size_bytes > FILE_BYTES:
            return None, (f"it has {ref.size_bytes / 1024 / 1024:.0f} MiB, "
                          "bots can fetch 20 MiB")
        try:
            data = await self._fetch(ref)
        except UnavailableError as error:
            self._deps.log("file_not_fetched", file=ref.name,
                           error=error.message)
            return None, error.message
        name = f"telegram_{message.chat.id}_{message.message_id}_{ref.name}"
        path = await asyncio.to_thread(
            save_bytes, self._deps.files, name, data)
        return Attachment(path=str(path), file_name=ref.name,
                          mime_type=ref.mime_type,
                          size_bytes=len(data)), ""

    async def _fetch(self, ref: FileRef) -> bytes:
        """The bytes, within a time that no watchdog takes for a hang: a
        file that never comes must not keep the messages after it."""
        try:
            async with asyncio.timeout(_FETCH_S):
                return await self._try(ref)
        except TimeoutError as error:
            raise UnavailableError(
                f"it did not arrive within {_FETCH_S:g} s") from error

    async def _try(self, ref: FileRef) -> bytes:
        for attempt in range(1, _FETCH_TRIES):
            try:
                return await self._api.download(ref.file_id)
            except (RequestRefusedError, RateLimitedError):
                raise
            except UnavailableError:
                await self._api.sleep(_FETCH_WAIT_S * attempt)
        return await self._api.download(ref.file_id)

    # -- strangers

    async def _stranger(self, message: Message) -> None:
        user = message.user
        if user is None or is_group(message) or message.chat.type != "private":
            return
        code = bind_code(message.text)
        if code is not None and self.pairing is not None:
            await self._bind(message, user, code)
            return
        if not self._hints.due(message.chat.id):
            return
        self._deps.log("stranger", id=user.id, username=user.username,
                       hint=f"to let them in add {user.id} to "
                            "channels_config.telegram.allowed_users")
        if self._settings.show_hint_to_strangers:
            pairing = self.pairing is not None and \
                self.pairing.code is not None
            await self._reply(message, stranger_hint(user, pairing))

    async def _bind(self, message: Message, user: User, code: str) -> None:
        pairing = self.pairing
        assert pairing is not None
        chat = message.chat.id
        waits = pairing.locked_s(chat)
        if waits > 0:
            await self._reply(message, "Too many wrong codes. Try again in "
                                       f"{waits:.0f} seconds.")
        elif not pairing.accepts(chat, code):
            await self._reply(message, "That code is not valid.")
        else:
            self.allowed.add(user)
            saved = await asyncio.to_thread(
                self._deps.remember, str(user.id))
            self._deps.log("paired", id=user.id, username=user.username,
                           saved=saved)
            await self._reply(message, "You are paired." if saved else (
                "You are paired until claw restarts: config.toml could not "
                f"be changed. Add {user.id} to allowed_users there."))

    async def _reply(self, message: Message, text: str) -> None:
        await self._api.cosmetic("sendMessage", {
            "chat_id": message.chat.id, "text": text})


def _ours_to_skip(incoming: Incoming) -> bool:
    """Bots (two of them would talk for ever), and the moving of a live
    location, which comes as an edit every few seconds."""
    message = incoming.message
    assert message is not None
    if message.user is not None and message.user.is_bot:
        return True
    return incoming.edited and "location" in incoming.raw
