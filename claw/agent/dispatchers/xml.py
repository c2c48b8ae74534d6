"""XML dispatcher: tools described in the prompt, calls inside the text."""

from collections.abc import Sequence

from claw.agent.dispatchers.plain import PlainDispatcher
from claw.agent.parsing import read_response
from claw.agent.rounds.calls import ParsedToolCall
from claw.core.provider import ChatResponse, prompt_guide
from claw.core.tool import ToolSpec


class XmlDispatcher(PlainDispatcher):
    """Sends no specs; finds <tool_call> and its many relatives in text."""

    name = "xml"

    def parse_response(self, response: ChatResponse
                       ) -> tuple[str, list[ParsedToolCall]]:
        # some servers turn the tags into native calls by themselves
        return read_response(response, self._known)

    def prompt_instructions(self, tools: Sequence[ToolSpec]) -> str:
        return prompt_guide(tools) if tools else ""
