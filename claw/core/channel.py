"""Channel: the contract of everything a person writes through.

`name`, `send` and `listen` are required; the rest does nothing by default.
A channel pushes what it receives into an inbox and tells its platform
"received" only after `put` has returned: by then the message is on disk.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import (
    Any,
    ClassVar,
    Protocol,
    runtime_checkable,
)

from claw.core.log import Log, silent
from claw.core.value import Value, made, replace

STRANGER = "stranger"


class Attachment(Value):
    """A file that came with a message, already saved under a safe name."""

    path: str
    file_name: str
    mime_type: str | None = None
    size_bytes: int = 0


class ChannelMessage(Value):
    """A message that came in.

    `id` is the platform's own (for recognising redeliveries), `sender` the
    person's stable id there, never a name that can change hands: history,
    memory, approvals and limits are kept under it. `sender_name` is what
    people read in its place. `timestamp` is unix seconds, `thread_ts` the
    anchor of a reply, `interruption_scope_id` is set only inside a real
    thread. `kind` is "message", or "action" for a pressed button, whose
    `content` is then the button's `action`.
    `labels` names the origins of foreign text in it ("forwarded",
    "quoted"): the turn is treated as one that has read such text.
    STRANGER among them says that the sender is none of the owners: no
    tool and no memory is there for such a turn.
    `private` says whether nobody else reads the chat: only there is shown
    what its person said in another private one. None: it is where its
    address is the person's id.
    """

    id: str
    sender: str
    reply_target: str
    content: str
    channel: str
    timestamp: int
    thread_ts: str | None = None
    interruption_scope_id: str | None = None
    attachments: tuple[Attachment, ...] = ()
    kind: str = "message"
    labels: tuple[str, ...] = ()
    sender_name: str = ""
    private: bool | None = None


class Button(Value):
    """A choice under a message. Pressing it comes back as a message of
    kind "action" whose content is `action` (at most 64 bytes)."""

    label: str
    action: str


class SendMessage(Value):
    """A message that goes out; `recipient` is the platform's own address,
    `subject` is for mail. A channel without buttons leaves them out: the
    content says what can be typed instead.

    `files` says whether a text may name files to send, whatever it says.
    `links` are the only addresses that may be links or be fetched (None:
    all may): a text that follows foreign words has few. `poll` are the
    question and the options of a poll; the content says the same, for a
    channel that has none (MakesPolls). `answers` is the id of the message
    that it answers, where there is one: what a platform wants back of it
    (correlation data) is not a part of the address.
    """

    content: str
    recipient: str
    subject: str | None = None
    thread_ts: str | None = None
    attachments: tuple[Attachment, ...] = ()
    buttons: tuple[Button, ...] = ()
    files: bool = True
    links: tuple[str, ...] | None = None
    poll: tuple[str, ...] = ()
    answers: str | None = None

    def with_subject(self, subject: str) -> "SendMessage":
        return replace(self, subject=subject)

    def in_thread(self, thread_ts: str | None) -> "SendMessage":
        return replace(self, thread_ts=thread_ts)


class Inbox(Protocol):
    """Where a channel puts what it received."""

    async def put(self, message: ChannelMessage) -> None:
        """Returns after the message is committed to disk."""


class BindsNames(Protocol):
    """Knows whose a name in an allow-list is: the first person's who came
    with it, for good."""

    def find(self, name: str) -> str | None:
        """The stable id that a name belongs to; None: nobody's yet."""

    def bind(self, name: str, person: str) -> str:
        """The stable id that a name belongs to; nobody's yet becomes
        `person`'s."""


@runtime_checkable
class FollowsIds(Protocol):
    """Knows which ids became others (ChannelDeps.carry_over)."""

    def follow(self, ids: Iterable[str]) -> set[str]:
        """These ids as they are now."""


class FirstComers:
    """The names of one process (BindsNames)."""

    def __init__(self) -> None:
        self._people: dict[str, str] = {}

    def find(self, name: str) -> str | None:
        return self._people.get(name)

    def bind(self, name: str, person: str) -> str:
        return self._people.setdefault(name, person)


class KeepsMarks(Protocol):
    """Small texts of a channel that outlive the process: how far it has
    read, a session to resume. They may be older than what happened, after
    a power cut, and are never newer: set one once `put` has returned."""

    def get(self, key: str) -> str | None:
        """None for a key that was never set."""

    def set(self, key: str, value: str | None) -> None:
        """None takes the key away. Raises nothing: what can't be written
        holds as long as the process."""

    def keys(self) -> Sequence[str]:
        """The keys that are set, oldest first."""


class Marks:
    """The marks of one process (KeepsMarks)."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        return self._marks.get(key)

    def set(self, key: str, value: str | None) -> None:
        if value is None:
            self._marks.pop(key, None)
        else:
            self._marks[key] = value

    def keys(self) -> Sequence[str]:
        return tuple(self._marks)


class ChannelDeps(Value):
    """What a channel is given at construction, beside its settings.

    `log(event, **fields)` writes one line for the operator. `remember`
    keeps a newly paired sender in the allow-list of config.toml and says
    whether that worked, `names` says whose a name there is, `marks` keeps
    how far the channel has read. `carry_over(old, new)` is for a platform
    that says that a person's id has changed: allow-list, memory, approvals
    and what else is kept under the old one follow. `save` files go
    below `files`. `may_send` says of
    a file (resolved, inside the workspace) whether it may leave: claw's
    own databases and sessions and what the owner forbids may not.
    """

    workspace: Path
    files: Path
    log: Log = silent
    remember: Callable[[str], bool] = (lambda sender: False)
    names: BindsNames = made(factory=FirstComers)
    marks: KeepsMarks = made(factory=Marks)
    carry_over: Callable[[str, str], None] = (lambda old, new: None)
    may_send: Callable[[Path], bool] = (lambda real: True)


class Capabilities(Value):
    """What a platform can do about a message of ours.

    edit: change it once it stands. list_back: look up whether it arrived
    (FindsSent). key_holds_s: for how many seconds it knows the key of a
    part, so that one that is sent twice is shown once; 0 where it takes no
    keys, infinite where it forgets none. A part in doubt that is younger is
    sent again as it is, with the key in its `data`; an older one is looked
    for first. proactive: receive one that answers nothing.
    several_connections: be listened to by more than one process (PollsOnce
    can't).
    identity_change: let people change the name that an allow-list holds.
    buttons: answer questions by a press (ClearsButtons says so too).
    private_chat_is_person: give a private chat its person's id as address.
    """

    edit: bool = False
    list_back: bool = False
    key_holds_s: float = 0.0
    proactive: bool = True
    several_connections: bool = True
    identity_change: bool = False
    buttons: bool = False
    private_chat_is_person: bool = False


class Channel(ABC):
    """One platform. Raises AuthError, UnavailableError or
    RateLimitedError; the runtime restarts `listen` after an error.

    What the platform knows about itself stands on the class, whose module
    imports no HTTP client at its top: `Settings` is the msgspec struct of
    its table in config.toml (None: it has none, and the class is called
    without arguments), `setup` tells a newcomer in Markdown what to make on
    the platform and which keys to set, `guidance` is the section of the
    system prompt about writing there, `first_setting` the key and value
    that set it up (of a secret the key: it is asked for, and shown to
    nobody), `example_recipient` an address as its people write it,
    `extra_for` what needs the extra of its name ("": all of it, where there
    is one).
    """

    Settings: ClassVar[type | None] = None
    capabilities: ClassVar[Capabilities] = Capabilities()
    setup: ClassVar[str] = ""
    guidance: ClassVar[str] = ""
    first_setting: ClassVar[str] = ""
    example_recipient: ClassVar[str] = ""
    extra_for: ClassVar[str] = ""
    # Whether a new reaction takes the place of the one before.
    reactions_replace: ClassVar[bool] = False
    # Whether history keeps the names of the tools before an answer.
    keeps_tool_names: ClassVar[bool] = True

    @property
    @abstractmethod
    def name(self) -> str:
        """The registered name, e.g. "webhook"."""

    @abstractmethod
    async def send(self, message: SendMessage) -> None:
        """Deliver, or raise."""

    @abstractmethod
    async def listen(self, inbox: Inbox) -> None:
        """Receive until cancelled, or until a clean end."""

    async def health_check(self) -> bool:
        return True

    async def start_typing(self, recipient: str) -> None:
        return None

    async def stop_typing(self, recipient: str) -> None:
        return None

    def supports_draft_updates(self) -> bool:
        return False

    async def send_draft(self, message: SendMessage) -> str | None:
        """Send what a growing answer begins with; its message id, or
        None. The answer takes its place (PreviewsAnswers: is sent beside
        it)."""
        return None

    async def update_draft(self, recipient: str, message_id: str,
                           text: str) -> None:
        return None

    async def finalize_draft(self, recipient: str, message_id: str,
                             text: str) -> None:
        return None

    async def cancel_draft(self, recipient: str, message_id: str) -> None:
        return None

    async def add_reaction(self, channel_id: str, message_id: str,
                           emoji: str) -> None:
        return None

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        return None


class Part(Value):
    """A piece of a message that is one call of the platform.

    `text` is what a person reads of it; `data` is JSON for the channel
    alone. The outbox keeps a state for each part.
    """

    kind: str
    text: str
    data: Mapping[str, Any] = made(factory=dict)


@runtime_checkable
class SendsParts(Protocol):
    """A channel that delivers a message as several calls."""

    def parts(self, message: SendMessage) -> list[Part]:
        """The calls of a message, in order; pure, at least one part for
        content that is not blank."""

    async def send_part(self, message: SendMessage,
                        part: Part) -> str | None:
        """Make one call; the platform's id of what it sent."""


def strip_thread(message: SendMessage) -> str:
    """The recipient without its thread, where it is written behind it."""
    return (message.recipient.removesuffix(f":{message.thread_ts}")
            if message.thread_ts else message.recipient)
