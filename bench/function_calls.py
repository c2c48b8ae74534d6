"""Calls of the Berkeley Function Calling Leaderboard, written in every form
of text that models use, and read back.

    git clone --depth 1 https://github.com/ShishirPatil/gorilla
    python bench/function_calls.py \\
        gorilla/berkeley-function-call-leaderboard/bfcl_eval/data \\
        [--items 100] [--only hermes,kimi] [--templates DIRECTORY] [--show 5]

The model is played: it always writes the calls that the leaderboard calls
right. The forms are those of tests/agent/call_forms.py and, with
--templates, what the *.jinja chat templates in DIRECTORY write themselves
(models/templates of ggml-org/llama.cpp, examples of vllm-project/vllm;
needs jinja2). A call is written alone, with text before, behind and
between, and behind thoughts that hold the same call; every answer also
streams in pieces cut at random. bench/function_calls_wires.py does the same
over the wires of the providers.

    n          answers
    exact      the share whose calls come back: names, values, types, order
    fits       the same for calls whose values fit the types of the
               leaderboard's own documents, every text of a type
    (then)     exact for groups of categories
    clean      the share whose text comes back without a trace of the calls
    shown      answers of which a streamed piece showed part of a call
    ms, max    CPU time of reading one answer, median and longest

What does not fit can't be told where a form writes values as plain text and
leaves it to the schema whether 42 is a number (GLM, Qwen Coder, MiniMax).

The second table holds answers that mean no call: prose, calls that are
shown in code, quotations and sentences, the tools as JSON, calls of tools
that are not on offer. "runs" counts calls that would have run. The third
reads one long answer of each kind at two lengths; 2.0 is linear.
"""

import argparse
import functools
import json
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
from function_calls_data import (
    TURNS,
    WITH,
    WITHOUT,
    Calls,
    Item,
    read_category,
)

from claw.agent.parsing import parse_tool_calls
from claw.agent.rendering.signs import CallFilter
from claw.core.tool import ToolSpec
from claw.text.think import ThinkFilter

sys.path.append(str(Path(__file__).parents[1] / "tests" / "agent"))
from call_forms import FORMS, WHOLE

Write = Callable[[Calls, list[ToolSpec]], str]
BEFORE, BETWEEN, BEHIND = "I look it up.", "Now the next.", "That is all."
# JSON and Python alone mean a call only where nothing stands beside them.
_WITHOUT_MARKS = re.compile(r"\{|\[(?!TOOL)")
GROUPS = {
    "simple": ("simple_python",), "multiple": ("multiple",),
    "parallel": ("parallel", "parallel_multiple"),
    "live": tuple(name for name in WITH if name.startswith("live")),
    "java/js": ("simple_java", "simple_javascript"), "turns": TURNS}


class Outcome(NamedTuple):
    group: str
    fits: bool
    exact: bool
    clean: bool
    shown: bool
    seconds: float
    failure: dict[str, Any] | None


def arrange(write: Write, item: Item, number: int, *, alone: bool
            ) -> tuple[str, str]:
    """(the answer, the text in it) in one of five arrangements."""
    specs = [tool for tool in item.tools
             if tool.name in {name for name, _ in item.calls}]
    body = write(item.calls, specs)
    kind = number % 5
    if kind == 4:
        return f"<think>I could write {body}, yes.</think>\n{body}", ""
    if kind == 0 or alone or _WITHOUT_MARKS.match(body):
        return body, ""
    if kind == 3 and len(item.calls) > 1:
        rest = write(item.calls[1:], specs)
        return (f"{write(item.calls[:1], specs)}\n{BETWEEN}\n{rest}", BETWEEN)
    if kind == 1:
        return f"{BEFORE}\n\n{body}", BEFORE
    return f"{BEFORE}\n{body}\n{BEHIND}", f"{BEFORE}\n{BEHIND}"


def streams(text: str, rng: random.Random) -> str:
    """What is shown while the answer comes in pieces."""
    think, held, at = ThinkFilter(), CallFilter(), 0
    shown = []
    while at < len(text):
        size = rng.choice((1, 2, 3, 7, 40))
        shown.append(held.feed(think.feed(text[at:at + size])))
        at += size
    shown.append(held.feed(think.finish()))
    return "".join(shown)


def same(found: Any, meant: Any) -> bool:
    """Equal in value and in type: 5 is neither 5.0 nor "5"."""
    return json.dumps(found, sort_keys=True) == json.dumps(
        meant, sort_keys=True)


@functools.cache
def build_validator(schema: str) -> Any:
    return jsonschema.Draft202012Validator(json.loads(schema))


def fits(item: Item) -> bool:
    """Whether the documents say of every value what it is."""
    schemas = {tool.name: tool.parameters for tool in item.tools}
    return all(
        build_validator(json.dumps(schemas[name])).is_valid(arguments)
        and all("type" in schemas[name]["properties"].get(key, {})
                for key, value in arguments.items() if isinstance(value, str))
        for name, arguments in item.calls)


def play(name: str, write: Write, item: Item, group: str,
         number: int) -> Outcome | None:
    """One answer; None where the form has no way to write it."""
    try:
        answer, text = arrange(write, item, number,
                               alone=name.removesuffix("*") in WHOLE)
    except ValueError:
        return None
    known = {tool.name: tool.parameters for tool in item.tools}
    start = time.process_time()
    parsed = parse_tool_calls(answer, known)
    seconds = time.process_time() - start
    found = [[call.name, call.arguments] for call in parsed.calls]
    exact = same(found, item.calls)
    shown = streams(answer, random.Random(number)).strip()
    leaked = bool(shown) and not text.startswith(shown)
    return Outcome(group, fits(item), exact, parsed.text == text, leaked,
                   seconds, None if exact and not leaked else {
                       "form": name, "id": item.id, "answer": answer,
                       "meant": item.calls, "found": found, "shown": shown})


def pick(items: list[Item], most: int) -> list[Item]:
    if not most or len(items) <= most:
        return items
    return random.Random(0).sample(items, most)


def load_templates(folder: Path | None) -> Iterator[tuple[str, Write]]:
    if folder is None:
        return
    from function_calls_templates import Template
    ask: Calls = [("f", {"a": "x"})]
    spec = ToolSpec("f", "d", {"type": "object", "properties": {
        "a": {"type": "string"}}})
    for path in sorted(folder.glob("*.jinja")):
        try:
            template = Template(path)
            template.render(ask, [spec])
        except ValueError:
            continue  # a template without tools
        yield path.stem + "*", template.render


def show_row(name: str, outcomes: list[Outcome]) -> None:
    exact = [share([one.exact for one in outcomes if one.group == group])
             for group in GROUPS]
    times = [one.seconds * 1e3 for one in outcomes]
    print(f"{name[:38]:38}{len(outcomes):>7}"
          + "".join(f"{cell:>9}" for cell in (
              share([one.exact for one in outcomes]),
              share([one.exact for one in outcomes if one.fits]), *exact,
              share([one.clean for one in outcomes])))
          + f"{sum(one.shown for one in outcomes):>7}"
          + f"{statistics.median(times):>8.2f}{max(times):>8.1f}", flush=True)


def share(values: list[bool]) -> str:
    if not values:
        return "-"
    return "100" if all(values) else f"{100 * sum(values) / len(values):.2f}"


def play_calls(items: dict[str, list[tuple[Item, int]]],
               forms: dict[str, Write]) -> list[dict[str, Any]]:
    print(f"{'form (* its own template)':38}{'n':>7}" + "".join(
        f"{name:>9}" for name in ("exact", "fits", *GROUPS, "clean"))
        + f"{'shown':>7}{'ms':>8}{'max':>8}")
    failures = []
    every: list[Outcome] = []
    for name, write in forms.items():
        outcomes = [found for group, held in items.items()
                    for item, number in held
                    if (found := play(name, write, item, group, number))]
        if not outcomes:
            continue
        show_row(name, outcomes)
        every += outcomes
        failures += [one.failure for one in outcomes if one.failure]
    show_row("all", every)
    return failures


# -- none where none is meant

def list_shows(item: Item, other: Item, forms: dict[str, Write]
               ) -> Iterator[tuple[str, str]]:
    """(kind, an answer that means no call) with the tools of an item."""
    tool = item.tools[0]
    arguments = dict.fromkeys(tool.parameters.get("properties", {}), "x")
    call = json.dumps({"name": tool.name, "arguments": arguments})
    written = ", ".join(f"{name}='x'" for name in arguments)
    spec = {"name": tool.name, "description": tool.description,
            "parameters": tool.parameters}
    yield "prose", f"None of my tools fits: {item.question}"
    yield "prose", (f"I would call {tool.name}({written}), but nobody said "
                    f"with which values. {item.question}")
    yield "prose", (f"- {tool.name}({written})\n- [{tool.name}({written})]\n"
                    "\nThese are your choices.")
    yield "prose", f"The function `{tool.name}` takes {call}."
    yield "JSON asked for", ("This is the JSON I would send:\n```json\n"
                             f"{call}\n```\nI have not sent it.")
    yield "JSON asked for", f"I would send {call} and wait."
    yield "JSON asked for", f"It looks like this:\n\n{call}\n\nShall I?"
    yield "tools", json.dumps(spec)
    yield "tools", json.dumps([spec])
    yield "tools", json.dumps([{"type": "function", "function": spec}])
    yield "tools", json.dumps({"tools": [spec]})
    yield "tools", json.dumps({"tool": tool.name, "works": True})
    yield "tools", json.dumps([one.name for one in item.tools])
    others = [tool for tool in other.tools if tool.name not in {
        one.name for one in item.tools}]
    for write in forms.values():
        try:
            body = write([(tool.name, arguments)], [tool])
            away = [write([(one.name, {"x": 1})], [one])
                    for one in others[:1]]
        except ValueError:
            continue
        yield "code", f"So:\n```\n{body}\n```\nThat is the form."
        yield "code", f"So:\n~~~~xml\n{body}\n~~~~\nThat is the form."
        yield "code", "So:\n\n" + "".join(
            f"    {line}\n" for line in body.split("\n")) + "\nDone."
        if "`" not in body and "\n" not in body:
            yield "code", f"Write `{body}` for that."
        yield "quotation", "The page says:\n" + "".join(
            f"> {line}\n" for line in body.split("\n")) + "\nI left it."
        yield "thoughts", f"<think>Perhaps {body}</think>\nNo tool fits."
        for text in away:
            yield "not on offer", text


def play_shows(items: list[Item], forms: dict[str, Write]
               ) -> list[dict[str, Any]]:
    counts: dict[str, list[int]] = {}
    failures = []
    items = [item for item in items if item.tools]
    for number, item in enumerate(items):
        known = {tool.name: tool.parameters for tool in item.tools}
        for kind, answer in list_shows(item, items[number - 1], forms):
            runs = [call for call in parse_tool_calls(answer, known).calls
                    if call.name in known]
            counts.setdefault(kind, []).append(len(runs))
            if runs:
                failures.append({"form": kind, "id": item.id,
                                 "answer": answer, "found": str(runs)})
    print(f"\n{'no call is meant':38}{'n':>9}{'runs':>9}")
    for kind, runs in counts.items():
        print(f"{kind:38}{len(runs):>9}{sum(runs):>9}")
    return failures


# -- long answers

def list_long(size: int, forms: dict[str, Write]) -> Iterator[tuple[str, str]]:
    """(name, an answer of about `size` characters)"""
    text = "Words of an answer, <b>some</b> of them [marked] {so}. " \
        * (size // 55)
    yield "prose", text
    yield "one mark, then prose", "<tool_call>" + text
    for sign in ("<tool_call>", "[TOOL_CALLS]", "<invoke name=\"f\">", "[f(",
                 "{\"name\": \"f\", ", "<think>", "```\n", "<|tool_call>call:",
                 "<|open|>call tool=\"f\"", "]<]minimax[>[<tool_call>",
                 "<|tool_call_start|>[f(a=\"", "<|tool_call>call:f{a:[",
                 "<function_calls>f(a='x'y", "<invoke name=\"f\"><parameter "
                 "name=\"a\">", "<tool_call><think>"):
        yield f"{sign!r} again and again", sign * (size // len(sign))
    for name, write in forms.items():
        one: Calls = [("f", {"a": text})]
        spec = ToolSpec("f", "d", {"type": "object", "properties": {
            "a": {"type": "string"}}})
        try:
            yield f"{name}, one argument", write(one, [spec])
            many = one[:0] + [("f", {"a": "x"})] * (size // 80)
            yield f"{name}, many calls", write(many, [spec])
        except ValueError:
            continue


def play_long(size: int, forms: dict[str, Write]) -> None:
    print(f"\n{'a long answer':48}{'MB':>8}{'ms':>9}{'twice':>9}"
          f"{'ratio':>7}")
    known = {"f": {"type": "object", "properties": {
        "a": {"type": "string"}}}}
    for (name, once), (_, twice) in zip(
            list_long(size // 2, forms), list_long(size, forms), strict=True):
        first, second = (min(_time(text, known) for _ in range(2))
                         for text in (once, twice))
        print(f"{name[:48]:48}{len(twice) / 1e6:>8.2f}{first:>9.1f}"
              f"{second:>9.1f}{second / max(first, 0.01):>7.2f}", flush=True)


def _time(text: str, known: dict[str, Any]) -> float:
    start = time.process_time()
    parse_tool_calls(text, known)
    return (time.process_time() - start) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--items", type=int, default=100,
                        help="at most so many of each category; 0: all")
    parser.add_argument("--only", default="",
                        help="only forms whose name holds one of these")
    parser.add_argument("--templates", type=Path)
    parser.add_argument("--show", type=int, default=0,
                        help="print so many failures of each form")
    parser.add_argument("--long", type=int, default=1_000_000,
                        help="characters of the long answers; 0: none")
    options = parser.parse_args()
    forms: dict[str, Write] = {
        name: lambda calls, _, form=form: form(calls)
        for name, form in FORMS.items()}
    forms |= dict(load_templates(options.templates))
    forms = {name: write for name, write in forms.items() if any(
        part in name for part in options.only.split(","))}
    items = {group: [(item, number) for name in names for number, item
                     in enumerate(pick(read_category(
                         options.directory, name), options.items))]
             for group, names in GROUPS.items()}
    failures = play_calls(items, forms)
    failures += play_shows([item for name in WITHOUT for item in pick(
        read_category(options.directory, name), options.items)], forms)
    if options.long:
        play_long(options.long, forms)
    told: dict[str, int] = {}
    for failure in failures:
        told[failure["form"]] = told.get(failure["form"], 0) + 1
        if told[failure["form"]] <= options.show:
            print(json.dumps(failure, ensure_ascii=False))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
