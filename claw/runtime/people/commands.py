"""What a person can say to the service itself: /new, /model, /models, /stop,
/why, /cost, /approve, /deny. Commands never reach a model.

Pure but for opening a provider and a look at the cache of models; the
answers' wording is part of what scripts and tests of the reference know.
"""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from claw.core.channel import ChannelMessage
from claw.core.errors import ClawError, ConfigError, StorageError
from claw.core.registry import nearest, nearest_command
from claw.runtime.live import Live, Route
from claw.runtime.message.keys import command_word, registered_name
from claw.security.files import nofollow

STOPPED = "Stop signal sent."
NOTHING_TO_STOP = "No in-flight task for this sender scope."
EVERYTHING_STOPPED = ("Everything is stopped. Messages wait until the owner "
                      "lifts it: claw estop --lift")
OWNERS_ONLY = "This command is for the owner of this bot."
CLEARED = "Conversation history cleared. Starting fresh."
HINT = "Use `/model <model-id>` to set a provider-compatible model."
USAGE = ("Use `/model <model-id>` to change the model, `/models <provider>` "
         "to change the provider.")

CACHED_MODELS = 10
_LONE_WORD = re.compile(r"/[a-z]+")


@dataclass(slots=True)
class Choices:
    """What people chose for their conversations, by history key."""

    routes: dict[str, Route] = field(default_factory=dict)

    def get(self, key: str, live: Live) -> Route:
        return self.routes.get(key, live.route)

    def put(self, key: str, route: Route, live: Live) -> None:
        if route == live.route:
            self.routes.pop(key, None)
        else:
            self.routes[key] = route


@dataclass(slots=True)
class Request:
    """A command in its conversation; `rest` is what stands behind the
    word. `why` and `cost` tell of the last turn and of all of them."""

    rest: str
    key: str
    live: Live
    choices: Choices
    is_stranger: bool
    why: Callable[[], str]
    cost: Callable[[], Awaitable[str]]


@dataclass(slots=True)
class Answer:
    """What a command says; `clears` the conversation."""

    text: str
    clears: bool = False


class Command(NamedTuple):
    """A line of /help, and what answers; None for words that the dispatcher
    obeys before order and permits. `is_public`: for strangers too."""

    help: str
    answer: Callable[[Request], Awaitable[Answer]] | None = None
    is_public: bool = False


def parse(message: ChannelMessage) -> tuple[str, str] | None:
    """The command and the rest of its line, also one that is misspelt;
    None where it is none: it goes to the model as text. At the console a
    lone word behind a slash is one too, as in claw agent."""
    word = command_word(message.content) or ""
    command = COMMANDS.get(word)
    if command is None and _find_near(word) is None and not (
            registered_name(message.channel) == "cli"
            and _LONE_WORD.fullmatch(message.content.strip())):
        return None
    if command is not None and command.answer is None:
        return None
    return word, " ".join(message.content.split()[1:])


async def answer(word: str, request: Request) -> Answer:
    """The answer to a command of `parse`."""
    found = COMMANDS.get(word)
    if found is None or found.answer is None:
        near = None if request.is_stranger else _find_near(word)
        hint = f" Did you mean `{near}`?" if near else ""
        return Answer(f"Unknown command `{word}`.{hint}")
    if request.is_stranger and not found.is_public:
        return Answer(OWNERS_ONLY)
    return await found.answer(request)


def _find_near(word: str) -> str | None:
    """The command that a word misspells."""
    known = ", ".join(COMMANDS).split(", ")
    return None if word in known else nearest_command(word, known)


async def _clear(request: Request) -> Answer:
    return Answer(CLEARED, clears=True)


async def _stop(request: Request) -> Answer:
    """On a channel where it waits its turn, nothing runs by then."""
    return Answer(NOTHING_TO_STOP)


async def _explain(request: Request) -> Answer:
    return Answer(request.why())


async def _tell_cost(request: Request) -> Answer:
    return Answer(await request.cost())


async def _help(request: Request) -> Answer:
    return Answer("\n".join(["Commands:", *(
        f"{words} - {command.help}"
        for words, command in COMMANDS.items() if command.help
        and (command.is_public or not request.is_stranger))]))


async def _choose_provider(request: Request) -> Answer:
    live, choices, key = request.live, request.choices, request.key
    route = choices.get(key, live)
    if not request.rest:
        names = "\n".join(f"  {name}" for name in live.provider_names)
        return Answer(f"Current provider: `{route.provider}`\n"
                      f"Current model: `{route.shown_model}`\n\n{USAGE}\n\n"
                      f"Providers:\n{names}")
    name = next((name for name in live.provider_names
                 if name.lower() == request.rest.lower()), request.rest)
    try:
        if ":" in name and name not in live.provider_names:
            # An address that the owner has not set up: what is asked there
            # gets the prompt, the conversation and perhaps a key.
            raise ConfigError(f"unknown provider {name!r}")
        await live.open_provider(name, None)
    except ClawError as error:
        if not isinstance(error, ConfigError) \
                or "unknown provider" not in error.message:
            return Answer(f"Failed to initialize provider `{name}`. Route "
                          f"unchanged.\nDetails: {error.message}")
        near = nearest(name, live.provider_names)
        hint = f" Did you mean `{near}`?" if near else ""
        return Answer(f"Unknown provider `{name}`. Use `/models` to list "
                      f"valid providers.{hint}")
    choices.put(key, Route(name, route.model), live)
    return Answer(
        f"Provider switched to `{name}` for this sender session. "
        f"Current model is `{route.shown_model}`.\n{HINT}")


async def _choose_model(request: Request) -> Answer:
    live, choices, key = request.live, request.choices, request.key
    route = choices.get(key, live)
    if not request.rest:
        return Answer(_list_models(route, live))
    wanted = request.rest.strip().strip("`").strip()
    if not wanted:
        return Answer("Model ID cannot be empty. Use `/model <model-id>`.")
    for row in live.routes:
        if wanted.lower() in (row.model.lower(), row.hint.lower()):
            route = Route(row.provider, row.model, row.api_key)
            break
    else:
        route = Route(route.provider, wanted, route.api_key)
    choices.put(key, route, live)
    return Answer(f"Model switched to `{route.shown_model}` (provider: "
                  f"`{route.provider}`). Context preserved.")


def _list_models(route: Route, live: Live) -> str:
    lines = [f"Current model: `{route.shown_model}` (provider: "
             f"`{route.provider}`)", USAGE]
    if live.routes:
        lines.append("\nRoutes:")
        lines += [f"  `{r.hint}` → {r.model} ({r.provider})"
                  for r in live.routes]
    if known := cached_models(live.workspace, route.provider):
        lines.append("\nModels of this provider:")
        lines += [f"  {name}" for name in known]
    else:
        lines.append(f"\nTo see its models: claw provider models "
                     f"{route.provider}")
    return "\n".join(lines)


def cached_models(workspace: Path, provider: str) -> list[str]:
    """Up to ten model ids of <workspace>/state/models_cache.json."""
    try:
        entries: Any = json.loads(nofollow.read(
            workspace, "state/models_cache.json"))["entries"]
        for entry in entries:
            if entry["provider"] == provider:
                return [str(m) for m in entry["models"]][:CACHED_MODELS]
    except (OSError, StorageError, ValueError, KeyError, TypeError):
        return []  # a cache: as good as absent
    return []


# The words that a channel's people use, in the order of /help.
COMMANDS = {
    "/new": Command("forget this conversation and start fresh", _clear,
                    is_public=True),
    "/stop": Command("stop the answer that is being made", _stop,
                     is_public=True),
    "/model": Command("show or change the model", _choose_model),
    "/models": Command("show or change the provider", _choose_provider),
    "/why": Command("what happened in the last answer", _explain),
    "/cost": Command("tokens and money used in this conversation",
                     _tell_cost),
    "/approve, /deny": Command("answer a question about a tool call"),
    "/reply": Command("answer a question of the agent"),
    "/estop": Command("stop everything until it is lifted at the machine"),
    "/help": Command("", _help, is_public=True),
}
