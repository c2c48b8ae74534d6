"""From a post to what is put in the inbox: who may, which files.

Who may not write is answered here (pairing, one hint, in direct messages
only) and goes no further. Nothing is fetched of them, nor of strangers, who
have no tools to read it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from claw.channels.access import Door, Hints, Person, read_code
from claw.channels.mattermost.api import FILE_BYTES, Api
from claw.channels.mattermost.outgoing import text_part
from claw.channels.mattermost.posts import (
    NAME,
    address,
    compose,
    find_ref,
)
from claw.channels.mattermost.settings import MattermostSettings
from claw.channels.mattermost.wire import (
    DIRECT,
    File,
    Me,
    Post,
    is_whole_id,
    read_file,
)
from claw.channels.media import FileSaver, name_strangers
from claw.channels.outfiles import name_received
from claw.core.abilities import TakesReplies
from claw.core.channel import (
    ChannelDeps,
    ChannelMessage,
    Inbox,
    SendMessage,
)
from claw.core.errors import UnavailableError
from claw.core.value import replace

_MOST_FILES = 10


class Intake:
    """Makes ChannelMessages of allowed people's posts. `heard` is called
    after each file, since fetching many takes time."""

    def __init__(self, settings: MattermostSettings, deps: ChannelDeps,
                 api: Api, *, clock: Callable[[], float]) -> None:
        self.door = Door(settings.allowed_users, deps, clock=clock,
                         table="channels_config.mattermost",
                         tells=settings.show_hint_to_strangers, bind=" /bind")
        self._settings = settings
        self._told = Hints(clock)  # who has sent a code for nothing
        self._api = api
        self._saver = FileSaver(deps, api.download, most_bytes=FILE_BYTES,
                                sleep=api.sleep)

    async def read(self, post: Post, kind: str, name: str, me: Me,
                   inbox: Inbox, *, mentions: Sequence[str] = (),
                   heard: Callable[[], None] = lambda: None
                   ) -> ChannelMessage | None:
        """A post of a channel of this kind as a message; None for what is
        not for us. Who may not write is answered by `inbox`."""
        # A name like an id in the allow-list would be taken for that.
        person = Person(post.user_id, "" if is_whole_id(name) else name)
        private = kind == DIRECT
        if not self.door.allows(person):
            if private:
                await self._answer_stranger(post, person, inbox)
            return None
        if private and read_code(post.message) is not None:
            if self._told.is_due(post.channel_id):
                await self._reply(post, "You are already allowed.", inbox)
            return None
        text = post.message.strip()
        if self._settings.mention_only and not private:
            ours = address(post, me, mentions)
            if ours is None:
                return None
            text = ours
        stranger = self.door.allowed.is_stranger(person)
        refs = [find_ref(file, alone=not text)
                for file in await self._list_files(post)]
        lines, attachments = (
            name_strangers(refs) if stranger
            else await self._saver.save_all([(ref, name_received(
                NAME, post.channel_id, post.id, ref.name))
                for ref in refs], heard))
        built = compose(post, text, kind, name, lines=lines, refs=refs,
                        attachments=attachments,
                        threads=self._settings.thread_replies)
        return built and replace(built, labels=(
            *built.labels, *self.door.labels(person)))

    async def _list_files(self, post: Post) -> list[File]:
        """What the post names; a server may tell of its files or not."""
        told = (post.metadata and post.metadata.files) or ()
        known = {file.id: file for file in told}
        found = []
        for file_id in (post.file_ids or tuple(known))[:_MOST_FILES]:
            file = known.get(file_id) or await self._ask_file(file_id)
            if file is not None:
                found.append(file)
        return found

    async def _ask_file(self, file_id: str) -> File | None:
        checked = read_file({"id": file_id})
        if checked is None:
            return None
        try:
            info: Any = await self._api.call("GET",
                                             f"files/{checked.id}/info")
        except UnavailableError:
            return checked  # fetched without a name, or told why not
        return read_file(info) or checked

    # -- strangers

    async def _answer_stranger(self, post: Post, person: Person,
                               inbox: Inbox) -> None:
        answer = await self.door.answer(post.channel_id, person,
                                        post.message)
        if answer is not None:
            await self._reply(post, answer, inbox)

    async def _reply(self, post: Post, text: str, inbox: Inbox) -> None:
        part = text_part(text)
        if isinstance(inbox, TakesReplies):
            await inbox.reply(f"{post.channel_id}:{post.id}",
                              SendMessage(text, post.channel_id), part)
            return
        await self._api.cosmetic("POST", "posts", {
            "channel_id": post.channel_id, "message": part.data["message"]})
