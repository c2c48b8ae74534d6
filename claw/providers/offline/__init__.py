"""The provider without a model.

It answers from what it is given: passages of piped text and of memory that
match the question, quoted with their source. It does exact things exactly
(time, arithmetic, counting) and keeps memories through the memory tools.
Everything else it declines in one sentence. It never pretends to be a model.
"""

import json
from collections.abc import Callable, Sequence
from datetime import datetime

from claw.core.provider import (
    NO_ANSWER,
    NOTHING_DONE,
    ChatMessage,
    ChatProvider,
    ChatRequest,
    ChatResponse,
    OpenAITools,
    Passage,
    ProviderCapabilities,
    TokenUsage,
    ToolCall,
    ToolsPayload,
    decode_tool_calls,
    decode_tool_result,
)
from claw.core.tool import ToolSpec
from claw.core.value import Value
from claw.providers.offline.arithmetic import NoValue, calculate
from claw.providers.offline.intents import (
    Intent,
    Language,
    memory_key,
    read_intent,
)
from claw.providers.offline.phrases import say, weekday
from claw.providers.offline.quotes import (
    bare_question,
    count_units,
    find_matches,
    given_text,
    only_asks,
    parse_memories,
    render_quotes,
)

WAYS = ("claw onboard; or set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY, "
        "GEMINI_API_KEY ...), or start Ollama")
NO_MODEL = "no model is configured"
NOTE = f"{NO_MODEL}: quoted or computed (to add one: claw onboard)"
_BEGINNING = "1970-01-01T00:00:00Z"  # everything is newer


def _local_now() -> datetime:
    return datetime.now().astimezone()


class _Done(Value):
    """The tool that was asked for in the last round, and what it said."""

    tool: str
    arguments: dict[str, object]
    said: str


class OfflineProvider(ChatProvider):
    """Answers without a model; `now` is the clock."""

    name = "offline"

    def __init__(self, now: Callable[[], datetime] = _local_now) -> None:
        self._now = now

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(native_tool_calling=True)

    def convert_tools(self, tools: Sequence[ToolSpec]) -> ToolsPayload:
        return OpenAITools(tuple({"name": t.name} for t in tools))

    async def chat(self, request: ChatRequest, model: str,
                   temperature: float) -> ChatResponse:
        return reply(request, self._now())

    async def models(self) -> list[str]:
        return ["offline"]


def reply(request: ChatRequest, now: datetime) -> ChatResponse:
    """The answer to a request at a time. Deterministic."""
    question = bare_question(request)
    intent = read_intent(question)
    done = _last_tool(request.messages)
    if done is not None:
        return _after_tool(done, intent)
    tools = {tool.name for tool in request.tools or ()}
    if intent.kind == "remember":
        return _call(tools, intent, "memory_store",
                     key=memory_key(intent.subject), content=intent.subject)
    if intent.kind == "know" and intent.subject == "*":
        return _call(tools, intent, "memory_recall", since=_BEGINNING)
    if intent.kind == "know":
        return _call(tools, intent, "memory_recall", query=intent.subject)
    if intent.kind == "forget":
        return _forget(tools, intent, request.passages)
    answer = _answer(question, intent, request.passages, now)
    return (_build_answer(answer) if answer is not None else
            _build_answer(_decline(intent, request.passages), NO_ANSWER))


def _answer(question: str, intent: Intent, passages: Sequence[Passage],
            now: datetime) -> str | None:
    """The answer, None where there is nothing to answer from."""
    language = intent.language
    try:
        value = calculate(question)
    except NoValue as error:
        return say("no_value", language, subject=error)
    if value is not None:
        return str(value)
    if intent.kind == "time":
        return _time(now, language)
    text = given_text(passages)
    if intent.kind == "count" and text is not None:
        return str(count_units(intent.subject, text))
    if intent.kind == "greeting" and text is None:
        return None
    found = find_matches(question, passages)
    return render_quotes(found) if found else None


def _decline(intent: Intent, passages: Sequence[Passage]) -> str:
    """The sentence of a chat; a command prints no answer."""
    text = given_text(passages)
    if text is not None:
        return say("no_match", intent.language,
                   lines=count_units("lines", text),
                   words=count_units("words", text))
    return say("greeting" if intent.kind == "greeting" else "no_model",
               intent.language)


def _time(now: datetime, language: Language) -> str:
    stamp = now.strftime("%Y-%m-%d %H:%M:%S")
    zone = now.strftime("%Z")
    return f"{stamp}{' ' + zone if zone else ''}, " \
           f"{weekday(now.weekday(), language)}"


def _forget(tools: set[str], intent: Intent,
            passages: Sequence[Passage]) -> ChatResponse:
    """Forget by key: the one named, or that of the statement named. For
    anything vaguer the candidates are shown and nothing is forgotten."""
    subject = intent.subject
    statement = subject[5:] if subject.lower().startswith("that ") else ""
    keys = {p.source.partition(":")[2] for p in passages
            if p.source.startswith("memory:")}
    for key in (subject, memory_key(statement or subject)):
        if key in keys:
            return _call(tools, intent, "memory_forget", key=key)
    if statement:
        return _call(tools, intent, "memory_forget",
                     key=memory_key(statement))
    if " " not in subject and subject.isascii():
        return _call(tools, intent, "memory_forget", key=subject)
    return _call(tools, intent, "memory_recall", query=subject)


def _after_tool(done: _Done, intent: Intent) -> ChatResponse:
    """The answer once the memory tool has spoken."""
    language = intent.language
    said = done.said.strip()
    low = said.lower()
    if low.startswith(("error", "denied", "tool error", "refused")) \
            or "permission denied" in low:
        return _build_answer(say("failed", language, tool=done.tool,
                                 subject=said), NOTHING_DONE)
    if done.tool == "memory_store":
        return _build_answer(say("stored", language,
                                 subject=done.arguments.get("content")))
    if done.tool == "memory_recall":
        found = parse_memories(said)
        if intent.kind == "forget" and found:
            return _build_answer(say("which", language) + "\n\n"
                                 + render_quotes(found), NOTHING_DONE)
        known = [p for p in found if not only_asks(p.text)]
        if known:
            return _build_answer(render_quotes(known))
        return _build_answer(say(
            "nothing_known", language,
            subject=done.arguments.get("query", "*")), NOTHING_DONE)
    if "no memory" in low or "not found" in low:
        return _build_answer(said, NOTHING_DONE)
    return _build_answer(say("forgotten", language,
                             subject=done.arguments.get("key")))


def _last_tool(messages: Sequence[ChatMessage]) -> _Done | None:
    """The tool result that ends the conversation, with its call."""
    if not messages or messages[-1].role != "tool":
        return None
    result = decode_tool_result(messages[-1])
    for message in reversed(messages):
        calls = decode_tool_calls(message)
        for call in calls.tool_calls if calls else ():
            if call.id == result.tool_call_id:
                arguments = json.loads(call.arguments or "{}")
                return _Done(call.name, arguments, result.content)
    return _Done("tool", {}, result.content)


def _call(tools: set[str], intent: Intent, tool: str,
          **arguments: str) -> ChatResponse:
    if tool not in tools:
        return _build_answer(say("no_tool", intent.language, subject=tool))
    text = json.dumps(arguments, ensure_ascii=False)
    call = ToolCall(f"offline_{memory_key(tool + text)[-24:]}", tool, text)
    return ChatResponse(tool_calls=(call,), usage=TokenUsage(0, 0),
                        model="offline", finish_reason="tool_calls")


def _build_answer(text: str, finish_reason: str = "stop") -> ChatResponse:
    return ChatResponse(text=text, usage=TokenUsage(0, 0), model="offline",
                        finish_reason=finish_reason)
