"""XML dispatcher: tools described in the prompt, calls inside the text."""

import json
import re
from collections.abc import Collection, Sequence

from claw.agent.calls import ParsedToolCall, ToolExecutionResult, native_call
from claw.agent.dispatchers.base import Dispatcher
from claw.agent.history import RESULTS_MARK
from claw.agent.parsing import parse_strict, parse_tool_calls
from claw.core.provider import (
    AssistantToolCalls,
    Chat,
    ChatMessage,
    ChatResponse,
    ConversationMessage,
    ToolCall,
    prompt_guide,
)
from claw.core.tool import ToolSpec

_RESULT_TAG = re.compile(r"<(/?tool_result)", re.IGNORECASE)


class XmlDispatcher(Dispatcher):
    """Sends no specs; finds <tool_call> and its many relatives in text."""

    name = "xml"

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = frozenset(known)

    def parse_response(self, response: ChatResponse
                       ) -> tuple[str, list[ParsedToolCall]]:
        text = response.text or ""
        if response.tool_calls:
            # some servers turn the tags into native calls by themselves
            return text, list(map(native_call, response.tool_calls))
        strict = parse_strict(text)
        if strict.calls:
            return strict.text, strict.calls
        loose = parse_tool_calls(text, self._known)
        return (loose.text if loose.calls else text), loose.calls

    def format_results(self, results: Sequence[ToolExecutionResult]
                       ) -> ConversationMessage:
        return Chat(ChatMessage.user(RESULTS_MARK + "\n" + "".join(
            _block("name", r.name, r.output,
                   ' status="ok"' if r.success else ' status="error"')
            for r in results)))

    def to_provider_messages(self, history: Sequence[ConversationMessage]
                             ) -> list[ChatMessage]:
        return [message for item in history
                if (message := _plain(item)) is not None]

    def should_send_tool_specs(self) -> bool:
        return False

    def prompt_instructions(self, tools: Sequence[ToolSpec]) -> str:
        return prompt_guide(tools) if tools else ""


def _plain(item: ConversationMessage) -> ChatMessage | None:
    if isinstance(item, Chat):
        return item.message
    if isinstance(item, AssistantToolCalls):
        written = "\n".join(filter(None, [
            item.text, *map(_call_text, item.tool_calls)]))
        return ChatMessage.assistant(written) if written else None
    return ChatMessage.user("".join(
        _block("id", r.tool_call_id, r.content) for r in item.results))


def _call_text(call: ToolCall) -> str:
    """A call as the model wrote it, or would have."""
    name = json.dumps(call.name, ensure_ascii=False)
    body = f'{{"name": {name}, "arguments": {call.arguments}}}'
    return "<tool_call>\n" + body.replace("</", "<\\/") + "\n</tool_call>"


def _block(attribute: str, value: str, output: str,
           status: str = "") -> str:
    return (f'<tool_result {attribute}="{_attribute(value)}"{status}>\n'
            f"{_contained(output)}\n</tool_result>\n")


def _attribute(value: str) -> str:
    """A value that cannot leave its double quotes or its line."""
    for sign, entity in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"),
                         (">", "&gt;")):
        value = value.replace(sign, entity)
    return " ".join(value.split())


def _contained(output: str) -> str:
    """An output that cannot close its block or open another: the sign
    before `tool_result` is written &lt;, everything else stays."""
    return _RESULT_TAG.sub(r"&lt;\1", output)
