"""What a person can say to the service itself: /new, /model, /models, /stop,
/why, /cost, /approve, /deny. Commands never reach a model.

Pure but for opening a provider and a look at the cache of models; the
answers' wording is part of what scripts and tests of the reference know.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claw.core.channel import ChannelMessage
from claw.core.errors import ClawError, ConfigError
from claw.core.registry import nearest
from claw.runtime.keys import command_word
from claw.runtime.live import Live, Route

STOPPED = "Stop signal sent."
NOTHING_TO_STOP = "No in-flight task for this sender scope."
CLEARED = "Conversation history cleared. Starting fresh."
HINT = "Use `/model <model-id>` to set a provider-compatible model."
USAGE = ("Use `/model <model-id>` to change the model, `/models <provider>` "
         "to change the provider.")

# Words that a channel's people use; others go to the model as text.
WORDS = ("/new", "/model", "/models", "/why", "/cost", "/help")
CACHED_MODELS = 10


@dataclass(slots=True)
class Choices:
    """What people chose for their conversations, by history key."""

    routes: dict[str, Route] = field(default_factory=dict)

    def of(self, key: str, live: Live) -> Route:
        return self.routes.get(key, live.route)

    def put(self, key: str, route: Route, live: Live) -> None:
        if route == live.route:
            self.routes.pop(key, None)
        else:
            self.routes[key] = route


@dataclass(slots=True)
class Answer:
    """What a command says; `clears` the conversation."""

    text: str
    clears: bool = False


def parse(message: ChannelMessage) -> tuple[str, str] | None:
    """The command and the rest of its line; None where it is none."""
    word = command_word(message.content)
    if word not in WORDS:
        return None
    return word, " ".join(message.content.split()[1:])


async def answer(word: str, rest: str, key: str, live: Live,
                 choices: Choices, why: Callable[[], str],
                 cost: Callable[[], Awaitable[str]]) -> Answer:
    """The answer to a command of `parse`."""
    if word == "/new":
        return Answer(CLEARED, clears=True)
    if word == "/models":
        return Answer(await _models(rest, key, live, choices))
    if word == "/model":
        return Answer(_model(rest, key, live, choices))
    if word == "/why":
        return Answer(why())
    if word == "/cost":
        return Answer(await cost())
    return Answer(HELP)


HELP = """Commands:
/new - forget this conversation and start fresh
/stop - stop the answer that is being made
/model - show or change the model
/models - show or change the provider
/why - what happened in the last answer
/cost - tokens and money used in this conversation
/approve, /deny - answer a question about a tool call"""


async def _models(rest: str, key: str, live: Live,
                  choices: Choices) -> str:
    route = choices.of(key, live)
    if not rest:
        names = "\n".join(f"  {name}" for name in live.provider_names)
        return (f"Current provider: `{route.provider}`\n"
                f"Current model: `{route.model}`\n\n{USAGE}\n\n"
                f"Providers:\n{names}")
    name = _alias(rest, live)
    try:
        _must_be_a_name(name, live)
        await live.open_provider(name, None)
    except ConfigError as error:
        if "unknown provider" not in error.message:
            return _not_opened(name, error)
        near = nearest(name, live.provider_names)
        hint = f" Did you mean `{near}`?" if near else ""
        return (f"Unknown provider `{name}`. Use `/models` to list valid "
                f"providers.{hint}")
    except ClawError as error:
        return _not_opened(name, error)
    choices.put(key, Route(name, route.model), live)
    return (f"Provider switched to `{name}` for this sender session. "
            f"Current model is `{route.model}`.\n{HINT}")


def _must_be_a_name(name: str, live: Live) -> None:
    """Raise ConfigError for an address that the owner has not set up: what
    is asked there gets the prompt, the conversation and perhaps a key."""
    if ":" in name and name not in live.provider_names:
        raise ConfigError(f"unknown provider {name!r}")


def _alias(rest: str, live: Live) -> str:
    for name in live.provider_names:
        if name.lower() == rest.lower():
            return name
    return rest


def _not_opened(name: str, error: ClawError) -> str:
    return (f"Failed to initialize provider `{name}`. Route unchanged.\n"
            f"Details: {error.message}")


def _model(rest: str, key: str, live: Live, choices: Choices) -> str:
    route = choices.of(key, live)
    if not rest:
        return _model_overview(route, live)
    wanted = rest.strip().strip("`").strip()
    if not wanted:
        return "Model ID cannot be empty. Use `/model <model-id>`."
    for row in live.routes:
        if wanted.lower() in (row.model.lower(), row.hint.lower()):
            route = Route(row.provider, row.model, row.api_key)
            break
    else:
        route = Route(route.provider, wanted, route.api_key)
    choices.put(key, route, live)
    return (f"Model switched to `{route.model}` (provider: "
            f"`{route.provider}`). Context preserved.")


def _model_overview(route: Route, live: Live) -> str:
    lines = [f"Current model: `{route.model}` (provider: "
             f"`{route.provider}`)", USAGE]
    if live.routes:
        lines.append("\nRoutes:")
        lines += [f"  `{r.hint}` → {r.model} ({r.provider})"
                  for r in live.routes]
    known = cached_models(live.workspace, route.provider)
    if known:
        lines.append("\nModels of this provider:")
        lines += [f"  {name}" for name in known]
    else:
        lines.append(f"\nTo see its models: claw provider models "
                     f"{route.provider}")
    return "\n".join(lines)


def cached_models(workspace: Path, provider: str) -> list[str]:
    """Up to ten model ids of <workspace>/state/models_cache.json."""
    path = workspace / "state" / "models_cache.json"
    try:
        entries: Any = json.loads(path.read_text("utf-8"))["entries"]
        for entry in entries:
            if entry["provider"] == provider:
                return [str(m) for m in entry["models"]][:CACHED_MODELS]
    except (OSError, ValueError, KeyError, TypeError):
        return []  # a cache: as good as absent
    return []
