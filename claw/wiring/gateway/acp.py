"""Settings -> what the conversations of an editor stand on (claw acp).

The settings are read anew for each conversation, so that a change counts
from the next one on.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

from claw.agent.settings import MultimodalSettings
from claw.config.places import Places
from claw.config.tree import load
from claw.core.errors import DeniedError
from claw.core.turn import Approves
from claw.core.value import replace
from claw.gateway.acp.chats import Describe, Kept, Opened
from claw.gateway.acp.updates import SpokenMessage
from claw.security.redact.redactor import Redactor
from claw.security.settings import AutonomySettings, Level, SandboxSettings
from claw.storage.marks import MarksFile
from claw.wiring.chat.session import ChatOptions, open_chat
from claw.wiring.models.providers import build_providers
from claw.wiring.workspace.secrets import build_redactor
from claw.wiring.workspace.sessions import (
    open_sessions,
    read_messages,
    read_title,
)


class EditorChats:
    """gateway.acp.chats.Chats. `options` are what the command line asks
    for."""

    def __init__(self, places: Places, options: ChatOptions) -> None:
        self._places = places
        self._options = options
        self.workspace = places.workspace
        # session -> the folder that was open in its editor
        self._folders = MarksFile(
            places.workspace / "state" / "editor_folders.json")
        self.redactor: Redactor = build_redactor(load(places))

    def read_level(self) -> Level:
        return load(self._places).decode("autonomy", AutonomySettings).level

    def sees_images(self) -> bool:
        """By the vendor's word, since no server is asked for it; a model of
        its that sees none says so when it is shown one."""
        tree = load(self._places)
        providers = build_providers(tree)
        choice = providers.choose(self._options.provider,
                                  self._options.model)
        return providers.vendor(choice.provider_name).vision or bool(
            tree.decode("multimodal", MultimodalSettings).vision_provider)

    def read_history(self, name: str) -> list[SpokenMessage]:
        session = open_sessions(self._places).read(name)
        if any("turn" in record for record in session.records):
            raise DeniedError("that is the conversation of a channel, which "
                              "only its people go on with")
        return list(read_messages(session))

    def list_kept(self) -> Iterator[Kept]:
        store = open_sessions(self._places)
        for one in store.list():
            if (cwd := self._folders.get(one.key)) is not None:
                yield Kept(one.key, cwd, read_title(store, one.key),
                           one.updated_at)

    @asynccontextmanager
    async def open(self, name: str, cwd: str, describe: Describe,
                   approver: Approves) -> AsyncIterator[Opened]:
        from claw.wiring.tools.build import build_policy
        tree = load(self._places)
        policy = build_policy(tree)
        self._folders.set(name, cwd)
        async with open_chat(tree, replace(
                self._options, session=name, approver=approver,
                system=describe(policy.is_path_allowed(cwd)))) as chat:
            yield Opened(chat, policy, tree.decode(
                "security.sandbox", SandboxSettings
                ).effective_mode() == "required")


def build_chats(places: Places, *, provider: str | None, model: str | None,
                notify: Callable[[str], None]) -> EditorChats:
    """Raises ConfigError for settings that can't be read."""
    return EditorChats(places, ChatOptions(provider, model, None, None,
                                           notify=notify))
