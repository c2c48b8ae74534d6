"""Check calls against a machine-readable description of the Bot API.

The description is a file that the user brings: a JSON object with
`methods` and `types`; each method and type has `fields`, each field a
`name`, its `types` and whether it is `required`; a type without fields has
`subtypes` or is opaque.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

Spec: TypeAlias = dict[str, Any]

_PLAIN: dict[str, tuple[type, ...]] = {
    "Integer": (int,), "Float": (int, float), "String": (str,),
    "Boolean": (bool,)}


def load_spec(source: "str | Path | Spec") -> Spec:
    """The description, read from a file unless it is one already."""
    if isinstance(source, dict):
        return source
    loaded: Spec = json.loads(Path(source).read_text(encoding="utf-8"))
    return loaded


def check(spec: Spec, method: str, params: Mapping[str, Any], *,
          form: bool = False) -> list[str]:
    """What is wrong with a call, one sentence each; empty when it is fine.

    With `form` the values may be texts: numbers and booleans written out,
    lists and objects JSON-serialised. A value that is no JSON type stands
    for an uploaded file.
    """
    known = spec["methods"].get(method)
    if known is None:
        return [f"{method}: no such method"]
    given = dict(params)
    if form:
        given = {key: _unserialised(value, _types(known, key))
                 for key, value in given.items()}
    # files of attach:// references have names of their own
    named = {str(value).removeprefix("attach://")
             for value in given.values() if isinstance(value, str)
             and value.startswith("attach://")}
    given = {key: value for key, value in given.items()
             if key not in named or _types(known, key)}
    return _object(spec, known.get("fields", []), given, method)


def _types(known: Mapping[str, Any], name: str) -> list[str]:
    for field in known.get("fields", []):
        if field["name"] == name:
            return list(field["types"])
    return []


def _unserialised(value: Any, types: list[str]) -> Any:
    """A text of a form as the value it stands for."""
    if not isinstance(value, str) or "String" in types:
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _object(spec: Spec, fields: list[dict[str, Any]],
            given: Mapping[str, Any], where: str) -> list[str]:
    known = {field["name"]: field for field in fields}
    problems = [f"{where}: {name} is missing"
                for name, field in known.items()
                if field["required"] and given.get(name) is None]
    for name, value in given.items():
        if name not in known:
            problems.append(f"{where}: unknown parameter {name}")
        elif value is not None:
            problems += _any_of(spec, known[name]["types"], value,
                                f"{where}.{name}")
    return problems


def _any_of(spec: Spec, types: list[str], value: Any,
            where: str) -> list[str]:
    """Fine when one of the types fits; else the complaint of the one that
    it seems to be meant for."""
    found = []
    for kind in types:
        problems = _value(spec, kind, value, where)
        if not problems:
            return []
        if not problems[0].startswith(f"{where} is no "):
            found.append(problems)
    return (min(found, key=len) if found
            else [f"{where} is no {' or '.join(types)}: {_shown(value)}"])


def _value(spec: Spec, kind: str, value: Any, where: str) -> list[str]:
    wrong = [f"{where} is no {kind}: {_shown(value)}"]
    if kind.startswith("Array of "):
        if not isinstance(value, list):
            return wrong
        inner = kind.removeprefix("Array of ")
        return [p for number, item in enumerate(value)
                for p in _value(spec, inner, item, f"{where}[{number}]")]
    if kind in _PLAIN:
        fits = isinstance(value, _PLAIN[kind])
        if isinstance(value, bool) and kind != "Boolean":
            fits = False
        return [] if fits else wrong
    if kind == "InputFile":
        opaque = not isinstance(value, str | int | float | list | dict)
        return [] if opaque else wrong
    known = spec["types"].get(kind)
    if known is None or not isinstance(value, dict):
        return wrong
    if "subtypes" in known:
        return _any_of(spec, known["subtypes"], value, where)
    return _object(spec, known.get("fields", []), value, where)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
