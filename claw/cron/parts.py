"""What the scheduler is made of; wiring/listen/jobs.py builds it."""

from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from typing import Protocol, TypeAlias

from claw.agent.turn import Agent
from claw.core.channel import SendMessage
from claw.core.provider import ConversationMessage, Provider
from claw.core.value import Value, made
from claw.security.policy import SecurityPolicy
from claw.storage.jobs.model import Job, JobSpec
from claw.storage.jobs.settings import SchedulerSettings
from claw.storage.jobs.store import SqliteJobs
from claw.storage.log.entry import End, Start

# By id: the text that declares a job, and what it says (None: it is wrong).
Declared: TypeAlias = Mapping[str, tuple[str, JobSpec | None]]


class Parts(Value):
    """What a run takes when it begins: a reload never changes one under
    way. `open_model` gives the provider of another model, and its name;
    `turn_s` is the time limit of a turn without one of its own;
    `declared` are the jobs of config.toml (SqliteJobs.declare), `wrong`
    says what is amiss there; `find_prompt` is what a job of the agent asks
    now (None: nothing, and the run is skipped)."""

    jobs: SqliteJobs
    scheduler: SchedulerSettings
    agent: Agent
    policy: SecurityPolicy
    open_model: Callable[[str], Awaitable[tuple[Provider, str]]]
    provider: str
    catches_up: bool = True
    poll_s: float = 15.0
    retries: int = 2
    backoff_s: float = 0.5
    turn_s: float = 1200.0
    secrets: Sequence[str] = ()
    declared: Declared = made(factory=dict)
    wrong: Sequence[str] = ()
    find_prompt: Callable[[Job], str | None] = lambda job: job.spec.prompt


class Sight(Value):
    """What of people a run sees: the memory sessions (None: all, the
    owner's own) and the chat whose files are there for it, as one of its
    turns or as the `audience` of another."""

    session: str | None = None
    others: tuple[str, ...] = ()
    channel: str | None = None
    chat: str | None = None
    audience: tuple[str, str] | None = None


class Talks(Protocol):
    """The conversations that runs go on in."""

    def find_sight(self, job: Job) -> Sight:
        """Whose words a run may read: where they are told is a part of
        it."""

    def find_key(self, job: Job) -> str | None:
        """The one of a job, None for a new one each time."""

    async def load(self, key: str) -> Sequence[ConversationMessage]:
        """What was said in it."""

    async def keep(self, key: str, turn_id: str,
                   said: Sequence[ConversationMessage],
                   labels: Collection[str]) -> None:
        """What a run brought into it."""


class Posts(Protocol):
    """The outbox, as runs know it."""

    async def post(self, source: str, channel: str, message: SendMessage
                   ) -> None:
        """Put a message out, once for each `source`. Raises ConfigError
        where the channel is not set up, StorageError."""

    async def find_state(self, source: str) -> tuple[str, str | None]:
        """"waiting", "sent" or "failed", with the error."""


class Around(Value):
    """What a run knows of the process around it. `log_turn` keeps the
    beginning and the end of a turn, `turn_cost` tells what it cost."""

    talks: Talks
    log: Callable[..., None]
    turn_cost: Callable[[str], float | None]
    log_turn: Callable[[str, Start | End], Awaitable[None]]


class Service(Around):
    """What the scheduler knows besides; `note` hears what is wrong with
    the jobs (None: nothing any more)."""

    posts: Posts
    note: Callable[[str, str | None], None]
