"""Runs the hooks: in order of priority, none able to break it.

Modifying hooks run one after the other, each with what the one before gave;
the first Cancel ends it. Void hooks run side by side and are waited for. A
hook that fails, or returns what can't be used, is logged and counts as one
that changed nothing.
"""

import asyncio
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import isawaitable
from typing import Any, TypeVar

from claw.agent.rendering.cut import shorten
from claw.core.channel import ChannelMessage, SendMessage
from claw.core.errors import ClawError
from claw.core.hooks import (
    Cancel,
    Hooks,
    LlmCall,
    ModelChoice,
    NamedCall,
    Reply,
)
from claw.core.log import Log, silent
from claw.core.provider import ChatMessage, ChatResponse
from claw.core.tool import ToolResult
from claw.core.value import replace
from claw.security.redact.redaction import scrub

T = TypeVar("T")

SENT_CHARS = 20_000
_ERROR_CHARS = 200


class HookRunner:
    """All hooks, in order; `log(event, **fields)` writes one line."""

    def __init__(self, hooks: Iterable[Hooks] = (), log: Log = silent
                 ) -> None:
        self.hooks = sorted(hooks, key=lambda hook: -hook.priority)
        self._log = log

    # -- modifying

    async def before_model_resolve(self, provider: str, model: str
                                   ) -> ModelChoice | Cancel:
        return await self._modify("before_model_resolve", (provider, model),
                                  lambda value: _are_words(value, 2))

    async def before_prompt_build(self, prompt: str) -> str | Cancel:
        return await self._modify("before_prompt_build", prompt,
                                  lambda value: isinstance(value, str))

    async def before_llm_call(self, messages: Sequence[ChatMessage],
                              model: str) -> "LlmCall | Cancel":
        return await self._modify("before_llm_call", (list(messages), model),
                                  _is_llm_call)

    async def before_tool_call(self, name: str, args: Mapping[str, Any]
                               ) -> NamedCall | Cancel:
        return await self._modify("before_tool_call", (name, args),
                                  _is_named_call)

    async def on_message_received(self, message: ChannelMessage
                                  ) -> ChannelMessage | Cancel:
        """A hook may add labels and takes none away."""
        return await self._modify(
            "on_message_received", message,
            lambda value: isinstance(value, ChannelMessage),
            lambda value: replace(value, labels=tuple(dict.fromkeys(
                (*message.labels, *value.labels)))))

    async def on_message_sending(self, channel: str, recipient: str,
                                 content: str) -> Reply | Cancel:
        """A changed route is ignored, with a word in the log; changed
        content is cut at 20,000 characters."""
        def take_text(value: Any) -> str:
            if value[:2] != (channel, recipient):
                self._log("hook_route_ignored", channel=channel)
            return str(value[2])
        changed = await self._modify(
            "on_message_sending", content,
            lambda value: _are_words(value, 3), take_text,
            before=(channel, recipient))
        if isinstance(changed, Cancel):
            return changed
        if changed != content:
            changed = shorten(changed, SENT_CHARS)
        return channel, recipient, changed

    # -- void

    async def on_gateway_start(self, host: str, port: int) -> None:
        await self._notify("on_gateway_start", host, port)

    async def on_gateway_stop(self) -> None:
        await self._notify("on_gateway_stop")

    async def on_session_start(self, session: str, channel: str) -> None:
        await self._notify("on_session_start", session, channel)

    async def on_session_end(self, session: str, channel: str) -> None:
        await self._notify("on_session_end", session, channel)

    async def on_llm_input(self, messages: Sequence[ChatMessage],
                           model: str) -> None:
        await self._notify("on_llm_input", tuple(messages), model)

    async def on_llm_output(self, response: ChatResponse) -> None:
        await self._notify("on_llm_output", response)

    async def on_after_tool_call(self, tool: str, result: ToolResult,
                                 duration_s: float,
                                 args: Mapping[str, Any]) -> None:
        await self._notify("on_after_tool_call", tool, result, duration_s,
                         args)

    async def on_message_sent(self, channel: str,
                              message: SendMessage) -> None:
        await self._notify("on_message_sent", channel, message)

    async def on_heartbeat_tick(self) -> None:
        await self._notify("on_heartbeat_tick")

    # -- how

    def find(self, method: str) -> list[Hooks]:
        """The hooks that do something at this place, in order."""
        return [hook for hook in self.hooks if getattr(
            getattr(hook, method), "__func__", None) is not getattr(
                Hooks, method)]

    async def _modify(self, method: str, value: T,
                      fits: Callable[[object], bool],
                      take: Callable[[Any], T] = lambda value: value, *,
                      before: tuple[Any, ...] = ()) -> T | Cancel:
        """The value as all hooks leave it; `before` are the arguments in
        front of it. A tuple is several arguments."""
        for hook in self.find(method):
            arguments = value if isinstance(value, tuple) else (value,)
            returned = await self._call(hook, method, (*before, *arguments))
            if isinstance(returned, Cancel):
                self._log("hook_cancelled", hook=name_hook(hook), at=method,
                          reason=str(returned.reason)[:_ERROR_CHARS])
                return returned
            if isinstance(returned, _Failed):
                continue
            if fits(returned):
                value = take(returned)
            else:
                self._log("hook_failed", hook=name_hook(hook), at=method,
                          error=f"returned {type(returned).__name__}, which "
                                "can't be used here")
        return value

    async def _notify(self, method: str, *arguments: Any) -> None:
        await asyncio.gather(*(
            self._call(hook, method, arguments)
            for hook in self.find(method)))

    async def _call(self, hook: Hooks, method: str,
                    arguments: tuple[Any, ...]) -> Any:
        """A hook is foreign code, so every exception of it is a line in
        the log; cancellation passes through.

        It gets a copy: one that changes its arguments in place and then
        fails has changed nothing. The failure of one that `guards` is a no.
        """
        try:
            returned = getattr(hook, method)(*copy.deepcopy(arguments))
            return await returned if isawaitable(returned) else returned
        except Exception as error:  # foreign code
            if getattr(hook, "guards", False):
                return Cancel(f"{name_hook(hook)} failed: "
                              f"{type(error).__name__}")
            self._log("hook_failed", hook=name_hook(hook), at=method,
                      error=scrub(error.message if isinstance(error, ClawError)
                                  else f"{type(error).__name__}: {error}"
                                  )[:_ERROR_CHARS])
            return _Failed()


class _Failed:
    """What a hook that raised has returned."""


def name_hook(hook: Hooks) -> str:
    """How the log calls it: by its `name`, else by its class."""
    return str(getattr(hook, "name", "") or type(hook).__name__)


def _are_words(value: object, count: int) -> bool:
    return (isinstance(value, tuple) and len(value) == count
            and all(isinstance(word, str) for word in value))


def _is_llm_call(value: object) -> bool:
    return (isinstance(value, tuple) and len(value) == 2
            and isinstance(value[0], list | tuple)
            and all(isinstance(m, ChatMessage) for m in value[0])
            and isinstance(value[1], str))


def _is_named_call(value: object) -> bool:
    return (isinstance(value, tuple) and len(value) == 2
            and isinstance(value[0], str) and isinstance(value[1], Mapping)
            and all(isinstance(key, str) for key in value[1]))
