"""Plain dispatcher: a turn without tools.

Calls and results of earlier turns go out as text, so that every provider
takes them. It reads no calls and so does not load the parser, which costs
about 5 ms.
"""

import json
import re
from collections.abc import Collection, Sequence

from claw.agent.dispatchers.base import Dispatcher
from claw.agent.history import RESULTS_MARK
from claw.agent.rounds.calls import ParsedToolCall, ToolExecutionResult
from claw.core.provider import (
    AssistantToolCalls,
    Chat,
    ChatMessage,
    ChatResponse,
    ConversationMessage,
    ToolCall,
)
from claw.core.tool import ToolSpec

_RESULT_TAG = r"(?i)<(/?tool_result)"


class PlainDispatcher(Dispatcher):
    """Sends no specs and finds no calls."""

    name = "plain"

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = known

    def parse_response(self, response: ChatResponse
                       ) -> tuple[str, list[ParsedToolCall]]:
        return response.text or "", []

    def format_results(self, results: Sequence[ToolExecutionResult]
                       ) -> ConversationMessage:
        return Chat(ChatMessage.user(RESULTS_MARK + "\n" + "".join(
            _write_block("name", r.name, r.output,
                   ' status="ok"' if r.success else ' status="error"')
            for r in results)))

    def to_provider_messages(self, history: Sequence[ConversationMessage]
                             ) -> list[ChatMessage]:
        return [message for item in history
                if (message := _write_plain(item)) is not None]

    def should_send_tool_specs(self) -> bool:
        return False

    def prompt_instructions(self, tools: Sequence[ToolSpec]) -> str:
        return ""


def _write_plain(item: ConversationMessage) -> ChatMessage | None:
    if isinstance(item, Chat):
        return item.message
    if isinstance(item, AssistantToolCalls):
        written = "\n".join(filter(None, [
            item.text, *map(_write_call, item.tool_calls)]))
        return ChatMessage.assistant(written) if written else None
    return ChatMessage.user("".join(
        _write_block("id", r.tool_call_id, r.content) for r in item.results))


def _write_call(call: ToolCall) -> str:
    """A call as the model wrote it, or would have."""
    name = json.dumps(call.name, ensure_ascii=False)
    body = f'{{"name": {name}, "arguments": {call.arguments}}}'
    return "<tool_call>\n" + body.replace("</", "<\\/") + "\n</tool_call>"


def _write_block(attribute: str, value: str, output: str,
                 status: str = "") -> str:
    # An output can not close its block or open another.
    return (f'<tool_result {attribute}="{_escape(value)}"{status}>\n'
            + re.sub(_RESULT_TAG, r"&lt;\1", output) + "\n</tool_result>\n")


def _escape(value: str) -> str:
    """A value that cannot leave its double quotes or its line."""
    for sign, entity in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"),
                         (">", "&gt;")):
        value = value.replace(sign, entity)
    return " ".join(value.split())
