"""From what came to what is put in the inbox: who may, which files.

Who may not write is answered here (pairing, one hint, in a private message
alone) and goes no further. Nothing is fetched of them, nor of strangers,
who have no tools to read it.
"""

import secrets
from collections.abc import Callable
from typing import Any

from claw.channels.access import Door, Hints, Person, read_code
from claw.channels.media import FileRef, FileSaver, name_strangers
from claw.channels.outfiles import name_received
from claw.channels.slack.api import FILE_BYTES, Bot, SlackApi
from claw.channels.slack.events import (
    MOST_FILES,
    Incoming,
    build_action,
    compose,
    find_address,
    find_files,
    is_group,
    mentioned,
)
from claw.channels.slack.people import People
from claw.channels.slack.reading import mentions, strip_mention
from claw.channels.slack.settings import SlackSettings
from claw.core.abilities import TakesReplies
from claw.core.channel import (
    Attachment,
    ChannelDeps,
    ChannelMessage,
    Inbox,
    Part,
    SendMessage,
)
from claw.core.errors import RequestRefusedError
from claw.core.value import replace


class Intake:
    """Makes ChannelMessages of allowed people's events.

    `heard` is called after each file, since fetching many takes time and
    proves that receiving works.
    """

    def __init__(self, settings: SlackSettings, deps: ChannelDeps,
                 api: SlackApi, *, clock: Callable[[], float],
                 now: Callable[[], float]) -> None:
        self.door = Door(settings.allowed_users, deps, clock=clock,
                         table="channels_config.slack",
                         tells=settings.show_hint_to_strangers, bind=" /bind")
        self.people = People(api, clock=clock, log=deps.log)
        self._settings = settings
        only = settings.channel_id.strip()
        self.only_channel = "" if only == "*" else only
        self._told = Hints(clock)  # who has sent a code for nothing
        self._api = api
        self._now = now
        self._saver = FileSaver(deps, self._download, most_bytes=FILE_BYTES,
                                sleep=api.sleep)

    # -- messages

    async def message(self, incoming: Incoming, bot: Bot,
                      heard: Callable[[], None], inbox: Inbox
                      ) -> ChannelMessage | None:
        """None for what is not for us. Who may not write is answered by
        `inbox`, where it sends."""
        if incoming.user == bot.user_id \
                or not self._is_heard(incoming.channel):
            return None
        group = is_group(incoming.channel)
        if group and self._settings.mention_only \
                and not mentions(incoming.text, bot.user_id):
            return None
        text = strip_mention(incoming.text, bot.user_id)
        if not text and not incoming.files and not incoming.attachments:
            return None  # a mention and nothing else
        person = Person(incoming.user)
        if not self.door.allows(person):
            if not group:
                await self._answer_stranger(incoming, inbox)
            return None
        if not group and read_code(text) is not None:
            if self._told.is_due(incoming.channel):
                await self._reply(incoming, "You are already allowed.",
                                  inbox)
            return None
        stranger = self.door.allowed.is_stranger(person)
        lines, attachments = (name_strangers(find_files(incoming)) if stranger
                              else await self._save_files(incoming, heard))
        names = await self.people.names(
            [incoming.user, *mentioned(incoming)])
        composed = compose(
            incoming, text, names, lines, attachments,
            thread_replies=self._settings.thread_replies)
        return composed and replace(composed, labels=(
            *composed.labels, *self.door.labels(person)))

    def _is_heard(self, channel: str) -> bool:
        return self.only_channel in ("", channel)

    # -- buttons and commands

    async def action(self, payload: Any) -> ChannelMessage | None:
        """A pressed button of somebody who may. Raises ValueError."""
        built = build_action(payload, self._now())
        return built and await self.judge(built)

    async def judge(self, built: ChannelMessage) -> ChannelMessage | None:
        """A button or a command; None of somebody who may not."""
        if not self._is_heard(built.reply_target):
            return None
        person = Person(built.sender)
        if not self.door.allows(person):
            await self._api.cosmetic("chat.postEphemeral", {
                "channel": built.reply_target, "user": built.sender,
                "thread_ts": built.thread_ts,
                "text": "You are not allowed to do this."})
            return None
        name = await self.people.name(built.sender) or built.sender_name
        return replace(built, labels=self.door.labels(person),
                       sender_name=name)

    # -- files

    async def _save_files(self, incoming: Incoming,
                          heard: Callable[[], None]
                          ) -> tuple[list[str], list[Attachment]]:
        lines, found = await self._saver.save_all((
            (ref, _name_file(incoming, number, ref))
            for number, ref in enumerate(find_files(incoming))), heard)
        if (more := len(incoming.files) - MOST_FILES) > 0:
            lines.append(f"[{more} more files were not fetched]")
        return lines, found

    async def _download(self, place: str) -> bytes:
        """By the address of a file, or its id: of another workspace's Slack
        tells the address when it is asked."""
        if place and "://" not in place:
            found = (await self._api.call("files.info", {"file": place})
                     ).get("file")
            place = find_address(found) if isinstance(found, dict) else ""
        if not place:
            raise RequestRefusedError("Slack gave no address of the file")
        return await self._api.download(place)

    # -- strangers

    async def _answer_stranger(self, incoming: Incoming,
                               inbox: Inbox) -> None:
        answer = await self.door.answer(
            incoming.channel, Person(incoming.user), incoming.text)
        if answer is not None:
            await self._reply(incoming, answer, inbox)

    async def _reply(self, incoming: Incoming, text: str,
                     inbox: Inbox) -> None:
        if isinstance(inbox, TakesReplies):
            await inbox.reply(
                f"{incoming.channel}:{incoming.ts}",
                SendMessage(text, incoming.channel),
                Part("text", text, {"text": text, "spans": [],
                                    "key": secrets.token_hex(8)}))
            return
        await self._api.cosmetic("chat.postMessage", {
            "channel": incoming.channel, "text": text,
            "unfurl_links": False, "unfurl_media": False})


def _name_file(incoming: Incoming, number: int, ref: FileRef) -> str:
    """Unique within a message: all that is pasted is an image.png."""
    name = ref.name if number == 0 else f"{number + 1}_{ref.name}"
    return name_received("slack", incoming.channel, incoming.ts, name)
