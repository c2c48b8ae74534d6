"""tool_search: the tools that no prompt has room for.

A few tools stand in every prompt; the others wait on a shelf, are made when
the first one is looked for, and can be called once they were found.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence

from claw.core.errors import ClawError
from claw.core.tool import (
    Arguments,
    Schema,
    Tool,
    ToolDeps,
    ToolResult,
    closed_object,
    integer,
    string,
)
from claw.core.turn import current_turn
from claw.text.stem import stem
from claw.text.stopwords import STOP_WORDS
from claw.tools.offer.checked import CheckedTool

_SELECT = "select:"
_NAMES_CHARS = 400  # of the description
_IN_NAME, _IN_DESCRIPTION = 3, 1


class Shelf:
    """Tools by name, each made by `build` when it is wanted. One that
    can't be made, since a part of it is not installed, is left out."""

    def __init__(self, names: Iterable[str] = (),
                 build: Callable[[str], Tool] | None = None) -> None:
        self._waiting = list(names)
        self._build = build
        self._tools: dict[str, Tool] = {}
        self.foreign: set[str] = set()

    @property
    def names(self) -> list[str]:
        return [*self._waiting, *self._tools]

    def add(self, tools: Iterable[Tool]) -> None:
        """Put tools on it whose words are not claw's own (MCP)."""
        for tool in tools:
            self._tools[tool.name] = tool
            self.foreign.add(tool.name)

    def find(self, name: str) -> Tool | None:
        if name in self._waiting:
            self._waiting.remove(name)
            assert self._build is not None
            try:
                self._tools[name] = self._build(name)
            except ClawError:
                return None
        return self._tools.get(name)

    def search(self, query: str, limit: int,
               offers: Callable[[str], bool] = bool) -> list[Tool]:
        """Those of `select:a,b`, else those that hold most of the words
        (their stems), in their names above all, and are offered."""
        if query.startswith(_SELECT):
            names = query[len(_SELECT):].split(",")
            found = [self.find(name.strip()) for name in names]
            return [tool for tool in found
                    if tool is not None and offers(tool.name)][:limit]
        words = _stems(query)
        tools = [tool for name in self.names if offers(name)
                 and (tool := self.find(name)) is not None]
        scores = {tool.name: _score(tool, words) for tool in tools}
        best = sorted((tool for tool in tools if scores[tool.name]),
                      key=lambda tool: -scores[tool.name])
        return best[:limit]


def _score(tool: Tool, words: set[str]) -> int:
    return (_IN_NAME * len(_stems(tool.name) & words)
            + _IN_DESCRIPTION * len(_stems(tool.description) & words))


def _stems(text: str) -> set[str]:
    words = set(re.findall(r"[^\W_]{2,}", text.lower())) - STOP_WORDS
    return set(map(stem, words))


class ToolSearch(CheckedTool):
    """Finds tools on the shelf and hands them to the running turn."""

    name = "tool_search"
    reads = True
    repeatable = True
    labels_itself = True
    description = "Find further tools by words, or by name with select:a,b."

    def __init__(self, deps: ToolDeps, shelf: Shelf | None = None) -> None:
        self._policy = deps.policy
        self.shelf = shelf or Shelf()
        self.add(())

    def add(self, tools: Iterable[Tool]) -> None:
        """Put more on the shelf: those of servers (MCP)."""
        self.shelf.add(tools)
        self.description = _describe(type(self).description,
                                     self.shelf.names)

    def parameters_schema(self) -> Schema:
        return closed_object(
            query=string("Words, or select:name,name", minLength=1),
            max_results=integer("How many at most", default=5, minimum=1,
                                maximum=50))

    def find_tool(self, name: str) -> Tool | None:
        return self.shelf.find(name) if self._policy.offers(name) else None

    async def run(self, args: Arguments) -> ToolResult:
        offers = self._policy.offers
        found = self.shelf.search(args["query"].strip(), args["max_results"],
                                  offers)
        if not found:
            return ToolResult(output="No tool fits. There are: " + ", ".join(
                filter(offers, self.shelf.names)))
        turn = current_turn.get()
        if turn is not None:
            turn.tools += found
            if any(tool.name in self.shelf.foreign for tool in found):
                turn.labels.add("tool")
        return ToolResult(output="\n".join(
            ["These tools can be called now:", "<functions>",
             *map(_render, found), "</functions>"]))


def _describe(text: str, names: Sequence[str]) -> str:
    """With the names of what is there, as many as there is room for."""
    listed = ", ".join(names)
    if len(listed) > _NAMES_CHARS:
        listed = listed[:_NAMES_CHARS].rpartition(",")[0] + " ..."
    return f"{text} There are: {listed}" if listed else text


def _render(tool: Tool) -> str:
    return json.dumps({"name": tool.name, "description": tool.description,
                       "parameters": tool.parameters_schema()},
                      ensure_ascii=False)
