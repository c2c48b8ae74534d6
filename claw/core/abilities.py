"""What a channel or an inbox may be able to do beside its contract.

Small protocols, asked for with `isinstance`: who lacks one does without.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from claw.core.channel import ChannelMessage, Part, SendMessage
from claw.core.errors import Cause
from claw.core.value import Value, made


@runtime_checkable
class HearsReceives(Protocol):
    """An inbox that wants to know that receiving works."""

    def received(self) -> None:
        """A receive was completed: a poll came back (empty or not), a
        frame arrived. Health is the age of the last one."""


@runtime_checkable
class HearsRests(Protocol):
    """An inbox that wants to know when silence is meant."""

    def resting(self, seconds: float) -> None:
        """The channel waits on purpose (a rate limit, another poller) and
        is not wedged for so long."""


@runtime_checkable
class HearsFailures(Protocol):
    """An inbox that wants to know that receiving does not work."""

    def failed(self, why: str) -> None:
        """A receive failed, or never came back; it is tried again. Until
        the next `received` the channel is not well."""


@runtime_checkable
class HearsServing(Protocol):
    """Who wants to know when something is served over HTTP."""

    def serving(self, host: str, port: int) -> None:
        """Platforms can reach it here from now on."""

    def stopped_serving(self) -> None:
        """They no longer can."""


class WebhookPlace(Value):
    """Where a platform posts to: a path of the gateway and, where the
    channel has an address of its own beside it, host and port."""

    path: str
    methods: tuple[str, ...] = ("POST",)
    body_bytes: int = 1 << 20
    address: tuple[str, int] | None = None


class WebhookCall(Value):
    """A request of a platform's; header names in lower case, several of
    one name kept."""

    method: str
    query: str
    headers: tuple[tuple[str, bytes], ...]
    peer: str
    body: bytes = b""

    def header(self, name: str) -> bytes | None:
        """The one header of this name; None for none and for several."""
        found = [value for key, value in self.headers if key == name]
        return found[0] if len(found) == 1 else None


class WebhookRefused(Exception):
    """A request that is not taken: the status, and what the sender hears.
    401 stands for a signature."""

    def __init__(self, status: int, message: str,
                 headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})


class Delivery(Value):
    """What a request brought, and what its 200 says once the messages
    are committed: JSON, or bytes as plain text (a handshake)."""

    messages: tuple[ChannelMessage, ...] = ()
    answer: Any = made(factory=lambda: {"status": "accepted"})


@runtime_checkable
class ReceivesWebhook(Protocol):
    """A channel whose platform posts to it. Its `listen` hands it to the
    gateway: `await inbox.serve_webhook(self)`."""

    @property
    def webhook(self) -> WebhookPlace: ...

    def verify(self, call: WebhookCall) -> None:
        """Raises WebhookRefused for what the platform did not sign; the
        body is not parsed before."""

    async def parse(self, call: WebhookCall) -> Delivery:
        """What it brought, its files fetched. Raises WebhookRefused: 503
        for what the platform is to send again. A message's id is the
        platform's, so that a replay is a no-op (ids are known for 30
        days)."""


@runtime_checkable
class ServesWebhooks(Protocol):
    """An inbox with the gateway behind it."""

    async def serve_webhook(self, channel: ReceivesWebhook) -> None:
        """Receive for it until cancelled. Raises UnavailableError and
        ConfigError where its address can't be had."""


@runtime_checkable
class TakesReplies(Protocol):
    """An inbox that sends what a channel says of its own (a code, a
    hint), among the answers: its id is known when one is looked for."""

    async def reply(self, key: str, message: SendMessage,
                    part: Part) -> None:
        """Returns after the commit; a key that was there adds nothing."""


class Report(Value):
    """What became of a message of ours after the platform took it; `error`
    is None where it has arrived. `key` is the one of its part
    (`Part.data["key"]`), where the platform gives it back."""

    message_id: str
    error: str | None = None
    key: str = ""


@runtime_checkable
class TakesReports(Protocol):
    """An inbox that wants to know what became of what was sent."""

    async def report(self, report: Report) -> None:
        """Returns after the commit. A message that is still being sent is
        waited for a moment; one that is not known is passed over."""


@runtime_checkable
class TakesMany(Protocol):
    """An inbox that commits several messages at once."""

    async def put_all(self, messages: Sequence[ChannelMessage]) -> None:
        """As `put` for each, in this order, in one commit."""


@runtime_checkable
class MarksRepeats(Protocol):
    """A channel whose parts hold more than their text: it says itself
    how one shows that it may have come before."""

    def mark_repeated(self, part: Part, note: str) -> Part:
        """The part with the note in front of what people read of it."""


# Who it is for (a recipient, or "" where the id says it), and the id that
# the channel gave it.
Place: TypeAlias = tuple[str, str]


class Doubt(Value):
    """A part whose fate is unknown, and what is known around it.

    `before` are messages that were there before it was sent, `owned` all
    others whose place is known. `unsure` are further parts that arrived
    several times, or perhaps; an id of "" is unknown.
    """

    message: SendMessage
    part: Part
    before: tuple[Place, ...] = ()
    owned: tuple[Place, ...] = ()
    unsure: tuple[Place, ...] = ()


@runtime_checkable
class FindsSent(Protocol):
    """A channel that can look up whether a part has arrived."""

    async def catch_up(self) -> None:
        """Until what people wrote meanwhile is in the inbox; a moment at
        most."""

    async def find_sent(self, doubt: Doubt) -> tuple[str, ...] | None:
        """The ids of messages that it can be: one means that it has
        arrived, none that it is not seen. None: there is no way to ask.
        Raises what a call raises; it is asked again then."""


@runtime_checkable
class TellsLeaving(Protocol):
    """A channel that knows when a call leaves this process: what a kill
    catches before goes out again without a note."""

    async def send_part_telling(self, message: SendMessage, part: Part,
                                leaving: Callable[[], None]) -> str | None:
        """As `send_part`; calls `leaving` right before the first byte of
        each request that could deliver it."""


@runtime_checkable
class KnowsKeys(Protocol):
    """A channel whose platform takes keys in some chats or for some parts
    only; asked in the place of `Capabilities.key_holds_s`."""

    def knows_key(self, message: SendMessage, part: Part) -> bool:
        """Whether the platform still knows the key of this part, were it
        sent as soon as it was made."""


@runtime_checkable
class ClearsButtons(Protocol):
    """A channel that can take the buttons from a message of ours."""

    async def clear_buttons(self, recipient: str, message_id: str) -> None:
        """Nothing where it has none. Raises RequestRefusedError where
        that can't be done, UnavailableError."""


@runtime_checkable
class MakesPolls(Protocol):
    """A channel whose platform has polls."""

    def poll_part(self, message: SendMessage) -> Part | None:
        """The poll of a message as one call; None where the platform would
        not have it. Pure."""


@runtime_checkable
class PreviewsAnswers(Protocol):
    """A channel where a draft never becomes the answer: that is a message
    of its own, which people are told of, and the draft goes after it."""

    def preview_id(self, recipient: str, message_id: str) -> str | None:
        """The id of the draft of the answer to a message, always the same
        one, where it goes by itself; None: `send_draft` gives it, and
        `cancel_draft` takes it away. `update_draft` is told the same text
        again and again while the answer is made."""


@runtime_checkable
class PollsOnce(Protocol):
    """A channel that receives by polling, alone for its account."""

    @property
    def poll_time_s(self) -> float:
        """The longest time that a healthy poll takes."""

    @property
    def account(self) -> str:
        """What two pollers must not share, e.g. "chat:<bot id>"; no
        secret."""


@runtime_checkable
class ClosesChannel(Protocol):
    """A channel that holds connections."""

    async def aclose(self) -> None: ...


@runtime_checkable
class Diagnoses(Protocol):
    """A channel that can say what is wrong with it."""

    async def diagnose(self) -> list["Finding"]:
        """Step by step, from the name server to the allow-list."""


class Finding(Value):
    """One step of a diagnosis: `id` is stable ("token"), `status` "ok",
    "warn", "fail" or "skip", `hint` the next step. `cause` says why it
    failed, where that is known."""

    id: str
    status: Literal["ok", "warn", "fail", "skip"]
    detail: str
    hint: str | None = None
    cause: Cause | None = None
