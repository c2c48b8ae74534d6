"""Gemini's generateContent: what is sent. Pure.

Shapes of the google-genai SDK's types (tests hold requests against them)
and of ai.google.dev/api/generate-content; signatures of thoughts as
ai.google.dev/gemini-api/docs/thought-signatures has them, read 2026-11.
What a model refused (errors.Feature) is left out or said another
way.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from claw.core.images import find_images
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolCall,
    decode_tool_calls,
    decode_tool_result,
    find_replay,
)
from claw.core.tool import ToolSpec
from claw.providers.schema import (
    CleaningStrategy,
    clean_for_gemini,
    tool_parameters,
)
from claw.providers.settings import ReasoningSettings
from claw.providers.wire.json import Json, finite_object
from claw.providers.wire.loop import WireRequest
from claw.providers.wire.messages import (
    merge_system,
    spell_out_calls,
    write_messages,
)

BY = "gemini"
OUTPUT_TOKENS = 8192
# Options that stand beside generationConfig.
OPTIONS_OUTSIDE = ("safetySettings", "cachedContent", "labels", "toolConfig")
# What the vendor documents for calls that no Gemini signed.
UNSIGNED = "skip_thought_signature_validator"

_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,([\w+/=-]+)")
_ELSEWHERE = ("https://", "http://", "gs://")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.:-]")
_GENERATION = re.compile(r"gemini-(\d+)")
_KINDS = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
          "webp": "image/webp", "gif": "image/gif", "heic": "image/heic",
          "heif": "image/heif"}
# Neither end of a conversation may be missing.
_NO_START = "(what came before is not shown)"
_NO_MESSAGE = "(no message)"

# Tokens to think with, for models that count them; those that know levels
# do not all know each. Source: the vendor's table for reasoning_effort.
_BUDGETS = {"minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
_LEVELS = ("minimal", "low", "medium", "high")


class GeminiRequest(WireRequest):
    """One request body and the model it is for."""

    model: str = ""


def build_request(request: ChatRequest, model: str, temperature: float, *,
                  without: Collection[str] = (), native_tools: bool = True,
                  reasoning: ReasoningSettings | None = None
                  ) -> GeminiRequest:
    """The request for a model, without what it does not take."""
    tools = request.tools or ()
    native = native_tools and "tools" not in without
    messages = write_messages(
        request, native=native,
        schema_in_words=bool({"schema", "config"} & set(without)))
    if "system" in without:
        messages = merge_system(messages)
    sign = "unsigned" not in without and (
        "signatures" in without or (parse_generation(model) or 0) >= 3)
    body: Json = {"contents": build_contents(messages, sign=sign,
                                             without=without)}
    system = "\n\n".join(m.content for m in messages
                         if m.role == "system" and m.content.strip())
    if system:
        body["systemInstruction"] = {"parts": [{"text": system}]}
    declared = declarations(tools, as_json="declarations" in without)
    if native and declared:
        body["tools"] = [{"functionDeclarations": declared}]
    if "config" not in without:
        body["generationConfig"] = _config(request, model, temperature,
                                           without, reasoning)
    return GeminiRequest(body, model)


def _config(request: ChatRequest, model: str, temperature: float,
            without: Collection[str],
            reasoning: ReasoningSettings | None) -> Json:
    config: Json = {}
    if "temperature" not in without:
        config["temperature"] = temperature
    if "max_tokens" not in without:
        config["maxOutputTokens"] = request.max_tokens or OUTPUT_TOKENS
    thoughts = thinking_config(model, reasoning or ReasoningSettings(),
                        levels="levels" not in without)
    if thoughts and "thinking" not in without:
        config["thinkingConfig"] = thoughts
    schema = request.response_schema
    if schema is not None and "schema" not in without:
        config["responseMimeType"] = "application/json"
        if "json_schema" in without:
            config["responseSchema"] = clean_for_gemini(schema)
        else:
            config["responseJsonSchema"] = schema
    return config


def parse_generation(model: str) -> int | None:
    """3 of "gemini-3-pro"; None where the name does not say."""
    found = _GENERATION.search(model)
    return int(found[1]) if found else None


def thinking_config(model: str, reasoning: ReasoningSettings, *,
             levels: bool = True) -> Json:
    """thinkingConfig; empty where nothing was asked for.

    Models up to 2.5 count tokens, later ones know levels. The larger ones
    can't stop thinking: they get the least.
    """
    effort = (reasoning.reasoning_effort or "").strip().lower()
    enabled = reasoning.reasoning_enabled
    if enabled is None and not effort:
        return {}
    by_level = levels and (parse_generation(model) or 3) >= 3
    if enabled is False or effort == "none":
        return {"thinkingLevel": _level(model, "minimal")} if by_level \
            else {"thinkingBudget": 128 if "pro" in model else 0}
    config: Json = {"includeThoughts": True}
    if by_level and effort in _LEVELS:
        config["thinkingLevel"] = _level(model, effort)
    elif not by_level:
        config["thinkingBudget"] = _BUDGETS.get(effort, -1)
    return config


def _level(model: str, effort: str) -> str:
    if "pro" in model and effort == "minimal":
        effort = "low"
    if "gemini-3-pro" in model and effort == "medium":
        effort = "high"
    return effort.upper()


def is_callable(name: str) -> bool:
    """Whether Gemini takes a tool of this name."""
    return _NAME.fullmatch(name) is not None


def declarations(tools: Iterable[ToolSpec], *,
                 as_json: bool = False) -> list[Json]:
    """Tools as the API takes them, each name once; those whose names it
    refuses are left out. `as_json`: the schemas as they are, for models
    that refuse one that was cleaned."""
    found: dict[str, Json] = {}
    for tool in tools:
        if not is_callable(tool.name):
            continue
        wire: Json = {"name": tool.name,
                      "description": tool.description or tool.name}
        cleaned = tool_parameters(tool.parameters, CleaningStrategy.GEMINI)
        # an object without properties is refused; none at all is not
        if cleaned["properties"]:
            wire |= {"parametersJsonSchema": tool.parameters} if as_json \
                else {"parameters": cleaned}
        found[tool.name] = wire
    return list(found.values())


def build_contents(messages: Sequence[ChatMessage], *, sign: bool = False,
             without: Collection[str] = ()) -> list[Json]:
    """The conversation; system messages stand elsewhere.

    `sign`: the first call of each step since the last message of the user
    carries a signature, the vendor's stand-in where there is none.
    """
    turn = max((i for i, m in enumerate(messages)
                if m.role == "user" and m.content.strip()), default=-1)
    found = _Conversation(without)
    for index, message in enumerate(messages):
        calls = decode_tool_calls(message)
        if message.role == "tool":
            found.result(message)
        elif calls is not None and calls.tool_calls:
            found.calls(calls, sign=sign and index > turn)
        elif message.role == "assistant":
            found.say("model", _text(message.content))
        elif message.role == "user":
            found.say("user", split_parts(message.content))
    return found.whole()


class _Conversation:
    """Contents as they grow: neighbours of one role are one content."""

    def __init__(self, without: Collection[str]) -> None:
        self._without = without
        self._contents: list[Json] = []
        self._names: dict[str, tuple[str, str | None]] = {}

    def say(self, role: str, found: list[Json]) -> None:
        if not found:
            return
        if self._contents and self._contents[-1]["role"] == role:
            self._contents[-1]["parts"].extend(found)
        else:
            self._contents.append({"role": role, "parts": found})

    def calls(self, calls: AssistantToolCalls, *, sign: bool) -> None:
        text, kept = _kept(calls)
        if "signatures" in self._without or "unsigned" in self._without:
            text, kept = None, [{"id": k.get("id")} for k in kept]
        found = _text(calls.text or "")
        if found and text:
            found[0]["thoughtSignature"] = text
        for number, call in enumerate(calls.tool_calls):
            signature = kept[number].get("signature")
            if number == 0 and sign:
                signature = signature or UNSIGNED
            found.append(self._call(call, kept[number].get("id"), signature))
        self.say("model", found)

    def _call(self, call: ToolCall, vendor_id: str | None,
              signature: str | None) -> Json:
        if "ids" in self._without:
            vendor_id = None
        name = fit_name(call.name)
        self._names[call.id] = (name, vendor_id)
        wire: Json = {"name": name, "args": finite_object(call.arguments)}
        if vendor_id:
            wire["id"] = vendor_id
        part: Json = {"functionCall": wire}
        if signature:
            part["thoughtSignature"] = signature
        return part

    def result(self, message: ChatMessage) -> None:
        """What a call returned; as text where no such call is known."""
        result = decode_tool_result(message)
        name, vendor_id = self._names.get(result.tool_call_id, ("", None))
        if not name:
            (spelled,) = spell_out_calls([message])
            self.say("user", _text(spelled.content))
            return
        wire: Json = {"name": name, "response": {"output": result.content}}
        if vendor_id:
            wire["id"] = vendor_id
        self.say("user", [{"functionResponse": wire}])

    def whole(self) -> list[Json]:
        if not self._contents:
            return [{"role": "user", "parts": [{"text": _NO_MESSAGE}]}]
        if self._contents[0]["role"] == "model":
            self._contents.insert(0, {"role": "user",
                                      "parts": [{"text": _NO_START}]})
        return self._contents


def _kept(calls: AssistantToolCalls) -> tuple[str | None, list[Json]]:
    """The signature of the text, and id and signature of each call, as
    Gemini gave them."""
    none: list[Json] = [{} for _ in calls.tool_calls]
    replay = find_replay(calls, BY) or {}
    kept = replay.get("calls")
    text = replay.get("text")
    if not isinstance(kept, list) or len(kept) != len(none):
        return None, none
    return (text if isinstance(text, str) else None,
            [{key: value for key, value in each.items()
              if isinstance(value, str)} if isinstance(each, dict) else {}
             for each in kept])


def fit_name(name: str) -> str:
    """The name of a call from the history, as Gemini takes it."""
    return name if is_callable(name) \
        else ("_" + _NOT_IN_NAMES.sub("_", name))[:128]


def _text(content: str) -> list[Json]:
    return [{"text": content}] if content.strip() else []


def split_parts(content: str) -> list[Json]:
    """Text and `[IMAGE:...]` markers as parts, in order; a marker that
    means nothing here stays text."""
    found: list[Json] = []
    at = 0
    for image in find_images(content):
        part = _image(image.ref)
        if part is not None:
            found += [*_text(content[at:image.start].strip()), part]
            at = image.end
    rest = content[at:]
    return found + _text(rest.strip() if found else rest)


def _image(ref: str) -> Json | None:
    data = _DATA.fullmatch(ref)
    if data is not None:
        return {"inlineData": {"mimeType": data[1], "data": data[2]}}
    if not ref.lower().startswith(_ELSEWHERE):
        return None
    path = re.split(r"[?#]", ref, maxsplit=1)[0]
    kind = _KINDS.get(path.rpartition(".")[2].lower())
    return {"fileData": {"fileUri": ref,
                         **({"mimeType": kind} if kind else {})}}
