"""Native dispatcher: calls travel in the provider's own fields."""

from collections.abc import Collection, Sequence

from claw.agent.dispatchers.base import Dispatcher
from claw.agent.parsing import read_response
from claw.agent.rounds.calls import ParsedToolCall, ToolExecutionResult
from claw.core.provider import (
    AssistantToolCalls,
    Chat,
    ChatMessage,
    ChatResponse,
    ConversationMessage,
    ToolResultMessage,
    ToolResults,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec


class NativeDispatcher(Dispatcher):
    """Sends tool specs; reads calls from `ChatResponse.tool_calls`.

    A provider that had to fall back to prompt-guided tools, and models
    that write a call as text, are understood too: the text is searched
    when there are no native calls and tools are on offer.
    """

    name = "native"

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = known

    def parse_response(self, response: ChatResponse
                       ) -> tuple[str, list[ParsedToolCall]]:
        return read_response(response, self._known)

    def format_results(self, results: Sequence[ToolExecutionResult]
                       ) -> ConversationMessage:
        return ToolResults(tuple(
            ToolResultMessage(r.tool_call_id or "unknown", r.output)
            for r in results))

    def to_provider_messages(self, history: Sequence[ConversationMessage]
                             ) -> list[ChatMessage]:
        messages: list[ChatMessage] = []
        for index, item in enumerate(history):
            if isinstance(item, Chat):
                messages.append(item.message)
            elif isinstance(item, ToolResults):
                messages.extend(map(encode_tool_result, item.results))
            else:
                following = history[index + 1:index + 2]
                messages.extend(_write_calls(item, following))
        return messages

    def should_send_tool_specs(self) -> bool:
        return True

    def prompt_instructions(self, tools: Sequence[ToolSpec]) -> str:
        return ""


def _write_calls(item: AssistantToolCalls,
                 following: Sequence[ConversationMessage]
                 ) -> list[ChatMessage]:
    """The message with the calls.

    Calls that were answered in prompt-guided form (the conversation began
    with another provider) go out as plain text: a provider refuses calls
    that no tool message answers.
    """
    if following and isinstance(following[0], ToolResults):
        return [encode_tool_calls(item)]
    return [ChatMessage.assistant(item.text)] if item.text else []
