"""core.turn.SendsText over the outbox: what the message tool sends with."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from claw.channels.markers import inert
from claw.config.tree import Tree
from claw.core.channel import SendMessage
from claw.core.errors import UsageError
from claw.core.turn import current_turn
from claw.core.value import replace
from claw.security.redact.leaks import guard
from claw.security.redact.redactor import Redactor
from claw.text.addresses import make_plain
from claw.wiring.channels.names import CONSOLE, list_configured
from claw.wiring.listen.send import parse_target, require_sent, send

# Puts a message into the outbox: source, channel, message.
Post: TypeAlias = Callable[[str, str, SendMessage], Awaitable[None]]
# How long a turn waits until its message is out, where nobody else sends.
WAIT_S = 15.0


class Messages:
    """Sends to channels of these settings alone. `post` None: this process
    has no sender, and sends as `claw send` does."""

    def __init__(self, tree: Tree, redactor: Redactor,
                 post: Post | None) -> None:
        self.channels = list_configured(tree)
        self._tree = tree
        self._redactor = redactor
        self._post = post

    async def send_text(self, source: str, target: str, text: str) -> str:
        """What became of it. Raises UsageError and ConfigError for a wrong
        target, RefusedError where the platform will not have it."""
        return await self._put(source, target, lambda recipient: _build(
            text, recipient, self._redactor))

    async def send_poll(self, source: str, target: str, question: str,
                        options: Sequence[str]) -> str:
        """core.turn.SendsPolls."""
        lines = [question, "", *(f"{number}. {option}" for number, option
                                 in enumerate(options, 1)),
                 "", "Answer with a number."]

        def build(recipient: str) -> SendMessage:
            said = [_build(text, recipient, self._redactor).content
                    for text in (question, *options)]
            return replace(_build("\n".join(lines), recipient,
                                  self._redactor), poll=tuple(said))
        return await self._put(source, target, build)

    async def _put(self, source: str, target: str,
                   build: Callable[[str], SendMessage]) -> str:
        channel, recipient = parse_target(self._tree, target)
        if channel == CONSOLE:
            raise UsageError(f"{CONSOLE} is no channel to send to")
        message = build(recipient)
        if self._post is not None:
            await self._post(source, channel, message)
            return f"Queued for {target}; it goes out by itself"
        sent = await send(self._tree, channel, message, _say_nothing,
                          timeout_s=WAIT_S, source=source)
        if sent.state == "waiting":
            return (f"Not out yet ({sent.error or 'no answer so far'}). It "
                    "stays queued and claw listen sends it: do not send it "
                    "again")
        require_sent(sent)
        return f"Sent to {target}"


def build_messages(tree: Tree, redactor: Redactor, post: Post | None
                   ) -> Messages | None:
    """None where no channel is set up."""
    messages = Messages(tree, redactor, post)
    return messages if messages.channels else None


def _build(text: str, recipient: str, redactor: Redactor) -> SendMessage:
    """The text without secrets and without markers, which would send files;
    after foreign text no address in it is a link, but what a search of the
    turn brought."""
    text = inert(guard(text, redactor.secrets))
    turn = current_turn.get()
    if turn is None or not turn.labels:
        return SendMessage(text, recipient)
    return SendMessage(
        make_plain(text, turn.found), recipient,
        links=tuple(sorted(url for url in turn.found if url in text)))


def _say_nothing(event: str, **fields: Any) -> None:
    """What happens to it is the tool's result."""
