"""Reading a client's JSON: each key with its type, and none unread. Pure.

A key that says nothing (null, or what holds anyway) counts as absent.
"""

from collections.abc import Collection, Mapping
from typing import Any

from claw.gateway.openai.errors import BadRequest

_JSON_TYPES = {str: "string", bool: "boolean", int: "integer",
               float: "number", list: "array", dict: "object"}
_NAMES = {str: "a string", bool: "true or false", int: "an integer",
          float: "a number", list: "a list", dict: "an object"}

MOST_OBJECTS = 10_000  # of one list
_MOST = 1 << 53  # what a float holds exactly


def optional(kind: type, **more: Any) -> dict[str, Any]:
    """The schema of what Fields.get reads; null counts as absent."""
    return {"type": [_JSON_TYPES[kind], "null"], **more}


# of Fields.count
COUNT = optional(int, minimum=1)


class Fields:
    """An object of a request. `path` names it in errors ("messages[2]")."""

    def __init__(self, data: Any, path: str = "") -> None:
        if not isinstance(data, dict):
            raise BadRequest(f"{path or 'the body'} is not an object",
                             path or None)
        self.data: dict[str, Any] = data
        self._path = path
        self._read: set[str] = set()

    def name(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def any(self, key: str) -> Any:
        self._read.add(key)
        return self.data.get(key)

    def get(self, key: str, kind: type) -> Any:
        """The value, None where there is none. Raises BadRequest."""
        value = self.any(key)
        if value is None:
            return None
        if kind is float and type(value) is int and abs(value) < _MOST:
            value = float(value)
        if kind is int and type(value) is float and value.is_integer() \
                and abs(value) < _MOST:
            value = int(value)  # 1.0 is an integer in JSON Schema
        if type(value) is not kind:
            raise BadRequest(f"{self.name(key)} must be {_NAMES[kind]}",
                             self.name(key))
        return value

    def need(self, key: str, kind: type) -> Any:
        value = self.get(key, kind)
        if value is None:
            raise BadRequest(f"{self.name(key)} is missing", self.name(key))
        return value

    def number(self, key: str, low: float, high: float) -> float | None:
        value: float | None = self.get(key, float)
        if value is not None and not low <= value <= high:
            raise BadRequest(f"{self.name(key)} must be from {low:g} to "
                             f"{high:g}", self.name(key))
        return value

    def count(self, key: str) -> int | None:
        value: int | None = self.get(key, int)
        if value is not None and value < 1:
            raise BadRequest(f"{self.name(key)} must be 1 or more",
                             self.name(key))
        return value

    def objects(self, key: str) -> list["Fields"]:
        """The objects of a list; [] where there is none."""
        found = self.get(key, list) or ()
        if len(found) > MOST_OBJECTS:
            raise BadRequest(f"{self.name(key)} holds more than "
                             f"{MOST_OBJECTS}", self.name(key))
        return [Fields(one, f"{self.name(key)}[{number}]")
                for number, one in enumerate(found)]

    def refuse(self, usual: Mapping[str, Any], why: str) -> None:
        """Raise BadRequest for keys that have another value than this."""
        for key, value in usual.items():
            found = self.data.get(key)
            is_usual = found is None or (found == value \
                and isinstance(found, bool) == isinstance(value, bool))
            if not is_usual and key not in self._read:
                raise BadRequest(f"{self.name(key)}: {why}", self.name(key),
                                 "unsupported_parameter")
        self.skip(usual)

    def skip(self, keys: Collection[str]) -> None:
        """These say nothing about the answer."""
        self._read.update(keys)

    def rest(self) -> dict[str, Any]:
        """What nobody read."""
        return {key: value for key, value in self.data.items()
                if key not in self._read and value is not None}
