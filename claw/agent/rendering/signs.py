"""How a call in text begins: what is held back while an answer streams.

The readers of the calls stand in agent/parsing; this much is needed in
every turn, and loads in no time.
"""

from claw.text.think import count_held_back

# Where a call, or the echo of a result, may start in a model's text.
SIGNS = (
    "<tool_call", "<toolcall", "<tool-call", "<TOOLCALL", "<invoke",
    "<function", "<minimax:tool", "<seed:tool_call", "<longcat_tool_call",
    "<dots_function_call", "<iquest_tool_call", "<atem:function_call",
    "<tool_result", "<FunctionCall", "<｜", "<|tool▁", "<|tool_call",
    "<|tools_prefix|>", "<|python_", "<|channel|>", "<|start|>", "<|open|>",
    "<|START_ACTION|>", "<|action_start|>", "<|function_call|>",
    "<|message_model|>", "<|content_invoke_tool_json|>", "<|message_sep|>",
    "<start_function_call>", "]<]minimax[>[", "functools[{",
    "function call<|role_sep|>", "to=functions.", "[TOOL_CALL", "TOOL_CALL",
    "```tool", "```invoke")


def has_call_sign(text: str) -> bool:
    """Whether a text looks as if a call stood in it."""
    return '"tool_calls"' in text or any(sign in text for sign in SIGNS)


class CallFilter:
    """Holds back everything from the first sign of a tool call on.

    Also holds an answer that starts like JSON, since a whole answer in
    JSON may be a call. `finish` gives back what was held: print it when
    the round turned out to hold no call, drop it otherwise.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closed: list[str] | None = None
        self._started = False

    def feed(self, delta: str) -> str:
        """What `delta` makes visible."""
        if self._closed is not None:
            self._closed.append(delta)
            return ""
        text = self._held + delta
        starts = [at for at in map(text.find, SIGNS) if at >= 0]
        cut = (min(starts) if starts
               else len(text) - count_held_back(text, 0, SIGNS))
        if not self._started and text.strip():
            self._started = True
            if text.lstrip()[0] in "{[":
                starts, cut = [0], 0
        self._held = text[cut:]
        if starts:
            self._closed = []
        return text[:cut]

    def finish(self) -> str:
        """What was held back, at the end of the stream."""
        held = self._held + "".join(self._closed or ())
        self._held, self._closed = "", None
        return held
