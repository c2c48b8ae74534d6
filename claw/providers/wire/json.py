"""JSON as models and servers write it. Pure."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

Json = dict[str, Any]
MOST_DEEP = 200


def parse_json(text: str) -> Any:
    """JSON. Raises ValueError for anything else, and for what is nested so
    deep that it could be read but not be written again."""
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if text.count("{") + text.count("[") > MOST_DEEP:
        level = [data]
        for _ in range(MOST_DEEP):
            level = [v for found in level if isinstance(found, dict | list)
                     for v in (found.values() if isinstance(found, dict)
                               else found)]
        if level:
            raise ValueError("nested too deep")
    return data


def parse_object(text: Any) -> Json | None:
    """The JSON object in a text; None where there is none."""
    try:
        value = parse_json(text)
    except (ValueError, TypeError, AttributeError):
        return None
    return value if isinstance(value, dict) else None


def finite_object(text: Any) -> Json:
    """Arguments as an object; `{}` where they are none. What JSON can't
    write (NaN, infinity) becomes null."""
    def finite(number: str) -> float | None:
        value = float(number)
        return value if isfinite(value) else None
    try:
        value = json.loads(text, parse_constant=lambda _: None,
                           parse_float=finite)
    except (ValueError, TypeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def as_text(value: Any) -> str:
    """A history from elsewhere may hold anything."""
    return value if isinstance(value, str) else json.dumps(
        value, ensure_ascii=False)


def arguments_text(given: Any) -> str:
    """Arguments of a call as text: `{}` where there are none, and what is
    no JSON as it came, so that no call is run with less than it said."""
    if isinstance(given, str):
        return "{}" if given.strip() in ("", "[]", "null") else given
    return json.dumps(given or {}, ensure_ascii=False)


def is_truncated(arguments: Any) -> bool:
    """Whether arguments were cut off in the middle: a call that nobody
    may run."""
    return isinstance(arguments, str) and bool(arguments.strip()) \
        and parse_object(arguments) is None


def string(value: Any) -> str:
    """A text; "" for anything else."""
    return value if isinstance(value, str) else ""


def string_at(data: Mapping[str, Any], key: str) -> str:
    return string(data.get(key))


def object_at(data: Any, key: str) -> Json:
    """The object under a key; {} where there is none."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[Json]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] \
        if isinstance(value, list) else []
