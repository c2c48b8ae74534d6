"""What OpenAI's own models take, by their names. Pure.

Source: developers.openai.com, model pages, read 2026-11.
"""

import re

from claw.providers.openai.quirks import bare_model, takes_effort

# Compiled where they are used. Reasoning models take no other temperature
# than 1; gpt-5.1 to 5.4 do where they don't think.
_FIXED = (r"(?:gpt-5(?:-mini|-nano)?|gpt-5\.[123]-chat-latest|o1|o3|o3-mini"
          r"|o4-mini)(?:-20\d\d.*)?$"
          r"|gpt-5\.[5-9]|gpt-[6-9]|o[1-9]-pro|.*codex|.*deep-research")
# Those that speak nothing else (codex, pro, deep research), and those that
# call tools only there: since gpt-5.4 "Function tools with reasoning_effort
# are not supported ... in /v1/chat/completions".
_RESPONSES = (r".*codex|(?:o\d|gpt-[\d.]+)-pro|.*deep-research|computer-use"
              r"|gpt-5\.[4-9]|gpt-[6-9]")


def needs_responses(model: str) -> bool:
    """Whether a model of OpenAI's needs the Responses API: it speaks
    nothing else, or calls no tools elsewhere."""
    return re.match(_RESPONSES, bare_model(model)) is not None


def fixed_temperature(model: str) -> bool:
    """Whether a model takes no other temperature than 1."""
    return re.match(_FIXED, model) is not None


def temperature_for(model: str, temperature: float) -> float:
    """1.0 for models that take nothing else (dated names too)."""
    return 1.0 if fixed_temperature(model) else temperature


def thinks(model: str) -> bool:
    """Whether a model of OpenAI's thinks before it answers, by its name."""
    return takes_effort(model) and "-chat" not in bare_model(model)
