"""Tries hooks one by one: what each answers to the same event."""

import time
from typing import Any, Literal, TypeAlias

from claw.agent.hooks.commands.events import EVENTS
from claw.agent.hooks.commands.hook import CommandHook
from claw.agent.hooks.runner import HookRunner, name_hook
from claw.core.hooks import Cancel
from claw.core.value import Value, made

Outcome: TypeAlias = Literal["continued", "changed", "cancelled", "failed",
                             "not matched"]


class Tried(Value):
    """What one answered. `changed` are the fields that it changed,
    `reason` is that of a no or of a failure."""

    hook: str
    outcome: Outcome
    reason: str = ""
    changed: dict[str, Any] = made(factory=dict)
    duration_ms: int = 0

    def to_json(self) -> dict[str, Any]:
        return {"hook": self.hook, "outcome": self.outcome,
                "reason": self.reason or None, "changed": self.changed,
                "duration_ms": self.duration_ms}


async def try_hooks(hooks: HookRunner, event: str,
                    arguments: tuple[Any, ...]) -> list[Tried]:
    """Each by itself, in order; none sees what another one changed."""
    tried = []
    for hook in hooks.find(event):
        name, log = name_hook(hook), _Failures()
        if isinstance(hook, CommandHook) and not hook.is_for(arguments):
            tried.append(Tried(name, "not matched"))
            continue
        began = time.monotonic()
        returned = await getattr(HookRunner([hook], log), event)(*arguments)
        took = round((time.monotonic() - began) * 1000)
        if log.error:
            tried.append(Tried(name, "failed", log.error, {}, took))
        elif isinstance(returned, Cancel):
            tried.append(Tried(name, "cancelled", returned.reason, {}, took))
        else:
            changed = _compare(event, arguments, returned)
            tried.append(Tried(name, "changed" if changed else "continued",
                               "", changed, took))
    return tried


class _Failures:
    """A log that keeps why a hook failed."""

    def __init__(self) -> None:
        self.error = ""

    def __call__(self, event: str, **fields: object) -> None:
        if event == "hook_failed":
            self.error = str(fields["error"])


def _compare(event: str, before: tuple[Any, ...], returned: Any
             ) -> dict[str, Any]:
    """The fields of an event that are others now."""
    if returned is None:  # it looked on
        return {}
    after = returned if isinstance(returned, tuple) else (returned,)
    write = EVENTS[event].write
    old = write(*before)
    return {name: value for name, value in write(*after).items()
            if value != old[name]}
