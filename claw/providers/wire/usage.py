"""Token counts of Chat Completions, wherever a server puts them. Pure."""

from collections.abc import Mapping
from typing import Any

from claw.core.provider import TokenUsage

MOST = 10 ** 12


def find_usage(data: Mapping[str, Any]) -> TokenUsage | None:
    """The usage of an answer or a chunk, wherever it stands: Moonshot puts
    it into the last choice of a stream, Groq into `x_groq`."""
    found = read_usage(data.get("usage"))
    if found is None and "x_groq" in data:
        found = read_usage(_at(data["x_groq"], "usage"))
    if found is None:
        choices = data.get("choices")
        if isinstance(choices, list) and choices:
            found = read_usage(_at(choices[0], "usage"))
    return found


def read_usage(usage: Any) -> TokenUsage | None:
    """Token counts. Cached input under the names of OpenAI, DeepSeek or
    Moonshot; where thoughts are read_count apart (xAI) they are added."""
    if not isinstance(usage, dict):
        return None
    asked = _count(usage, "prompt_tokens")
    said = _count(usage, "completion_tokens")
    details = usage.get("prompt_tokens_details")
    cached = next((n for n in (
        _count(details, "cached_tokens"),
        _count(usage, "prompt_cache_hit_tokens"),
        _count(usage, "cached_tokens")) if n is not None), None)
    if asked is None and said is None and cached is None:
        return None
    thought = _count(usage.get("completion_tokens_details"),
                     "reasoning_tokens")
    if asked is not None and said is not None and thought and \
            _count(usage, "total_tokens") == asked + said + thought:
        said += thought
    return TokenUsage(asked, said, cached,
                      _count(details, "cache_write_tokens"))


def read_count(value: Any) -> int | None:
    """A number of tokens; None for what can't be one. A ledger could not
    even hold 10**30 of them, and less than none would be paid back."""
    return value if isinstance(value, int) and not isinstance(
        value, bool) and 0 <= value <= MOST else None


def _count(place: Any, key: str) -> int | None:
    return read_count(_at(place, key))


def _at(place: Any, key: str) -> Any:
    return place.get(key) if isinstance(place, dict) else None
