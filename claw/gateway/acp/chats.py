"""What the editor's conversations stand on; wiring builds it.

`Chats` stands for this installation, `Chat` is one conversation that is
open (wiring/chat.py's ChatSession).
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol, TypeAlias

from claw.agent.rounds.events import OnEvent
from claw.agent.rounds.outcome import TurnResult
from claw.core.provider import Passage
from claw.core.turn import Approves
from claw.core.value import Value
from claw.gateway.acp.updates import SpokenMessage
from claw.providers.catalog.choice import Choice
from claw.security.policy import SecurityPolicy
from claw.security.redact.redactor import Redactor
from claw.security.settings import Level, NarrowerSettings

# What a model is told of the folder; whether the agent reaches it.
Describe: TypeAlias = Callable[[bool], str]


class Chat(Protocol):
    """One conversation with the agent, kept as it goes."""

    choice: Choice

    @property
    def model(self) -> str: ...

    async def say(self, message: str, on_event: OnEvent, *,
                  passages: Sequence[Passage] = (),
                  question: str | None = None, live_text: bool = False,
                  cancel: asyncio.Event | None = None) -> TurnResult:
        """One turn. Raises what Agent.turn raises."""

    def narrow(self, policy: NarrowerSettings | None) -> None:
        """What turns may not do from now on, a running one too."""

    def new(self) -> None: ...

    def use_model(self, name: str) -> None: ...

    async def models(self) -> list[str]: ...


class Kept(Value):
    """A conversation that was kept: its id, the folder that was open in the
    editor, its title ("" where it says nothing), RFC 3339 in UTC."""

    name: str
    cwd: str
    title: str
    updated_at: str


class Opened(Value):
    """A conversation that is open. `policy` opens its files;
    `needs_sandbox`: documents are read in a whole sandbox or not at
    all."""

    chat: Chat
    policy: SecurityPolicy
    needs_sandbox: bool


class Chats(Protocol):
    """Where conversations come from."""

    redactor: Redactor
    workspace: Path

    def read_level(self) -> Level:
        """autonomy.level, as it is now."""

    def sees_images(self) -> bool:
        """Whether the model that is set up takes images."""

    def read_history(self, name: str) -> list[SpokenMessage]:
        """What was said in a kept conversation. Blocks; raises
        NotFoundError, and DeniedError for one of a channel."""

    def list_kept(self) -> Iterable[Kept]:
        """The conversations of editors, the one written last first.
        Blocks."""

    def open(self, name: str, cwd: str, describe: Describe,
             approver: Approves) -> AbstractAsyncContextManager[Opened]:
        """The conversation of that name, kept or new, with the settings as
        they are now; what `describe` gives stands before the system prompt.
        Raises what open_chat raises."""
