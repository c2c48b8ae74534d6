"""What is wrong with the bot, step by step: the rows of `claw channel
doctor telegram`. Nothing here receives (getUpdates would take the messages
of a running listener); what depends on a failed step is skipped.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

from claw.channels.access import AllowList
from claw.channels.telegram.answers import find_webhook_host
from claw.channels.telegram.api import BotApi
from claw.core.abilities import Finding
from claw.core.errors import AuthError, ClawError
from claw.net.addresses import is_address, is_loopback
from claw.net.errors import find_cause, name_cause
from claw.net.remote import load_certificates

_STEP_S = 5.0
_SKEW_S = 60.0
_LIST = "claw config set channels_config.telegram.allowed_users '[123456]'"


async def diagnose(api: BotApi, allowed: AllowList, *,
                   conflict: str | None, direct: bool) -> list[Finding]:
    """Rows dns, tcp, tls, token, webhook, poller, pending, clock,
    allow_list. `direct`: no proxy between; `conflict`: what the listener
    of this process was told last."""
    rows = [row async for row in _way(api.base_url, direct)]
    if any(row.status == "fail" for row in rows):
        return [*rows, *map(_skip, (
            "token", "webhook", "poller", "pending", "clock")),
            _allow_list(allowed)]
    rows.append(await _token(api))
    rows += (await _receiving(api, conflict) if rows[-1].status == "ok"
             else map(_skip, ("webhook", "poller", "pending")))
    return [*rows, _clock(api.clock_skew_s), _allow_list(allowed)]


def _skip(name: str, why: str = "a step before it failed") -> Finding:
    return Finding(name, "skip", why)


# -- the way to the server

async def _way(base_url: str, direct: bool) -> AsyncIterator[Finding]:
    if not is_address(base_url):
        yield Finding("dns", "fail", "api_base_url is no address",
                      "claw config set channels_config.telegram."
                      "api_base_url https://api.telegram.org", "setting")
        yield _skip("tcp")
        yield _skip("tls")
        return
    parts = urlsplit(base_url)
    secure = parts.scheme == "https"
    host, port = str(parts.hostname), parts.port or (443 if secure else 80)
    if not direct:
        for name in ("dns", "tcp", "tls"):
            yield _skip(name, "the way goes through a proxy")
        return
    steps = [("dns", _dns(host, port)), ("tcp", _tcp(host, port))]
    if secure:
        steps.append(("tls", _tls(host, port)))
    failed = False
    for name, step in steps:
        if failed:
            step.close()
            yield _skip(name)
            continue
        row = await step
        failed = row.status == "fail"
        yield row
    if not secure:
        near = is_loopback(base_url)
        yield Finding("tls", "skip" if near else "warn",
                      "plain http" + ("" if near else
                                      ": the token travels readable"),
                      None if near else "use https:// in api_base_url")


def _explain(error: Exception) -> str:
    return name_cause(error) or str(error) or "no answer in time"


async def _dns(host: str, port: int) -> Finding:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_STEP_S):
            found = await loop.getaddrinfo(host, port,
                                           type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError) as error:
        return Finding("dns", "fail", f"{host} has no address: "
                       f"{_explain(error)}",
                       f"getent hosts {host}", find_cause(error))
    return Finding("dns", "ok", f"{host} is {found[0][4][0]}")


async def _tcp(host: str, port: int) -> Finding:
    try:
        async with asyncio.timeout(_STEP_S):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError) as error:
        return Finding("tcp", "fail", f"no connection to {host}:{port}: "
                       f"{_explain(error)}",
                       f"curl -sv --max-time 5 telnet://{host}:{port}; a "
                       "firewall? set channels_config.telegram.proxy_url",
                       find_cause(error))
    await _close(writer)
    return Finding("tcp", "ok", f"{host}:{port} answers")


async def _tls(host: str, port: int) -> Finding:
    try:
        async with asyncio.timeout(_STEP_S):
            _, writer = await asyncio.open_connection(
                host, port, ssl=load_certificates(), server_hostname=host)
    except (OSError, TimeoutError) as error:
        return Finding("tls", "fail", f"no secure connection: "
                       f"{_explain(error)}",
                       f"openssl s_client -connect {host}:{port}; for an "
                       "authority of your own set SSL_CERT_FILE")
    await _close(writer)
    return Finding("tls", "ok", "the certificate is accepted")


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        async with asyncio.timeout(1):
            await writer.wait_closed()
    except (OSError, TimeoutError):
        return


# -- the bot

async def _token(api: BotApi) -> Finding:
    try:
        bot = await api.me(timeout_s=_STEP_S, fresh=True)
    except ClawError as error:
        hint = None if isinstance(error, AuthError) \
            else "claw channel doctor telegram"
        return Finding("token", "fail", error.message, error.hint or hint)
    return Finding("token", "ok", f"it is @{bot.username} ({bot.id})")


async def _receiving(api: BotApi, conflict: str | None) -> list[Finding]:
    try:
        info = await api.call("getWebhookInfo", timeout_s=_STEP_S)
    except ClawError as error:
        return [Finding("webhook", "fail", error.message, error.hint),
                _skip("poller"), _skip("pending")]
    host = find_webhook_host(info)
    if host is not None:
        return [Finding("webhook", "fail",
                        f"one is set at {host}; Telegram delivers only "
                        "there", api.remove_webhook),
                _skip("poller", "a webhook is in the way"), _pending(info)]
    poller = Finding("poller", "ok", "no conflict was seen")
    if conflict is not None:
        poller = Finding("poller", "fail", conflict,
                         "pgrep -af 'claw listen', here and where else the "
                         "token is used")
    return [Finding("webhook", "ok", "none is set"), poller, _pending(info)]


def _pending(info: Any) -> Finding:
    count = info.get("pending_update_count") if isinstance(info, dict) \
        else None
    if not isinstance(count, int):
        return _skip("pending", "Telegram did not say")
    return (Finding("pending", "ok", "nothing waits") if count == 0 else
            Finding("pending", "warn",
                    f"{count} updates wait at Telegram, for up to 24 hours",
                    "claw listen"))


def _clock(skew: float | None) -> Finding:
    if skew is None:
        return _skip("clock", "the server did not say its time")
    if abs(skew) <= _SKEW_S:
        return Finding("clock", "ok", f"{skew:+.0f} s to Telegram's")
    return Finding("clock", "warn", f"this clock is {skew:+.0f} s off",
                   "timedatectl set-ntp true")


def _allow_list(allowed: AllowList) -> Finding:
    if found := allowed.judge(_LIST):
        return found
    if allowed.usernames:
        return Finding(
            "allow_list", "warn",
            "the first person of these names is let in: "
            + ", ".join(allowed.usernames),
            _LIST + "  # numeric ids, @userinfobot tells yours")
    return Finding("allow_list", "ok", "numeric ids only")
