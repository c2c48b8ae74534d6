"""What is wrong with a channel: the probes behind `claw channel doctor`."""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from claw.channels import REGISTRY
from claw.config.tree import Tree
from claw.core.channel import Channel, ClosesChannel, Diagnoses, Finding
from claw.core.errors import ClawError, ConfigError
from claw.core.value import Value
from claw.runtime.health import read_state
from claw.runtime.settings import ChannelsSettings
from claw.wiring.channels import CONSOLE, SECTION, configured, open_channel
from claw.wiring.checks import Check
from claw.wiring.place_names import state_path

HEALTH_S = 10.0
STALE_S = 20.0


class ChannelState(Value):
    """One row of `claw channel list`. `status` is "ok", "error",
    "starting" or "unknown" (claw listen does not run); times RFC 3339."""

    name: str
    configured: bool
    status: str = "unknown"
    last_receive: str | None = None
    last_send: str | None = None
    restarts: int = 0
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "configured": self.configured,
                "status": self.status, "last_receive": self.last_receive,
                "last_send": self.last_send, "restarts": self.restarts,
                "error": self.error}


def states(tree: Tree) -> list[ChannelState]:
    """Every channel that claw knows: the console, then those that are
    configured, then the others."""
    names = configured(tree)
    others = [n for n in REGISTRY.names() if n not in names and n != CONSOLE]
    console = tree.decode(SECTION, ChannelsSettings).cli
    live = running(tree)
    return [_state(CONSOLE, console or CONSOLE in names, live),
            *(_state(n, True, live) for n in names if n != CONSOLE),
            *(_state(n, False, live) for n in others)]


def running(tree: Tree) -> dict[str, Any] | None:
    """The components of a running `claw listen`; None where none runs."""
    state = read_state(state_path(tree.places))
    if state is None or not isinstance(state.get("components"), dict):
        return None
    age = age_s(state.get("written_at"))
    if age is None or age > STALE_S:
        return None
    parts: dict[str, Any] = state["components"]
    return parts


def age_s(stamp: object) -> float | None:
    """Seconds since an RFC 3339 time; None where it is none."""
    try:
        moment = datetime.fromisoformat(str(stamp))
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return (datetime.now(UTC) - moment).total_seconds()


def _state(name: str, is_configured: bool,
           live: dict[str, Any] | None) -> ChannelState:
    part = (live or {}).get(f"channel:{name}")
    if not isinstance(part, dict):
        return ChannelState(name, is_configured)
    return ChannelState(
        name, is_configured, str(part.get("status")),
        part.get("last_receive"), part.get("last_send"),
        int(part.get("restart_count") or 0), part.get("last_error"))


def channel_checks(tree: Tree, names: Sequence[str] = ()
                   ) -> Iterator[Check]:
    """Every step of every channel. Raises ConfigError for a name that is
    not configured."""
    known = configured(tree)
    for name in names:
        if name not in known:
            REGISTRY.load(name)
            raise ConfigError(
                f"channel {name!r} is not configured",
                hint=f"add [{SECTION}.{name}] to config.toml, or see: claw "
                     "channel list")
    if not known:
        yield Check("channels.none", "skip", "no channel is configured",
                    "claw config set channels_config.telegram.bot_token "
                    "TOKEN; or try: claw listen --channel cli")
        return
    live = running(tree)
    for name in names or known:
        yield from _one(tree, name)
        yield _traffic(name, _state(name, True, live), live is not None)


def _one(tree: Tree, name: str) -> Iterator[Check]:
    try:
        channel = open_channel(tree, name,
                               lambda event, **fields: None).channel
        findings = asyncio.run(_diagnosed(channel))
    except ClawError as error:
        yield Check(f"channels.{name}.{error.kind}", "fail", error.message,
                    error.hint)
        return
    for found in findings:
        yield Check(f"channels.{name}.{found.id}", found.status,  # type: ignore[arg-type]
                    found.detail, found.hint)


async def _diagnosed(channel: Channel) -> list[Finding]:
    try:
        if isinstance(channel, Diagnoses):
            return await channel.diagnose()
        async with asyncio.timeout(HEALTH_S):
            well = await channel.health_check()
    except TimeoutError:
        return [Finding("health", "fail", f"timed out (>{HEALTH_S:g}s)",
                        "check the network and the address of its server")]
    finally:
        if isinstance(channel, ClosesChannel):
            await channel.aclose()
    return [Finding("health", "ok", "healthy") if well else
            Finding("health", "fail", "unhealthy (auth/config/network)",
                    "check its settings with: claw config show")]


def _traffic(name: str, state: ChannelState, listens: bool) -> Check:
    """What a running `claw listen` says of its last receive and send."""
    if not listens:
        return Check(f"channels.{name}.traffic", "skip",
                     "claw listen does not run here")
    received, sent = age_s(state.last_receive), age_s(state.last_send)
    detail = (f"{state.status}; last receive {_ago(received)}, last send "
              f"{_ago(sent)}, restarted {state.restarts} times")
    if state.status == "error":
        return Check(f"channels.{name}.traffic", "fail",
                     f"{detail}: {state.error}",
                     "see the log of claw listen")
    return Check(f"channels.{name}.traffic", "ok", detail)


def _ago(seconds: float | None) -> str:
    return "never" if seconds is None else f"{max(0, seconds):.0f} s ago"
