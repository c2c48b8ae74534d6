"""What is wrong with the bot, step by step: the rows of `claw channel doctor
mattermost`. The WebSocket is opened and closed; nothing is read from it.
"""

from collections.abc import Iterable

from claw.channels.access import AllowList
from claw.channels.connection import Connection
from claw.channels.mattermost.api import Api
from claw.channels.mattermost.live import Event, Live
from claw.channels.mattermost.settings import MattermostSettings
from claw.channels.mattermost.wire import DIRECT, GROUP, is_whole_id
from claw.channels.probe import probe
from claw.core.abilities import Finding
from claw.core.errors import AuthError, ClawError
from claw.core.log import silent
from claw.net.addresses import is_address, is_loopback

_STEP_S = 5.0
_TABLE = "channels_config.mattermost"


async def diagnose(api: Api, allowed: AllowList,
                   settings: MattermostSettings) -> list[Finding]:
    """The way's rows, then token, websocket, channels, allow_list."""
    if not is_address(api.url):
        return [Finding("address", "fail", f"{_TABLE}.url is no http address",
                        f"claw config set {_TABLE}.url "
                        "https://chat.example.org"),
                *_skip(("token", "websocket", "channels")),
                _allow_list(allowed)]
    rows = await probe(api.url, _STEP_S, proxy_url=settings.proxy_url)
    if any(row.status == "fail" for row in rows):
        return [*rows, *_skip(("token", "websocket", "channels")),
                _allow_list(allowed)]
    if api.url.startswith("http:") and not is_loopback(api.url):
        rows.append(Finding("encryption", "warn", "plain http: the token "
                            "travels readable", f"use https:// in {_TABLE}"
                            ".url"))
    rows.append(await _token(api))
    if rows[-1].status == "fail":
        rows += _skip(("websocket", "channels"))
    else:
        rows += [await _websocket(api, settings),
                 await _channels(api, settings)]
    return [*rows, _allow_list(allowed)]


def _skip(names: Iterable[str]) -> list[Finding]:
    return [Finding(name, "skip", "a step before it failed")
            for name in names]


async def _token(api: Api) -> Finding:
    try:
        me = await api.me(fresh=True, timeout_s=_STEP_S)
    except ClawError as error:
        hint = None if isinstance(error, AuthError) \
            else f"is {_TABLE}.url the address of Mattermost?"
        return Finding("token", "fail", error.message, error.hint or hint)
    if me.is_bot:
        return Finding("token", "ok", f"it is the bot @{me.username}")
    return Finding("token", "warn", f"it is the person @{me.username}, whose "
                   "own messages claw does not hear",
                   "make a bot account: claw channel setup mattermost")


class _Greeted(Exception):
    """The WebSocket works."""


async def _websocket(api: Api, settings: MattermostSettings) -> Finding:
    if settings.transport == "polling":
        return Finding("websocket", "skip", "transport is polling")

    async def greet(event: Event) -> None:
        raise _Greeted

    async def opened() -> None:
        raise _Greeted
    try:
        await Live(api, Connection(silent), silent).run(greet, opened)
    except _Greeted:
        return Finding("websocket", "ok", "it greets")
    except ClawError as error:
        auto = settings.transport == "auto"
        return Finding(
            "websocket", "warn" if auto else "fail", error.message
            + ("; posts are polled every 3 s" if auto else ""),
            "let the proxy before Mattermost pass on the headers Upgrade "
            "and Connection")
    return Finding("websocket", "fail", "it was closed at once",
                   "try again")


async def _channels(api: Api, settings: MattermostSettings) -> Finding:
    try:
        found = await api.channels()
    except ClawError as error:
        return Finding("channels", "fail", error.message, error.hint)
    rooms = [c for c in found if c.type not in (DIRECT, GROUP)]
    chosen = set(settings.channel_id.replace(",", " ").split()) - {"*"}
    missing = sorted(chosen - {c.id for c in found})
    if missing:
        return Finding("channels", "fail",
                       f"the bot is not in {', '.join(missing)}",
                       "in that channel: /invite @name; is the id right? "
                       "View Info of the channel shows it")
    if not rooms:
        return Finding("channels", "warn", "the bot is in no channel: it "
                       "hears direct messages only",
                       "in a channel: /invite @name")
    counted = len(chosen) or len(rooms)
    return Finding("channels", "ok",
                   "direct messages are read, and channels: "
                   f"{counted}")


def _allow_list(allowed: AllowList) -> Finding:
    if found := allowed.judge(
            f"claw config set {_TABLE}.allowed_users '[\"USER_ID\"]'"):
        return found
    names = [n for n in allowed.usernames if not is_whole_id(n)]
    if names:
        return Finding("allow_list", "warn", "the first person of these "
                       "names is let in: " + ", ".join(names),
                       "write user ids in their place")
    return Finding("allow_list", "ok", "by user id")
