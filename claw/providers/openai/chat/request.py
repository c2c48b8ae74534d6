"""Chat Completions: messages as a server takes them. Pure.

Shapes of the `openai` SDK's types; tests hold requests against them.
"""

from collections.abc import Sequence

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    decode_tool_calls,
    decode_tool_result,
    find_replay,
)
from claw.core.value import Value
from claw.providers.wire.json import Json
from claw.providers.wire.messages import (
    drop_images,
    split_parts,
    wrap_thoughts,
)

# Who writes `ChatResponse.replay` here.
DETAILS = "openrouter"


class WireRules(Value):
    """How messages look to one server.

    `replay` and `thoughts` as in Vendor; `fill`: calls whose thoughts are
    not at hand get a blank, for servers that insist. `images` off leaves
    them out.
    """

    replay: str = "with_calls"
    thoughts: str = "reasoning_content"
    fill: bool = False
    images: bool = True


PLAIN = WireRules()


def wire_messages(messages: Sequence[ChatMessage],
                  rules: WireRules = PLAIN) -> list[Json]:
    """Messages as the API takes them, with native calls and results."""
    return [_wire_message(m, rules) for m in messages]


def _wire_message(message: ChatMessage, rules: WireRules) -> Json:
    if message.role == "tool":
        result = decode_tool_result(message)
        return {"role": "tool", "tool_call_id": result.tool_call_id,
                "content": result.content}
    calls = decode_tool_calls(message)
    if calls is not None and (calls.tool_calls or calls.reasoning_content):
        return _wire_calls(calls, rules)
    if message.role == "user" and "[IMAGE:data:" in message.content:
        return {"role": "user", "content": split_parts(message.content)
                if rules.images else drop_images(message.content)}
    return {"role": message.role, "content": message.content}


def _wire_calls(calls: AssistantToolCalls, rules: WireRules) -> Json:
    wire: Json = {"role": "assistant", "content": calls.text or None}
    if calls.tool_calls:
        wire["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {
                "name": c.name, "arguments": c.arguments}}
            for c in calls.tool_calls]
    else:
        wire["content"] = calls.text or ""
    if rules.replay == "always" or (
            rules.replay == "with_calls" and calls.tool_calls):
        _add_thoughts(wire, calls, rules)
    return wire


def _add_thoughts(wire: Json, calls: AssistantToolCalls,
                  rules: WireRules) -> None:
    """Thoughts, in the field where this server looks for them."""
    found = calls.reasoning_content
    if rules.thoughts == "reasoning_details":
        replay = find_replay(calls, DETAILS)
        if replay is not None and replay.get("details"):
            wire["reasoning_details"] = replay["details"]
        elif found is not None:
            wire["reasoning"] = found
    elif rules.thoughts == "think":
        if found:
            wire["content"] = wrap_thoughts(found, calls.text)
    elif found is not None or (rules.fill and calls.tool_calls):
        wire[rules.thoughts] = found or (" " if rules.fill else "")
