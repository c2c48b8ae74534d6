"""One running turn: recall, ask, run the calls, ask again, keep the answer."""

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from claw.agent.conversation import Conversation
from claw.agent.history import (
    CUT_OFF,
    INTERRUPTED,
    collect_labels,
    mark_answer,
)
from claw.agent.history.compact import shrink
from claw.agent.memory import recall
from claw.agent.memory.recall import Recalled
from claw.agent.model.call import LiveText, call_model
from claw.agent.model.classify import effective_model
from claw.agent.model.refusals import is_overflow
from claw.agent.model.thinking import Thinking, read_directive
from claw.agent.rendering.signs import has_call_sign
from claw.agent.rounds.calls import ParsedToolCall, is_broken
from claw.agent.rounds.cancel import check, race
from claw.agent.rounds.events import (
    CallRefused,
    Guarded,
    Notice,
    OnEvent,
    RoundDiscarded,
    RoundStarted,
    TextDelta,
)
from claw.agent.rounds.execute import Executor
from claw.agent.rounds.outcome import (
    CORRECTION,
    MalformedCallError,
    TurnOptions,
    TurnResult,
    total,
)
from claw.agent.rounds.rounds import LoopWatch, Rounds
from claw.agent.rounds.tool_filter import select_tools
from claw.core.errors import (
    ClawError,
    DeniedError,
    IterationLimitError,
    UsageError,
)
from claw.core.hooks import Cancel
from claw.core.images import MARK
from claw.core.labels import label_source
from claw.core.provider import (
    NO_ANSWER,
    NOTHING_DONE,
    Chat,
    ChatMessage,
    ChatRequest,
    ChatResponse,
    TokenUsage,
)
from claw.core.tool import FindsTools, Tool
from claw.core.turn import TurnContext
from claw.core.value import replace as changed
from claw.text.think import strip_think

if TYPE_CHECKING:
    from claw.agent.hooks.runner import HookRunner
    from claw.agent.turn import Agent

T = TypeVar("T")
# A response, its text, its calls, and what of it was shown.
_Asked: TypeAlias = tuple[
    ChatResponse, str, list[ParsedToolCall], LiveText]

# Calls of one answer that are run; a model gone wild writes thousands.
MAX_CALLS = 64


class Turn:
    """One running turn."""

    def __init__(self, agent: "Agent", message: str,
                 conversation: Conversation, context: TurnContext,
                 options: TurnOptions, on_event: OnEvent) -> None:
        self._agent = agent
        self._conversation = conversation
        self._context = context
        self._options = options
        self._on_event = on_event
        self._thinking: Thinking = read_directive(
            message if options.directives else "",
            agent.settings.thinking.default_level)
        self._message = self._thinking.message if options.directives \
            else message
        self._question = (self._message if options.question is None
                          else read_directive(options.question, "").message)
        self._tools = select_tools(
            agent.tools, agent.settings.tool_filter_groups, self._question)
        self._specs = [tool.spec() for tool in self._tools]
        self._dispatcher = agent.select_dispatcher(self._specs)
        self._recalled = Recalled()
        self._usage: list[TokenUsage] = []
        self._iterations = 0
        self._model = self._switched = ""
        context.models = self
        self._compacted = False
        self._correction: list[ChatMessage] = []
        executor = Executor(
            self._find_tool, context,
            gate=agent.gate, scrub=agent.scrub, on_event=on_event,
            parallel=agent.settings.parallel_tools,
            may_repeat=agent.settings.tool_call_dedup_exempt,
            clock=agent.clock, journal=options.journal, hooks=agent.hooks,
            guard=agent.guard)
        self._rounds = Rounds(
            executor, LoopWatch(agent.pacing, agent.clock), self._dispatcher,
            conversation, agent.settings.max_history_messages)

    def _find_tool(self, name: str) -> Tool | None:
        """By exact name. One that waits to be found (tool_search) may be
        called as well: an earlier turn of the conversation found it, or
        one that this turn takes up."""
        for tool in self._tools:
            if tool.name == name:
                return tool
        for tool in self._tools:
            if isinstance(tool, FindsTools) \
                    and (found := tool.find_tool(name)) is not None:
                self._context.tools.append(found)
                self._offer_found()
                return found
        return None

    def _offer_found(self) -> None:
        """What was found stands in the requests from now on."""
        known = {tool.name for tool in self._tools}
        new = {tool.name: tool for tool in self._context.tools
               if tool.name not in known}
        if new:
            self._tools += new.values()
            self._specs = [tool.spec() for tool in self._tools]
            self._dispatcher = self._agent.select_dispatcher(self._specs)
            self._rounds.dispatcher = self._dispatcher

    def switch_model(self, name: str) -> None:
        if name not in self._agent.hints:
            known = ", ".join(self._agent.hints) or "none"
            raise UsageError(f"no such model: {name[:100]}; there are: "
                             f"{known}", hint="add it to [[model_routes]]")
        self._switched = f"hint:{name}"

    def current_model(self) -> str:
        return self._switched or self._model

    def list_models(self) -> list[str]:
        return list(self._agent.hints)

    async def run(self) -> TurnResult:
        """The answer; once, since a turn that has ended lets go of what
        knows it: else all of it waits for the garbage collector."""
        try:
            return await self._run()
        finally:
            self._context.models = None
            del self._rounds

    async def _run(self) -> TurnResult:
        agent, conversation = self._agent, self._conversation
        check(self._context.cancel)
        if not conversation.has_system:
            conversation.begin(agent.system_prompt(self._tools))
        await self._recall()
        labels, kept = self._context.labels, conversation.labels
        labels |= self._recalled.labels
        for passage in self._options.passages:
            labels.update(label_source(passage.source))
        message = self._warn() + self._message
        conversation.push(Chat(ChatMessage.user(
            recall.enrich(self._recalled.block, agent.now(), message)
            if self._options.stamp
            else self._recalled.block + message)), labels)
        labels |= kept
        hinted = effective_model(
            agent.classification, agent.settings.auto_classify, agent.hints,
            self._question, "") if not self._options.model else ""
        limit = agent.settings.iterations
        for earlier in self._options.resumed:
            await self._rounds.resume(earlier)
        self._iterations = len(self._options.resumed)
        while self._iterations < limit:
            self._iterations += 1
            check(self._context.cancel)
            model = self._model = (
                self._switched or self._options.model or hinted
                or conversation.model or agent.model)
            response, text, calls, shown = await self._ask_well(model)
            if not calls:
                return await self._finish(response, text, shown, model)
            self._on_event(RoundDiscarded(text))
            await self._run_calls(text, calls, response)
        raise IterationLimitError(limit)

    async def _run_calls(self, text: str, calls: list[ParsedToolCall],
                         response: ChatResponse) -> None:
        """The calls of a round, and what became of them."""
        refused = self._context.refused
        known = len(refused)
        try:
            await self._rounds.run(text, calls, response)
        finally:
            for refusal in refused[known:]:
                self._on_event(CallRefused(refusal))
        self._offer_found()

    def _warn(self) -> str:
        """What stands before the message where piped text or a file speaks
        to the model. Raises DeniedError for one that is to be left out: it
        is what was asked about."""
        warnings = []
        for passage in self._options.passages:
            if self._agent.guard is None or not label_source(passage.source):
                continue
            shown, verdict = self._agent.guard().treat(passage.text,
                                                       passage.source)
            if verdict is None:
                continue
            self._on_event(found := Guarded.of(passage.source, verdict))
            if verdict.blocked:
                raise DeniedError(
                    found.text, hint="security.prompt_guard.action decides")
            warnings.append(shown.removesuffix(passage.text))
        return "".join(warnings)

    async def _recall(self) -> None:
        """Errors count as nothing found, and are said."""
        memory = self._agent.memory
        if memory is None:
            return
        try:
            self._recalled = await recall.recall(
                memory, self._question, self._context.session_id,
                others=self._context.sessions,
                min_score=self._agent.min_relevance)
            self._recalled = recall.guard_recalled(
                self._recalled, self._agent.guard, self._on_event)
        except ClawError as error:
            self._on_event(Notice(f"memory not read: {error.message}"))

    async def _ask_well(self, model: str) -> _Asked:
        """One model call and what it holds. One that opens a tool call
        which can't be read is asked again once, then it is an error."""
        asked = await self._ask(model)
        problem = self._find_problem(asked)
        if problem:
            self._on_event(RoundDiscarded(asked[1]))
            self._on_event(Notice(f"{problem}; the model is asked again"))
            self._correction = [ChatMessage.user(
                CORRECTION.format(problem=problem))]
            if asked[1]:
                self._correction.insert(0, ChatMessage.assistant(asked[1]))
            asked = await self._ask(model)
            self._correction = []
            if problem := self._find_problem(asked):
                raise MalformedCallError(problem)
        return asked

    def _find_problem(self, asked: _Asked) -> str:
        """Why this is neither an answer nor a call; "" where it is."""
        response, text, calls, _ = asked
        broken = next(filter(is_broken, response.tool_calls), None)
        if self._tools and broken is not None:
            return (f"the arguments of the call of {broken.name} are no JSON "
                    "object")
        if calls:
            return ""
        if not self._tools:
            called = ", ".join(call.name for call in response.tool_calls)
            return "" if text.strip() or not called else (
                f"the model called {called}, and no tool was offered")
        if not has_call_sign(text) \
                and text.lstrip()[:1] not in ("{", "["):
            return ""
        from claw.agent.parsing import parse_tool_calls
        problem = parse_tool_calls(text, [
            tool.name for tool in self._tools]).problem
        if problem and response.finish_reason == "length":
            raise MalformedCallError(
                "the answer was cut off in the middle of a tool call",
                hint="allow more tokens")
        return problem

    async def _ask(self, model: str) -> _Asked:
        """One model call and what it holds. What was said before it failed
        or was stopped stays in the conversation."""
        self._on_event(RoundStarted(self._iterations, model))
        shown = LiveText(
            lambda text: self._on_event(TextDelta(text)),
            live=self._options.live_text or not self._tools,
            guarded=bool(self._tools), take_back=(
                lambda text: self._on_event(RoundDiscarded(text)))
            if self._options.live_text else None)
        try:
            try:
                response = await self._call(model, shown)
            except ClawError as error:
                if shown.any or not self._shrink(error):
                    raise
                response = await self._call(model, shown)
        except (Exception, asyncio.CancelledError):
            if shown.said.strip():
                self._keep(mark_answer(shown.said, INTERRUPTED))
            raise
        if response.usage is not None:
            self._usage.append(response.usage)
        text, calls = self._dispatcher.parse_response(response)
        if len(calls) > MAX_CALLS:
            self._on_event(Notice(
                f"the answer holds {len(calls)} tool calls; the first "
                f"{MAX_CALLS} are run"))
        return response, strip_think(text), calls[:MAX_CALLS], shown

    async def _call(self, model: str, shown: LiveText) -> ChatResponse:
        """One model call, with the hooks around it."""
        agent, options = self._agent, self._options
        request = self._build_request()
        if agent.hooks is not None:
            request, model = await self._stoppable(
                _ask_hooks(agent.hooks, request, model))
            # A hook may bring in text of elsewhere, and say so.
            self._context.labels |= collect_labels(request.messages)
        provider = agent.provider
        if agent.images is not None and any(
                MARK in message.content for message in request.messages):
            request, provider, model = await self._stoppable(
                agent.images().show(request, provider, model,
                                     self._context, self._on_event))
        response = await call_model(
            provider, request, model, self._thinking.temperature(
                agent.temperature if options.temperature is None
                else options.temperature), shown=shown,
            stream=options.stream and provider.supports_streaming(),
            cancel=self._context.cancel,
            timeout_s=agent.pacing.step_timeout_secs)
        if agent.hooks is not None:
            await self._stoppable(agent.hooks.on_llm_output(response))
        return response

    def _shrink(self, error: ClawError) -> bool:
        """Whether the conversation was too long and is shorter now, once
        in a turn. Channels look after their own."""
        messages = self._conversation.messages
        if (self._compacted or self._context.origin == "channel"
                or not is_overflow(error)):
            return False
        self._compacted = True
        short = shrink(messages)
        if short == messages:
            return False
        messages[:] = short
        self._on_event(Notice(
            "the conversation is too long for this model: earlier messages "
            "are cut short and it is asked again"))
        return True

    async def _stoppable(self, work: Coroutine[Any, Any, T]) -> T:
        return await race(work, self._context.cancel)

    def _build_request(self) -> ChatRequest:
        messages = self._dispatcher.to_provider_messages(
            self._conversation.messages) + self._correction
        if prefix := self._thinking.prefix:
            # In front of the system prompt, for this turn alone.
            if messages and messages[0].role == "system":
                prefix += f"\n\n{messages.pop(0).content}"
            messages.insert(0, ChatMessage.system(prefix))
        send = self._tools and self._dispatcher.should_send_tool_specs()
        return ChatRequest(
            messages,
            tools=list(self._specs) if send else None,
            passages=[*self._recalled.passages, *self._options.passages],
            max_tokens=self._options.max_tokens,
            response_schema=self._options.response_schema,
            options=self._options.options)

    async def _finish(self, response: ChatResponse, text: str,
                      shown: LiveText, model: str) -> TurnResult:
        shown.release(text)
        if text:
            self._keep(mark_answer(text, CUT_OFF)
                       if response.finish_reason == "length" else text)
        self._conversation.trim(self._agent.settings.max_history_messages)
        await self._autosave(
            "" if response.finish_reason in (NO_ANSWER, NOTHING_DONE)
            else text)
        return TurnResult(
            text, self._context.turn_id, response.model or model,
            total(self._usage), tuple(self._rounds.records),
            self._recalled.entries, self._iterations,
            response.finish_reason, response.provider,
            tuple(self._context.refused), self._is_unsupported(text))

    def _is_unsupported(self, text: str) -> bool:
        """Whether the answer claims to have done what no call of the turn
        did. A refusal is told of anyway."""
        agent = self._agent
        if not (agent.settings.receipts and self._tools and text):
            return False
        from claw.agent.receipt import Call, is_unsupported
        return is_unsupported(
            text, [*(Call(record.name,
                          str(record.arguments.get("command", "")))
                     for record in self._rounds.records if record.success),
                   *(Call(refusal.tool, refusal.call)
                     for refusal in self._context.refused)],
            {tool.name for tool in self._tools
             if getattr(tool, "reads", False) is True},
            keeps_all=agent.auto_save)

    def _keep(self, answer: str) -> None:
        self._conversation.push(Chat(ChatMessage.assistant(answer)),
                                self._context.labels)

    async def _autosave(self, text: str) -> None:
        """Keep the message and this of the answer."""
        agent = self._agent
        if (agent.memory is None or not agent.auto_save
                or self._context.origin not in agent.autosave_origins):
            return
        try:
            await recall.autosave(agent.memory, self._question, text,
                                  self._context)
        except ClawError as error:
            self._on_event(Notice(f"turn not kept in memory: "
                                  f"{error.message}"))


async def _ask_hooks(hooks: "HookRunner", request: ChatRequest, model: str
                     ) -> tuple[ChatRequest, str]:
    """The call as hooks leave it. Raises DeniedError where one says no."""
    asked = await hooks.before_llm_call(request.messages, model)
    if isinstance(asked, Cancel):
        raise DeniedError(f"a hook stopped the model call: {asked.reason}",
                          hint="see [hooks] in config.toml")
    messages, model = asked
    await hooks.on_llm_input(messages, model)
    return changed(request, messages=messages), model
