"""The Berkeley Function Calling Leaderboard as tools and calls.

A file holds a JSON object a line: `function` documents in a schema of
Python's types, and in possible_answer/ a list of values for each argument,
"" where it may be left out. Many turns hold calls as Python text.
Source: ShishirPatil/gorilla, berkeley-function-call-leaderboard/bfcl_eval.
"""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from claw.core.tool import ToolSpec, standard_type

Calls = list[tuple[str, dict[str, Any]]]
WITHOUT = ("irrelevance", "live_irrelevance")
WITH = ("simple_python", "simple_java", "simple_javascript", "multiple",
        "parallel", "parallel_multiple", "live_simple", "live_multiple",
        "live_parallel", "live_parallel_multiple")
TURNS = ("multi_turn_base", "multi_turn_miss_param")
_CLASSES = {
    "GorillaFileSystem": "gorilla_file_system", "MathAPI": "math_api",
    "MessageAPI": "message_api", "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api", "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking", "VehicleControlAPI": "vehicle_control"}


class Item(NamedTuple):
    """One answer that is meant: `calls`, among `tools`."""

    id: str
    question: str
    tools: list[ToolSpec]
    calls: Calls


def read_category(folder: Path, name: str) -> list[Item]:
    """The items of a category; those with optional arguments twice, with
    and without them."""
    rows = _read_lines(folder / f"BFCL_v4_{name}.json")
    if name in WITHOUT:
        return [Item(row["id"], _question(row["question"]),
                     _specs(row["function"]), []) for row in rows]
    answers = {row["id"]: row["ground_truth"] for row in _read_lines(
        folder / "possible_answer" / f"BFCL_v4_{name}.json")}
    read = _read_turns if name in TURNS else _read_row
    return [item for row in rows
            for item in read(folder, row, answers[row["id"]])]


def _read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()
            if line.strip()]


def _question(turns: list[Any]) -> str:
    return "\n".join(str(message["content"]) for turn in turns
                     for message in turn if message["role"] == "user")


def _specs(documents: list[dict[str, Any]]) -> list[ToolSpec]:
    found = {one["name"]: ToolSpec(one["name"], one.get("description", ""),
                                   to_schema(one["parameters"]))
             for one in documents}
    return list(found.values())


def to_schema(value: Any) -> Any:
    """A schema whose types are those of JSON Schema; "any" is none."""
    if isinstance(value, list):
        return list(map(to_schema, value))
    if not isinstance(value, dict):
        return value
    result = {key: to_schema(held) for key, held in value.items()}
    if isinstance(value.get("type"), str):
        kind = standard_type(value["type"])
        result["type"] = kind
        if not kind:
            del result["type"]
    return result


def _read_row(_: Path, row: dict[str, Any], answer: list[Any]
              ) -> Iterator[Item]:
    seen = []
    for full in (True, False):
        calls = [(name, _choose(arguments, full)) for call in answer
                 for name, arguments in call.items()]
        if calls not in seen:
            seen.append(calls)
            yield Item(row["id"], _question(row["question"]),
                       _specs(row["function"]), calls)


def _choose(arguments: dict[str, list[Any]], full: bool) -> dict[str, Any]:
    """The first value of each argument; optional ones only if `full`."""
    return {name: _plain(next((one for one in values if one != ""), ""), full)
            for name, values in arguments.items()
            if values and (full or "" not in values)}


def _plain(value: Any, full: bool) -> Any:
    """Below, objects hold lists of values again."""
    if isinstance(value, dict):
        return _choose({key: held if isinstance(held, list) else [held]
                        for key, held in value.items()}, full)
    if isinstance(value, list):
        return [_plain(one, full) for one in value]
    return value


def _read_turns(folder: Path, row: dict[str, Any], answer: list[list[str]]
                ) -> Iterator[Item]:
    documents = [one for name in row["involved_classes"]
                 for one in _read_lines(folder / "multi_turn_func_doc"
                                        / f"{_CLASSES[name]}.json")]
    tools = _specs(documents)
    names = {tool.name: list(tool.parameters["properties"]) for tool in tools}
    for number, turn in enumerate(answer):
        calls = [_read_python(call, names) for call in turn]
        if calls:
            yield Item(f"{row['id']}.{number}",
                       _question(row["question"][number:number + 1]),
                       tools, calls)


def _read_python(text: str, names: dict[str, list[str]]
                 ) -> tuple[str, dict[str, Any]]:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call), text
    name = ast.unparse(call.func)
    given = dict(zip(names[name], map(ast.literal_eval, call.args),
                     strict=False))
    given |= {str(word.arg): ast.literal_eval(word.value)
              for word in call.keywords}
    return name, given
