"""Hooks: foreign code that sees, changes or stops what passes through.

A modifying method returns the value, changed or not, or Cancel(reason); a
void one returns nothing. A subclass overrides what it is interested in:

    class NoShell(Hooks):
        priority = 10

        async def before_tool_call(self, name, args):
            return Cancel("not today") if name == "shell" else (name, args)
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from claw.core.value import Value

if TYPE_CHECKING:  # turns without hooks need no channels: 3 ms
    from claw.core.channel import ChannelMessage, SendMessage
    from claw.core.provider import ChatMessage, ChatResponse
    from claw.core.tool import ToolResult


class Cancel(Value):
    """A hook's no: what passed through goes no further."""

    reason: str


ModelChoice: TypeAlias = tuple[str, str]
LlmCall: TypeAlias = "tuple[Sequence[ChatMessage], str]"
NamedCall: TypeAlias = tuple[str, Mapping[str, Any]]
Reply: TypeAlias = tuple[str, str, str]


class Hooks:
    """Every place where a hook may stand; none of them does anything.

    Hooks with a higher `priority` come first.
    """

    priority: int = 0

    async def before_model_resolve(self, provider: str, model: str
                                   ) -> ModelChoice | Cancel:
        return provider, model

    async def before_prompt_build(self, prompt: str) -> str | Cancel:
        return prompt

    async def before_llm_call(self, messages: "Sequence[ChatMessage]",
                              model: str) -> "LlmCall | Cancel":
        return messages, model

    async def before_tool_call(self, name: str, args: Mapping[str, Any]
                               ) -> NamedCall | Cancel:
        """Before the gate, which sees what comes out. A Cancel is the
        result that the model reads."""
        return name, args

    async def on_message_received(self, message: "ChannelMessage"
                                  ) -> "ChannelMessage | Cancel":
        return message

    async def on_message_sending(self, channel: str, recipient: str,
                                 content: str) -> Reply | Cancel:
        """Only the content may change."""
        return channel, recipient, content

    async def on_gateway_start(self, host: str, port: int) -> None:
        return None

    async def on_gateway_stop(self) -> None:
        return None

    async def on_session_start(self, session: str, channel: str) -> None:
        return None

    async def on_session_end(self, session: str, channel: str) -> None:
        return None

    async def on_llm_input(self, messages: "Sequence[ChatMessage]",
                           model: str) -> None:
        return None

    async def on_llm_output(self, response: "ChatResponse") -> None:
        return None

    async def on_after_tool_call(self, tool: str, result: "ToolResult",
                                 duration_s: float,
                                 args: Mapping[str, Any]) -> None:
        """After a tool ran; `result` is what the model reads."""

    async def on_message_sent(self, channel: str,
                              message: "SendMessage") -> None:
        """Once for each message, after the platform has confirmed all of
        it."""

    async def on_heartbeat_tick(self) -> None:
        return None
