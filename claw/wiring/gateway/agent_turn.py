"""`claw` as a model: a turn of the agent for a client of the API.

The client holds the conversation and sends it whole with each call. What
its key's person may see and do is all that the turn can: the owner's keys
and a sender's have that one's memories and the tools that channels have, a
key of nobody has neither. What would need somebody's yes is refused, and
the answer says so.
"""

import asyncio
import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import partial, reduce

import msgspec

from claw.agent.conversation import Conversation
from claw.agent.narrowed import find_limit_usd, narrow_agent
from claw.agent.prompt import hide_owner
from claw.agent.rounds.events import (
    Event,
    RoundDiscarded,
    TextDelta,
    ToolFinished,
)
from claw.agent.rounds.outcome import TurnOptions, TurnResult
from claw.agent.turn import Agent
from claw.core.errors import ConfigError, RateLimitedError
from claw.core.labels import UNKNOWN, sort_labels
from claw.core.log import Log
from claw.core.provider import (
    NO_ANSWER,
    Chat,
    ChatMessage,
    ChatResponse,
)
from claw.core.turn import TurnContext
from claw.core.value import Value, replace
from claw.gateway.endpoint import Key
from claw.gateway.keys import OWNER
from claw.gateway.openai.call import ModelCall
from claw.gateway.openai.errors import BadRequest
from claw.gateway.openai.options import build_chat_request
from claw.gateway.openai.stream import Pipe
from claw.providers.factory import OFFLINE
from claw.providers.offline import NO_MODEL, WAYS
from claw.runtime.people.identities import People
from claw.security.narrower import combine
from claw.security.settings import NarrowerSettings
from claw.storage.log.entry import Start
from claw.wiring.channels.names import list_configured
from claw.wiring.channels.people import open_people
from claw.wiring.compose import Parts
from claw.wiring.gateway.opened import Opened
from claw.wiring.gateway.target import Place, find_target
from claw.wiring.workspace.log import TurnRecord

# At the same time, of all keys and of one; who comes then is told to wait.
MOST_TURNS = 64
MOST_OF_ONE = 32
_REMEMBERED = 2_000


class AgentTurns:
    """The turns of all clients. It remembers of its own answers what they
    were made from: an answer that a client sends back, and that it was not
    given, is foreign text. `note_turn` hears of each that was answered."""

    def __init__(self, log: Log, note_turn: Callable[[], None]) -> None:
        self._log = log
        self._note_turn = note_turn
        self._running: Counter[str | None] = Counter()
        self._labels: OrderedDict[bytes, tuple[str, ...]] = OrderedDict()

    async def run(self, opened: Opened, turn_id: str, call: ModelCall,
                  key: Key | None, pipe: Pipe) -> ChatResponse:
        """One turn; its text goes through the pipe. Raises BadRequest, and
        what Agent.turn raises."""
        said = split_messages(call)
        owner = key.id if key else None
        if self._running.total() >= MOST_TURNS \
                or self._running[owner] >= MOST_OF_ONE:
            raise RateLimitedError(
                f"{self._running[owner]} turns of this key are under way",
                retry_after_s=2.0)
        self._running[owner] += 1
        try:
            parts = await opened.open_agent()
            context = build_context(turn_id, key, open_people(opened.tree))
            context.day_limit_usd = opened.day_limit_usd
            if key and key.sees not in (OWNER, None):
                context.policy = _find_policy(parts, opened)
            agent = _narrow(parts, context, said.system,
                            is_nobodys=key is None or key.sees is None)
            return await self._run(opened, parts, agent, call, context,
                                   pipe, said)
        finally:
            self._running -= Counter([owner])

    async def _run(self, opened: Opened, parts: Parts, agent: Agent,
                   call: ModelCall, context: TurnContext, pipe: Pipe,
                   said: "Said") -> ChatResponse:
        request = build_chat_request(call, find_target(
            parts.agent.provider, Place(parts.providers.vendor(
                parts.choice.provider_name), parts.agent.model)))
        # What claw says without a model may turn out to be an error.
        live = call.stream and parts.choice.provider_name != OFFLINE
        shown = _Shown(pipe, live, partial(
            self._log, "tool", turn=context.turn_id))
        record = TurnRecord(opened.log, Start(
            context.turn_id, "gateway", said.question,
            session=context.channel, sender=context.sender,
            provider=parts.choice.shown, model=parts.agent.model,
            system=said.system or None), lambda text: self._log(
                "log.unwritten", error=text),
            parts.ledger.turn_cost, parts.choice.shown)
        conversation = Conversation(on_push=record.said.append)
        conversation.seed(self._label(context, one) for one in said.earlier)
        record.refused = context.refused
        record.begin()
        try:
            result = await agent.turn(
                said.question, conversation=conversation, context=context,
                on_event=shown.hear, options=TurnOptions(
                    max_tokens=call.max_tokens,
                    response_schema=request.response_schema,
                    options=request.options, temperature=call.temperature,
                    stream=live, live_text=live,
                    directives=False))
            answer = self._finish(parts, result, shown, context)
        except (Exception, asyncio.CancelledError) as error:
            record.end(None, error)
            self._log("turn", turn=context.turn_id, outcome="failed",
                      reason=getattr(error, "kind", "cancelled"),
                      id=context.channel)
            raise
        record.end(result)
        self._log("turn", turn=context.turn_id, outcome="answered",
                  id=context.channel)
        self._note_turn()
        return answer

    def _finish(self, parts: Parts, result: TurnResult, shown: "_Shown",
                context: TurnContext) -> ChatResponse:
        """The answer, with what claw itself says under it. Raises
        ConfigError where no model is configured and nothing is known."""
        if parts.choice.provider_name == OFFLINE \
                and result.finish_reason == NO_ANSWER:
            raise ConfigError(NO_MODEL, hint=f"to add a model: {WAYS}")
        if not shown.live:
            shown.put(result.text)
        if result.remarks:
            shown.put("\n\n" + "\n".join(result.remarks))
        text = shown.text
        self._labels[_hash(context, text)] = sort_labels(context.labels)
        while len(self._labels) > _REMEMBERED:
            self._labels.popitem(last=False)
        return ChatResponse(text, usage=result.usage,
                            finish_reason=result.finish_reason)

    def _label(self, context: TurnContext, message: ChatMessage) -> Chat:
        """An earlier message with the origins of what is in it."""
        if message.role != "assistant":
            return Chat(message)
        return Chat(replace(message, labels=self._labels.get(
            _hash(context, message.content), (UNKNOWN,))))


class Said(Value):
    """What a client sends: what its system messages say, the conversation
    before, and what is asked now."""

    system: str
    earlier: tuple[ChatMessage, ...]
    question: str


def split_messages(call: ModelCall) -> Said:
    """The messages of a call. Raises BadRequest for what the agent can't
    be asked."""
    if call.tools.specs or call.has_tool_messages:
        raise BadRequest(
            "claw calls its own tools, and none of a client's; for these "
            "name a model: PROVIDER/MODEL", "tools",
            "unsupported_parameter")
    rest = [one for one in call.messages if one.role != "system"]
    if rest[-1].role != "user":
        raise BadRequest("the last message must be the user's", "messages")
    return Said("\n\n".join(one.content for one in call.messages
                            if one.role == "system"),
                tuple(rest[:-1]), rest[-1].content)


def build_context(turn_id: str, key: Key | None, people: People
                  ) -> TurnContext:
    """Whose turn it is: the owner's, a person's, or nobody's."""
    sees = key.sees if key else None
    name = key.name if key else "local"
    context = TurnContext(
        "gateway", turn_id, session_id=None if sees == OWNER
        else sees or f"gateway:{name}", channel=f"gateway:{name}",
        sender=name if sees in (OWNER, None) else sees)
    context.message = f"{context.channel}:{turn_id}"
    person = people.find_by_name(sees) \
        if sees not in (OWNER, None) else None
    if person is not None:
        context.person = person
        context.sessions = tuple(people.list_private(person))
    return context


def _find_policy(parts: Parts, opened: Opened) -> NarrowerSettings | None:
    """What a person has in no channel: a key does not say in which of them
    its person writes, so what any takes away is taken."""
    if parts.policy is None or not parts.policy.base.channels:
        return None
    found = reduce(combine, (
        parts.policy.base.channels.get(name)
        for name in list_configured(opened.tree)), None)
    return found and msgspec.structs.replace(found, auto_approve=())


def _narrow(parts: Parts, context: TurnContext, system: str, *,
            is_nobodys: bool) -> Agent:
    """The agent as this key's person has it."""
    agent, channel = parts.agent, context.channel or ""
    if parts.policy is not None:
        context.limit_usd = find_limit_usd(parts.policy, channel,
                                           context.policy)
        agent = narrow_agent(agent, parts.policy, channel, context.policy)
    if is_nobodys:
        agent = replace(agent, tools=(), memory=None,
                        prompt=agent.prompt and hide_owner(agent.prompt))
    if system and agent.prompt is not None:
        agent = replace(agent, prompt=msgspec.structs.replace(
            agent.prompt, custom="\n\n".join(filter(None, (
                agent.prompt.custom, system)))))
    return agent


class _Shown:
    """What the client sees of the answer; unless `live`: nothing before its
    end."""

    def __init__(self, pipe: Pipe, live: bool, note_tool: Callable[..., None]
                 ) -> None:
        self.live = live
        self._pipe = pipe
        self._note_tool = note_tool
        self._pieces: list[str] = []
        self._apart = False

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def put(self, text: str) -> None:
        if self._apart and text:
            text = "\n\n" + text.lstrip()
            self._apart = False
        self._pieces.append(text)
        self._pipe.put(text)

    def hear(self, event: Event) -> None:
        """Text as it comes. What was said before a call of a tool can't be
        taken back: it stands apart."""
        if isinstance(event, ToolFinished):
            self._note_tool(tool=event.name, ok=event.success,
                            seconds=round(event.seconds, 2))
        elif not self.live:
            return  # the whole answer comes at the end
        elif isinstance(event, TextDelta):
            self.put(event.text)
        elif isinstance(event, RoundDiscarded):
            self._apart = bool(self._pieces)


def _hash(context: TurnContext, text: str) -> bytes:
    """An answer as it was given to one key."""
    return hashlib.sha256(f"{context.channel}\0{text.strip()}".encode(
        "utf-8", "replace")).digest()
