"""Answers as the models' own chat templates write them.

A template writes a whole conversation; the answer is what stands behind the
question, less what the prompt for an answer holds already and the marks
that end it, where every server stops. Needs jinja2.
"""

import datetime
import json
import re
from pathlib import Path
from typing import Any

from function_calls_data import Calls
from jinja2 import TemplateError
from jinja2.sandbox import SandboxedEnvironment

from claw.core.tool import ToolSpec

_QUESTION = "What-was-asked-stands-here"
_ANSWER = "What-is-answered-stands-here"
_ENDS = re.compile(
    r"(?:\s|<\|(?:im_end|end|eot|eot_id|eom_id|end_of_text|endoftext|eos"
    r"|role_end|end_of_msg|END_OF_TURN_TOKEN|START_OF_TURN_TOKEN|assistant"
    r"|CHATBOT_TOKEN|tool_response|start_header_id|end_header_id)\|>"
    r"|<\|start_header_id\|>assistant|<end_of_turn>|<turn\|>|</s>"
    r"|<\|tool_response>|<sep>|</assistant>|<seed:eos>|<end_of_sentence>"
    r"|<SPECIAL_12>|<｜end▁of▁sentence｜>|<｜Assistant｜>|\[e~\["
    r"|<｜hy_eos:opensource｜>|<\|close\|>message<\|sep\|>)+\Z")
# What a prompt for an answer may open, and no text of a call begins with.
_THOUGHTS = re.compile(r"(?s)(?:<(?:mm:)?think>.*?)?</(?:mm:)?think>\s*"
                       r"|<\|START_THINKING\|>.*?<\|END_THINKING\|>"
                       r"|(?:<\|open\|>think<\|sep\|>.*?)?"
                       r"<\|close\|>think<\|sep\|>(?:<\|open\|>response"
                       r"<\|sep\|><\|close\|>response<\|sep\|>)?")


class Template:
    """One template. Raises ValueError where it writes no such calls."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        text = re.sub(r"\{%-?\s*(?:end)?generation\s*-?%\}", "",
                      path.read_text("utf-8"))
        try:
            self._template = _environment().from_string(text)
        except TemplateError as error:
            raise ValueError(str(error)) from error

    def render(self, calls: Calls, tools: list[ToolSpec]) -> str:
        specs = [{"type": "function", "function": {
            "name": tool.name, "description": tool.description,
            "parameters": tool.parameters}} for tool in tools]
        ask = {"role": "user", "content": _QUESTION}
        for as_text in (False, True):
            try:
                prompt = self._write([ask], specs, True)
                text = self._write([ask, _message(calls, as_text)],
                                   specs, False)
            except (TemplateError, TypeError, ValueError, KeyError):
                continue
            names = [name for name, _ in calls]
            if any(text.count(name) < names.count(name) for name in names) \
                    or (as_text and '"{\\"' in text):
                continue
            plain = self._write([ask, {"role": "assistant", "content":
                                       _ANSWER}], specs, False)
            return _cut(prompt, plain.partition(_ANSWER)[0], text)
        raise ValueError(f"{self.name} writes no such calls")

    def _write(self, messages: list[Any], tools: list[Any],
               prompt: bool) -> str:
        whole = self._template.render(
            messages=messages, tools=tools, add_generation_prompt=prompt,
            bos_token="", eos_token="</s>", enable_thinking=True)
        return whole.split(_QUESTION, 1)[-1]


def _message(calls: Calls, as_text: bool) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": [
        {"id": f"call_{n:04}", "type": "function", "function": {
            "name": name, "arguments": json.dumps(
                arguments, ensure_ascii=False) if as_text else arguments}}
        for n, (name, arguments) in enumerate(calls)]}


def _cut(prompt: str, before: str, text: str) -> str:
    """`text` without what the prompt or any other answer begins with."""
    if not text.startswith(prompt):
        prompt = max(prompt, before, key=lambda start: _shared(start, text))
    shared = _shared(prompt, text)
    tag = text.rfind("<", 0, shared)
    if tag > text.rfind(">", 0, shared):
        shared = tag  # both begin the same tag, or one of the same letters
    for word in ("to=", " "):
        shared -= len(word) * text[:shared].endswith(word)
    return _ENDS.sub("", _THOUGHTS.sub("", text[shared:], count=1)).lstrip()


def _shared(one: str, other: str) -> int:
    """How many letters two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False))
                 if a != b), min(len(one), len(other)))


def _environment() -> SandboxedEnvironment:
    found = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                 extensions=["jinja2.ext.loopcontrols"])
    found.filters["tojson"] = _tojson
    found.filters["from_json"] = found.filters["fromjson"] = json.loads
    found.globals["raise_exception"] = _refuse
    found.globals["strftime_now"] = datetime.datetime.now().strftime
    return found


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None,
            separators: Any = None, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent,
                      separators=separators, sort_keys=sort_keys)


def _refuse(message: str) -> None:
    raise TemplateError(message)
