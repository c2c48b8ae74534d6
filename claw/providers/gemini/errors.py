"""What Gemini's refusals say about a request. Pure.

Source: Google's error texts as servers gave them and issues quote them,
read 2026-11.
"""

import re
from typing import Literal, TypeAlias

from claw.providers.wire.json import Json
from claw.providers.wire.refusals import Refusal

# A part of a request. "json_schema" and "declarations" are then said in
# the older form or the newer one, "levels" as a number of tokens,
# "signatures" with the vendor's stand-in, the rest is left out.
Feature: TypeAlias = Literal[
    "config", "tools", "declarations", "system", "signatures", "unsigned",
    "ids", "levels", "thinking", "json_schema", "schema", "temperature",
    "max_tokens"]

_UNKNOWN = re.compile(r"unknown name (\w+)(?: at ([^:]*))?")
_UNSIGNED = "missing_thought_signature"
_FIELDS: dict[str, Feature] = {
    "generationconfig": "config", "tools": "tools",
    "functiondeclarations": "tools", "systeminstruction": "system",
    "thoughtsignature": "unsigned", "id": "ids",
    "thinkinglevel": "levels", "includethoughts": "thinking",
    "thinkingbudget": "thinking", "thinkingconfig": "thinking",
    "responsejsonschema": "json_schema", "responseschema": "schema",
    "responsemimetype": "schema", "temperature": "temperature",
    "maxoutputtokens": "max_tokens"}
# Words of a refusal, and what they refuse; the first that fits counts.
_WORDS: tuple[tuple[tuple[str, ...], Feature, bool], ...] = (
    (("missing a thought_signature", _UNSIGNED,
      "missing thought signature"), "signatures", True),
    (("thought signature", "thought_signature", "thoughtsignature"),
     "signatures", False),
    (("function calling with a response mime type",
      "controlled generation is not supported with function calling",
      "json mode is not enabled", "json mode is not supported"),
     "schema", False),
    (("function calling is not enabled", "function calling is not supported",
      "tool use with function calling is unsupported",
      "does not support tools", "does not support function calling"),
     "tools", True),
    (("response_json_schema", "responsejsonschema", "response_schema",
      "responseschema"), "json_schema", False),
    (("response_schema", "responseschema"), "schema", False),
    (("function_declarations", "functiondeclarations"), "declarations",
     False),
    (("developer instruction is not enabled",
      "system instruction is not enabled",
      "system instruction is not supported"), "system", True),
    (("thinking level", "thinking_level", "thinkinglevel"), "levels", True),
    (("thinking budget", "thinking_budget", "thinkingbudget",
      "thinking_config", "thinking is not", "does not support thinking",
      "budget 0 is invalid"), "thinking", True),
    (("max_output_tokens", "maxoutputtokens"), "max_tokens", False),
    (("temperature is not", "temperature must", "the temperature",
      "temperature parameter"), "temperature", True),
)


def find_refusal(status: int | None, message: str,
                 body: Json) -> Refusal | None:
    """The part of `body` that an error refuses, or None."""
    text = message.lower().translate({ord(c): None for c in "'\"`\\"})
    if status is None:  # an answer's reason to stop
        return Refusal("signatures") if _UNSIGNED in text else None
    if status not in (400, 422):
        return None
    here = _find_parts(body)
    named = _UNKNOWN.search(text)
    if named is not None:
        feature = _find_unknown(named[1].replace("_", ""), named[2] or "")
        return Refusal(feature) if feature and feature in here else None
    for words, feature, lasting in _WORDS:
        if feature in here and any(w in text for w in words):
            return Refusal(feature, lasting)
    return None


def _find_unknown(name: str, place: str) -> Feature | None:
    """The part that holds a name the server does not know."""
    place = place.replace("_", "")
    if "functiondeclarations" in place:
        return "declarations"
    if "responsejsonschema" in place:
        return "json_schema"
    if "responseschema" in place:
        return "schema"
    return _FIELDS.get(name)


def _find_parts(body: Json) -> set[str]:
    """The parts that a request has."""
    config = body.get("generationConfig", {})
    thoughts = config.get("thinkingConfig", {})
    found = {"signatures", "unsigned", "ids"}
    checks = {
        "config": bool(config), "tools": "tools" in body,
        "declarations": "tools" in body, "system": "systemInstruction" in body,
        "levels": "thinkingLevel" in thoughts, "thinking": bool(thoughts),
        "json_schema": "responseJsonSchema" in config,
        "schema": "responseMimeType" in config,
        "temperature": "temperature" in config,
        "max_tokens": "maxOutputTokens" in config}
    return found | {name for name, there in checks.items() if there}
