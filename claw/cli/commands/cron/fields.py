"""Options of claw cron add and update as fields of a job."""

from collections.abc import Mapping
from typing import Any

from claw.cli.commands.cron.times import read_span
from claw.cli.terminal.prompt import split_names
from claw.config.tree import Tree
from claw.core.errors import UsageError
from claw.core.registry import nearest
from claw.memory.none import NoneMemory
from claw.security.policy import SecurityPolicy
from claw.storage.jobs.model import (
    MISSED,
    MOST_S,
    SESSION_TARGETS,
    Delivery,
)
from claw.wiring.listen.send import parse_target
from claw.wiring.tools.build import build_tools

NONE = "none"  # takes an option away
_LEVELS = ("readonly", "supervised")


def read_fields(given: Mapping[str, Any], tree: Tree) -> dict[str, Any]:
    """What was said of a job besides its schedule, prompt and policy, as
    fields of a JobSpec. Raises UsageError and ConfigError."""
    fields: dict[str, Any] = {
        name: _clear(given[name]) for name in ("name", "precheck", "model")
        if given[name] is not None}
    for option, name, known in (("--missed", "missed", MISSED),
                                ("--session", "session", SESSION_TARGETS)):
        if given[name] is not None:
            fields["session_target" if name == "session" else name] = \
                _choose(option, given[name], known)
    if given["tools"] is not None:
        fields["allowed_tools"] = tuple(split_names(given["tools"]))
    for option, name, field in (("--dead-man", "dead_man", "max_silence_s"),
                                ("--timeout", "timeout", "timeout_s")):
        if given[name] is not None:
            fields[field] = None if given[name] == NONE \
                else read_span(option, given[name], MOST_S)
    if given["monthly_limit"] is not None:
        fields["monthly_cents"] = given["monthly_limit"] * 100 or None
    if given["keep"] is not None:
        fields["delete_after_run"] = not given["keep"]
    return fields | _read_delivery(given, tree)


def _read_delivery(given: Mapping[str, Any], tree: Tree) -> dict[str, Any]:
    best_effort = not given["must_deliver"]
    if given["to"] is None:
        return {}
    if given["to"] == NONE:
        return {"delivery": Delivery()}
    channel, recipient = parse_target(tree, given["to"])
    return {"delivery": Delivery("announce", channel, recipient,
                                 best_effort=best_effort)}


def read_policy_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """What its runs may do less, as a job's policy has it."""
    found: dict[str, Any] = {}
    if given["level"] is not None:
        found["level"] = _choose("--level", given["level"], _LEVELS)
    for option, name in (("exclude_tools", "excluded_tools"),
                         ("allow_commands", "allowed_commands")):
        if given[option] is not None:
            found[name] = split_names(given[option])
    if given["max_actions"] is not None:
        found["max_actions_per_hour"] = given["max_actions"]
    if given["max_cost"] is not None:
        found["max_cost_per_turn_cents"] = int(given["max_cost"] * 100 + 1e-6)
    return found


def check_tools(given: Mapping[str, Any], tree: Tree, policy: SecurityPolicy
                ) -> None:
    """Raises ConfigError for a name that no tool has."""
    names = [name for option in ("tools", "exclude_tools")
             for name in split_names(given[option] or "") if name != "*"]
    build_tools(tree, policy, names=names, memory=NoneMemory())


def _choose(option: str, value: str, known: tuple[str, ...]) -> str:
    if value in known:
        return value
    near = nearest(value.lower(), known)
    raise UsageError(f"{option}: {value!r:.80} is none of "
                     f"{', '.join(known)}",
                     hint=f'did you mean "{near}"?' if near else None)


def _clear(text: str) -> str | None:
    text = text.strip()
    return None if text in ("", NONE) else text


