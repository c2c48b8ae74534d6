"""Cleaning an answer for display; history keeps the raw text.

`sanitise_reply` is for channels: five steps take out what a model writes
for the machinery (the list of tools used, calls in tags, calls as JSON,
what it is about to do) and secrets.
Each step is linear: reading JSON has a budget, and what is left over when
it is spent stays as it is.
"""

import re
from bisect import bisect_right
from collections.abc import Collection
from operator import itemgetter
from typing import Any

from claw.agent.parsing.values import JsonReader
from claw.agent.rendering.markup import cut_out
from claw.security.redact.leaks import guard

MALFORMED = ("I encountered malformed tool-call output and could not produce "
             "a safe reply. Please try again.")

_BLANK_LINES = re.compile(r"\n{3,}")
_SUMMARY = re.compile(r"\s*+(?:\[Used tools: [^\]\n]*+\]\s*+)++")
_TAG = re.compile(r"<(function_calls|function_call|tool_call|toolcall"
                  r"|tool-call|tool|invoke)>")
# How calls begin: an object with a key, an array of objects.
_CALL_BEGIN = re.compile(r'\{\s*+"|\[\s*+\{')
_CALL_LINE = re.compile(r'^[ \t]*+(?=\{\s*+"|\[\s*+\{)', re.MULTILINE)
_REST_OF_LINE = re.compile(r"[ \t]*+(?:\n|\Z)")
_FENCE = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)([^`~\n]*+)$", re.MULTILINE)
_SPACE = re.compile(r"\s*+")
_CLOSINGS = re.compile(r"\s*+(?:</[^<>]*+>\s*+)*+")
_RESULT_KEYS = {"result", "id", "tool_call_id", "name", "tool"}
_NARRATION = ("let me ", "i'll ", "i will ", "i am going to ",
              "i'm going to ", "one moment", "hold on",
              "just a moment", "give me a moment", "allow me to ")
_NO_NARRATION = ("let me know",)
# "Searching..." and "Checking the weather" say what comes next. With a verb
# after it, or a value, it is a sentence of the answer: "Searching for keys
# is O(n)", "Checking account: 300".
_DOING = re.compile(r"(?:searching|looking up|fetching|checking"
                    r"|using the|using my)(?![\w'-])")
_ANSWERING = re.compile(
    r": \S|\b(?:is|are|was|were|isn't|aren't|has|have|had|can|can't|will|would"
    r"|should|may|might|must|do|does|doesn't|did|takes?|needs?|requires?"
    r"|means?|works?|makes?|gives?|returns?|helps?|costs?|found|failed)\b")
_TRAILS_OFF = ("...", "…")

_Drop = tuple[int, int, str]
_Fence = tuple[int, int, int, int]


def sanitise_reply(text: str, tools: Collection[str],
                   secrets: Collection[str] = ()) -> str:
    """An answer as a person on a channel may see it.

    `tools` are the names of the known tools, `secrets` those of this
    installation. May be empty though the answer was not: then MALFORMED
    is what to say.
    """
    text = strip_tool_tags(strip_summary(text))
    return guard(strip_narration(strip_tool_json(text, tools)), secrets)


def strip_summary(text: str) -> str:
    """Without "[Used tools: ...]" at the start."""
    summary = _SUMMARY.match(text)
    return text[summary.end():] if summary else text


def strip_tool_tags(text: str) -> str:
    """Without the blocks of the tags that models put around calls.

    A tag that nothing closes goes with the JSON right behind it, or with
    the next call written in JSON; without either, everything from the tag
    on stays.
    """
    spans: list[tuple[int, int]] = []
    reader = JsonReader(text)
    unclosed: set[str] = set()
    at = 0
    while tag := _TAG.search(text, at):
        end = -1 if tag[1] in unclosed else text.find(
            f"</{tag[1]}>", tag.end())
        if end >= 0:
            at = end + len(tag[1]) + 3
        else:
            unclosed.add(tag[1])
            after = _find_json_end(text, tag.end(), reader)
            if after is None:
                break
            at = _skip_closings(text, after)
        spans.append((tag.start(), at))
    return _tidy(cut_out(text, spans))


def strip_tool_json(text: str, tools: Collection[str]) -> str:
    """Without JSON on lines of its own that calls a known tool, or that is
    the result of such a call. Any other JSON is part of the answer."""
    text = text.replace("\r\n", "\n")
    known = {name.strip().lower() for name in tools}
    fences = _find_fences(text)
    reader = JsonReader(text)
    dropped: list[_Drop] = []
    at = 0
    while begin := _CALL_LINE.search(text, at):
        at = begin.end() + 1
        found = reader.read(begin.end())
        rest = _REST_OF_LINE.match(text, found[1]) if found else None
        if not found or not rest:
            continue
        value, at = found[0], rest.end()
        instead = _find_replacement(value, known)
        if instead is not None:
            dropped.append((begin.start(), at, instead))
        elif (dropped and isinstance(value, dict) and "result" in value
                and value.keys() <= _RESULT_KEYS
                and _find_fence(fences, begin.start()) is None):
            dropped.append((begin.start(), at, ""))
    return _tidy(_replace(text, _add_fences(text, dropped, fences)))


def strip_narration(text: str) -> str:
    """Without the first lines that only say what comes next; an answer of
    nothing else stays as it is."""
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].strip().lower().replace("’", "'")
        if line and not _announces(line):
            return text[at:] if at else text
        at = end + 1
    return text


def _announces(line: str) -> bool:
    """Whether a line, in small letters, only says what comes next."""
    if _DOING.match(line):
        return line.endswith(_TRAILS_OFF) or not _ANSWERING.search(line)
    return line.startswith(_NARRATION) and not line.startswith(_NO_NARRATION)


def _find_json_end(text: str, start: int, reader: JsonReader) -> int | None:
    """The end of the value right behind `start`, or of the next call."""
    blank = _SPACE.match(text, start)
    at = blank.end() if blank else start
    if text.startswith(("{", "["), at) and (found := reader.read(at)):
        return found[1]
    while not reader.is_spent and (begin := _CALL_BEGIN.search(text, at)):
        at = begin.start() + 1
        if found := reader.read(begin.start()):
            value, at = found
            if _has_call(value):
                return at
    return None


def _skip_closings(text: str, at: int) -> int:
    """Past blanks and closing tags; one without its end drops the rest."""
    after = _CLOSINGS.match(text, at)
    at = after.end() if after else at
    return len(text) if text.startswith("</", at) else at


def _find_holder(value: Any) -> dict[str, Any] | None:
    """The object with name and arguments, if this is a call."""
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    holder = inner if isinstance(inner, dict) else value
    is_call = isinstance(holder.get("name"), str) and (
        "arguments" in holder or "parameters" in holder)
    return holder if is_call else None


def _has_call(value: Any) -> bool:
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    items = value if isinstance(value, list) else [value]
    return any(_find_holder(item) is not None for item in items)


def _are_calls(value: Any, known: set[str]) -> bool:
    items = value if isinstance(value, list) else [value]
    holders = [_find_holder(item) for item in items]
    return bool(holders) and all(
        holder is not None and holder["name"].strip().lower() in known
        for holder in holders)


def _find_replacement(value: Any, known: set[str]) -> str | None:
    """What stands in the place of calls; None where these are none."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        if not _are_calls(value["tool_calls"], known):
            return None
        content = value.get("content")
        return content.strip() if isinstance(content, str) else ""
    return "" if _are_calls(value, known) else None


def _add_fences(text: str, dropped: list[_Drop],
                 fences: list[_Fence]) -> list[_Drop]:
    """The stretches to drop, and with them the fences that would be left
    around nothing."""
    inside: dict[_Fence, list[_Drop]] = {}
    kept: list[_Drop] = []
    for drop in dropped:
        fence = _find_fence(fences, drop[0])
        (kept if fence is None else inside.setdefault(fence, [])).append(drop)
    for fence, drops in inside.items():
        start, body, body_end, end = fence
        left = _replace(text[body:body_end], [
            (at - body, min(to, body_end) - body, instead)
            for at, to, instead in drops])
        kept.extend(drops if left.strip() else [(start, end, "")])
    return sorted(kept)


def _replace(text: str, dropped: list[_Drop]) -> str:
    kept: list[str] = []
    at = 0
    for start, end, instead in dropped:
        kept += [text[at:start], instead + "\n" if instead else ""]
        at = end
    return "".join([*kept, text[at:]])


def _find_fences(text: str) -> list[_Fence]:
    """Code blocks as (start, body, end of body, end)."""
    found: list[_Fence] = []
    mark, start, body = "", 0, 0
    for line in _FENCE.finditer(text):
        end = min(line.end() + 1, len(text))
        if not mark:
            mark, start, body = line[1], line.start(), end
        elif line[1].startswith(mark) and not line[2].strip():
            found.append((start, body, line.start(), end))
            mark = ""
    return [*found, (start, body, len(text), len(text))] if mark else found


def _find_fence(fences: list[_Fence], point: int) -> _Fence | None:
    before = bisect_right(fences, point, key=itemgetter(0))
    fence = fences[before - 1] if before else None
    return fence if fence and point < fence[3] else None


def _tidy(text: str) -> str:
    """At most one blank line in a row outside of code; ends trimmed."""
    kept: list[str] = []
    at = 0
    for start, _, _, end in _find_fences(text):
        kept += [_BLANK_LINES.sub("\n\n", text[at:start]), text[start:end]]
        at = end
    kept.append(_BLANK_LINES.sub("\n\n", text[at:]))
    return "".join(kept).strip()
