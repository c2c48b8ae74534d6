"""Dispatcher: how tool calls travel between the agent and a model."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from claw.agent.rounds.calls import ParsedToolCall, ToolExecutionResult
from claw.core.provider import ChatMessage, ChatResponse, ConversationMessage
from claw.core.tool import ToolSpec


class Dispatcher(ABC):
    """The five things that differ between native and prompt-guided calls.

    All are plain functions of their arguments; a dispatcher keeps nothing
    of a turn.
    """

    name: str

    @abstractmethod
    def parse_response(self, response: ChatResponse
                       ) -> tuple[str, list[ParsedToolCall]]:
        """The text around the calls, and the calls."""

    @abstractmethod
    def format_results(self, results: Sequence[ToolExecutionResult]
                       ) -> ConversationMessage:
        """The results as one message of the history, in call order."""

    @abstractmethod
    def to_provider_messages(self, history: Sequence[ConversationMessage]
                             ) -> list[ChatMessage]:
        """The history as a provider takes it."""

    @abstractmethod
    def should_send_tool_specs(self) -> bool:
        """Whether the request carries the tools."""

    @abstractmethod
    def prompt_instructions(self, tools: Sequence[ToolSpec]) -> str:
        """What the system prompt says about calling tools; may be empty."""
