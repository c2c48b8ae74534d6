"""The running service in the status: the process, its channels, and what
else it says of itself (the gateway)."""

from collections.abc import Iterator
from typing import Any

from claw.config.places import Places
from claw.config.tree import Tree
from claw.core.errors import ClawError
from claw.core.minutes import format_minute, format_span
from claw.storage.queue.reader import open_reader
from claw.wiring.channels.names import list_configured
from claw.wiring.channels.states import (
    STALE_S,
    Running,
    age_s,
    build_state,
    read_gateway,
    read_running,
)
from claw.wiring.checks.check import Check
from claw.wiring.checks.check import Status as CheckStatus
from claw.wiring.checks.traffic import check_traffic, format_ago
from claw.wiring.status.part import Part
from claw.wiring.workspace.place_names import jobs_path, queue_path

_CHANNEL = "channel:"
# The lease of the service that works on a workspace (runtime/service.py,
# which is too heavy to look at it from here).
_LEASE = "listen"


def read_service(places: Places, tree: Tree | None) -> Iterator[Part]:
    """The process, the channels, and each other part that it names."""
    running = _find_running(places)
    parts = {} if running is None or running.age_s > STALE_S \
        else running.parts
    names = [] if tree is None else list_configured(tree)
    yield _describe_process(
        running, "fail" if names else "skip", None if tree is None else
        "claw listen" if names or jobs_path(places).exists()
        else "claw channel setup")
    names += [name.removeprefix(_CHANNEL) for name in parts
              if name.startswith(_CHANNEL)
              and name.removeprefix(_CHANNEL) not in names]
    states = [build_state(name, True, parts) for name in names]
    yield Part("channels", [state.to_json() for state in states], tuple(
        check_traffic(state) if parts else
        Check(f"channels.{state.name}.traffic", "skip",
              "set up; nothing is received" if running is None else
              "set up; nothing is known of it")
        for state in states))
    for name in sorted({"gateway", *parts}):
        if name in parts and not name.startswith(_CHANNEL) \
                and name != "config":
            yield _describe_part(name, parts[name])
        elif name == "gateway":
            yield _describe_gateway(read_gateway(places))


def _find_running(places: Places) -> Running | None:
    """The process that has the lease; the state file alone may be of one
    that stands by."""
    running = read_running(places)
    try:
        with open_reader(queue_path(places)) as reader:
            holder = reader.holder(_LEASE)
    except ClawError:  # none yet, or the part of the queue says it
        return running
    if holder is None or holder.alive is False:
        return None
    if running is not None and running.pid == holder.pid:
        return running
    return Running(holder.pid, "listen", None, 0.0, {})


def _describe_process(running: Running | None, absent: CheckStatus,
                      hint: str | None) -> Part:
    """`absent` is what it is worth where it does not run, `hint` what to do
    then."""
    if running is None:
        return Part("listen", {"running": False}, (Check(
            "listen", absent, "does not run: nothing is received or answered",
            hint),))
    data = {"running": True, **_identify(running)}
    if running.age_s > STALE_S:
        return Part("listen", data, (Check(
            "listen", "fail", f"claw {running.command}, pid {running.pid}: "
            f"it has said nothing for {format_span(running.age_s)}",
            f"is it stopped? ps -o pid,stat,cmd -p {running.pid}"),))
    return Part("listen", data, (_check_running("listen", running),))


def _describe_gateway(alone: Running | None) -> Part:
    """One that `claw listen` does not serve."""
    if alone is None:
        return Part("gateway", None, ())
    part = alone.parts.get("gateway")
    return Part("gateway", {**(part if isinstance(part, dict) else {}),
                            **_identify(alone)},
                (_check_running("gateway", alone, *_read_address(part)),))


def _identify(running: Running) -> dict[str, Any]:
    return {"command": running.command, "pid": running.pid,
            "since": running.since}


def _check_running(name: str, running: Running, *more: str) -> Check:
    since = age_s(running.since)
    return Check(name, "ok", ", ".join(
        (*more, f"claw {running.command}, pid {running.pid}")) + (
        "" if since is None else f", for {format_span(since)} (since "
        f"{format_minute(str(running.since))})"))


def _read_address(part: Any) -> list[str]:
    found = part.get("address") if isinstance(part, dict) else None
    return [str(found)] if found else []


def _describe_part(name: str, part: Any) -> Part:
    """A part as `Component` has it."""
    part = part if isinstance(part, dict) else {}
    status = str(part.get("status", "unknown"))
    if status == "error":
        return Part(name, part, (Check(
            name, "fail", str(part.get("last_error")),
            part.get("hint") or "see the log of claw listen"),))
    ages = [f"last {what} {format_ago(found)}"
            for what in ("receive", "send", "turn")
            if (found := part.get(f"last_{what}"))]
    return Part(name, part, (Check(name, "ok", ", ".join(
        (*_read_address(part), *ages)) or status),))
