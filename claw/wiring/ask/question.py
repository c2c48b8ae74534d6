"""What one question may say, and who hears of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from claw.agent.rounds.events import Event
from claw.core.images import MARK
from claw.core.provider import Passage
from claw.core.turn import Approves, Budget
from claw.core.value import Value, made
from claw.providers.catalog.choice import Choice

# What a memory names as the conversation of a question without a session.
LAST = "ask"


class Question(Value):
    """Everything that one question may say.

    `passages` are piped text and files: they stand under the prompt.
    `images` are image markers with data: URLs in them; one in `prompt` may
    name a file of the workspace too. `session` None keeps the turn in the log
    alone; `continued` goes on from the last such question, `cid` from an
    entry of the log by its id; `keep` False keeps nothing.
    `temperature` None is that of the settings. `docs` names documents to
    answer from (claw memory index).
    `options` are the vendor's own. With `rows` the answer is any number of
    what `schema` says, one a line. Without `stream` the answer comes whole.
    `frame` are the pieces of the prompt where piped text stands between
    them: it is none of the owner's words.
    `budget` is money that several questions share.
    """

    prompt: str
    passages: Sequence[Passage] = ()
    images: Sequence[str] = ()
    provider: str | None = None
    model: str | None = None
    system: str | None = None
    temperature: float | None = None
    tools: Sequence[str] = ()
    use_memory: bool = True
    session: str | None = None
    continued: bool = False
    keep: bool = True
    schema: dict[str, Any] | None = None
    max_tokens: int | None = None
    timeout_s: float | None = None
    approve_all: bool = False
    max_cost_usd: float | None = None
    docs: str | None = None
    budget: Budget | None = None
    cid: str | None = None
    options: Mapping[str, Any] = made(factory=dict)
    frame: Sequence[str] = ()
    rows: bool = False
    stream: bool = True

    @property
    def piped(self) -> str:
        """The piped text."""
        return "\n\n".join(p.text.strip("\n") for p in self.passages
                           if p.source == "stdin")

    @property
    def has_images(self) -> bool:
        return bool(self.images) or MARK in self.prompt


class Watch(Value):
    """Who hears of a running question; nobody by default. `before_writing`
    is called before anything is kept in the workspace."""

    on_event: Callable[[Event], None] = lambda _: None
    on_choice: Callable[[Choice], None] = lambda _: None
    notify: Callable[[str], None] = lambda _: None
    approver: Approves | None = None
    before_writing: Callable[[], None] = lambda: None
