"""The dispatchers, and which one a turn uses."""

from collections.abc import Collection

from claw.agent.dispatchers.base import Dispatcher
from claw.agent.rounds.calls import ParsedToolCall, ToolExecutionResult
from claw.core.provider import Provider
from claw.core.registry import load_dotted

__all__ = ["Dispatcher", "ParsedToolCall", "ToolExecutionResult", "select"]

_DISPATCHERS = {
    "plain": "claw.agent.dispatchers.plain:PlainDispatcher",
    "native": "claw.agent.dispatchers.native:NativeDispatcher",
    "xml": "claw.agent.dispatchers.xml:XmlDispatcher",
}


def select(setting: str, provider: Provider, model: str,
           known: Collection[str] = ()) -> Dispatcher:
    """The dispatcher for `agent.tool_dispatcher`.

    "native" and "xml" decide; anything else ("auto") asks the provider
    about the model.
    `known` are the tools on offer, best with their schemas (a mapping):
    the loose forms of a call count only for them. Without any the turn is
    a plain one.
    """
    if not known:
        setting = "plain"
    elif setting not in ("native", "xml"):
        calls = provider.capabilities_for(model).native_tool_calling
        setting = "native" if calls else "xml"
    found: Dispatcher = load_dotted(_DISPATCHERS[setting])(known)
    return found
