"""XML dispatcher: tools described in the prompt, calls inside the text."""

from collections.abc import Sequence

from claw.agent.dispatchers.plain import PlainDispatcher
from claw.agent.parsing import parse_strict, parse_tool_calls
from claw.agent.rounds.calls import ParsedToolCall, native_call
from claw.core.provider import ChatResponse, prompt_guide
from claw.core.tool import ToolSpec


class XmlDispatcher(PlainDispatcher):
    """Sends no specs; finds <tool_call> and its many relatives in text."""

    name = "xml"

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

    def prompt_instructions(self, tools: Sequence[ToolSpec]) -> str:
        return prompt_guide(tools) if tools else ""
