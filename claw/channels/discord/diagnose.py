"""What is wrong with the bot, step by step: the rows of `claw channel
doctor`. Nothing here connects to the gateway, which would end the connection
of nobody but cost one of the day's; what depends on a failed step is
skipped.
"""

from typing import Any
from urllib.parse import urlsplit

from claw.channels.access import AllowList
from claw.channels.discord.api import Api
from claw.channels.probe import probe
from claw.core.abilities import Finding
from claw.core.errors import AuthError, ClawError
from claw.net.addresses import is_address

_STEP_S = 5.0
# Flags of an application: it may read messages, in many servers or in few.
_READS = 1 << 18 | 1 << 19
# See channels, send there and in threads, files, history, reactions, voice
# messages, polls.
_PERMISSIONS = (1 << 10 | 1 << 11 | 1 << 38 | 1 << 15 | 1 << 16 | 1 << 6
                | 1 << 46 | 1 << 49)
_HOST = "discord.com"  # others that speak its API set no such flags
_PORTAL = "https://discord.com/developers/applications"
_LIST = ("claw config set channels_config.discord.allowed_users "
         "'[\"123456789012345678\"]'")
_BOT = ("token", "intents", "gateway", "servers")


async def diagnose(api: Api, allowed: AllowList) -> list[Finding]:
    """Rows of the way (dns, tcp, tls, clock), token, intents, gateway,
    servers, allow_list."""
    if not is_address(api.base_url):
        return [Finding(
            "address", "fail", "api_base_url is no address",
            "claw config set channels_config.discord.api_base_url "
            "https://discord.com/api/v10"), _allow_list(allowed)]
    rows = await probe(api.base_url, _STEP_S, proxy_url=api.proxy_url)
    if any(row.status == "fail" for row in rows):
        return [*rows, *_skip(_BOT), _allow_list(allowed)]
    try:
        me = await api.me(timeout_s=_STEP_S)
    except ClawError as error:
        hint = None if isinstance(error, AuthError) \
            else "claw channel doctor discord"
        return [*rows, Finding("token", "fail", error.message,
                               error.hint or hint),
                *_skip(_BOT[1:]), _allow_list(allowed)]
    rows.append(Finding("token", "ok", f"it is {me.get('username')} "
                                       f"({me['id']})"))
    for name, step in (("intents", _intents), ("gateway", _gateway),
                       ("servers", _servers)):
        try:
            rows.append(await step(api))
        except ClawError as error:
            rows.append(Finding(name, "fail", error.message, error.hint))
    return [*rows, _allow_list(allowed)]


def _skip(names: tuple[str, ...]) -> list[Finding]:
    return [Finding(name, "skip", "a step before it failed")
            for name in names]


async def _ask(api: Api, path: str) -> Any:
    return await api.call("GET", path, timeout_s=_STEP_S)


async def _intents(api: Api) -> Finding:
    """Whether the owner has let it read messages."""
    found = await _ask(api, "/applications/@me")
    flags = found.get("flags") if isinstance(found, dict) else None
    if isinstance(flags, int) and flags & _READS:
        return Finding("intents", "ok", "it may read messages")
    if urlsplit(api.base_url).hostname != _HOST:
        return Finding("intents", "warn", "the server does not say that it "
                       "may read messages", "where none arrive, look whether "
                       "the application may have their content")
    return Finding("intents", "fail", "it may not read messages: Discord "
                   "will close its connection (4014)",
                   "switch on Message Content Intent under Bot at " + _PORTAL)


async def _gateway(api: Api) -> Finding:
    found = await _ask(api, "/gateway/bot")
    limit = found.get("session_start_limit") \
        if isinstance(found, dict) else None
    left = limit.get("remaining") if isinstance(limit, dict) else None
    if not isinstance(left, int):
        return Finding("gateway", "ok", "it tells where to connect to")
    if left > 0:
        return Finding("gateway", "ok",
                       f"{left} new sessions are left today")
    return Finding("gateway", "fail", "no new session is left today",
                   "does another program use the token? make a new one at "
                   + _PORTAL)


async def _servers(api: Api) -> Finding:
    found = await _ask(api, "/users/@me/guilds?limit=200")
    application = await _ask(api, "/applications/@me")
    number = application.get("id") if isinstance(application, dict) else ""
    invite = (f"https://discord.com/oauth2/authorize?client_id={number}"
              f"&scope=bot+applications.commands&permissions={_PERMISSIONS}")
    if not isinstance(found, list) or not found:
        return Finding("servers", "warn", "it is in no server, so nobody "
                       "can write to it", f"invite it: {invite}")
    return Finding("servers", "ok", f"it is in {len(found)}",
                   f"to invite it to another: {invite}")


def _allow_list(allowed: AllowList) -> Finding:
    if found := allowed.judge(_LIST):
        return found
    if allowed.usernames:
        return Finding(
            "allow_list", "warn",
            "the first person of these names is let in: "
            + ", ".join(allowed.usernames), _LIST)
    return Finding("allow_list", "ok", "user ids only")
