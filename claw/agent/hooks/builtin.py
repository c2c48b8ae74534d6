"""The hooks that come with claw, and how hooks are found by name.

Third parties offer a subclass of core.hooks.Hooks, made without arguments,
under the entry-point group "claw.hooks".
"""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, TypeAlias
from unicodedata import normalize
from urllib.parse import urlsplit

from claw.agent.hooks.runner import HookRunner
from claw.agent.hooks.settings import HooksSettings, WebhookAuditSettings
from claw.agent.rendering.cut import cut_bytes
from claw.core.errors import ClawError, ConfigError, describe
from claw.core.hooks import Hooks
from claw.core.log import Log
from claw.core.registry import Registry
from claw.core.tool import ToolResult
from claw.security.redact.redaction import scrub

POST_S = 5.0
_URL = "hooks.builtin.webhook_audit.url"

Post: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[object]]

REGISTRY = Registry("hook", "claw.hooks", {})


def build_hooks(settings: HooksSettings, log: Log, post: Post,
                commands: Sequence[Hooks] = ()) -> HookRunner:
    """The hooks that are switched on, and `commands`. `post(url, body)`
    sends JSON.

    Raises ConfigError for a bad address and for a name that is not
    installed or no hook.
    """
    if not settings.enabled:
        return HookRunner((), log)
    hooks = list(commands)
    if settings.builtin.command_logger:
        hooks.append(CommandLogger(log))
    if settings.builtin.webhook_audit.enabled:
        hooks.append(WebhookAudit(settings.builtin.webhook_audit, post, log))
    hooks += map(_load_installed, settings.use)
    return HookRunner(hooks, log)


def _load_installed(name: str) -> Hooks:
    if name not in (known := REGISTRY.all_names()):
        raise ConfigError(
            f"hook {name!r} is not installed",
            hint="installed: " + (", ".join(known) or "none"))
    try:
        hook = REGISTRY.load(name)()
    except Exception as error:  # foreign code, at start
        raise ConfigError(
            f"hook {name!r} can't be made: {describe(error)}",
            hint="take it out of hooks.use, or fix its package") from error
    if not isinstance(hook, Hooks):
        raise ConfigError(f"hook {name!r} is no claw.core.hooks.Hooks",
                          hint="take it out of hooks.use")
    return hook


class CommandLogger(Hooks):
    """A log line for each tool call that ran; no arguments in it."""

    priority = -50

    def __init__(self, log: Log) -> None:
        self._log = log

    async def on_after_tool_call(self, tool: str, result: ToolResult,
                                 duration_s: float,
                                 args: Mapping[str, Any]) -> None:
        self._log("tool_call", tool=tool, success=result.success,
                  duration_ms=round(duration_s * 1000))


class WebhookAudit(Hooks):
    """A POST for each tool call that ran; its failure is a log line."""

    def __init__(self, settings: WebhookAuditSettings, post: Post,
                 log: Log) -> None:
        check_url(settings.url)
        self._settings = settings
        self._post = post
        self._log = log

    async def on_after_tool_call(self, tool: str, result: ToolResult,
                                 duration_s: float,
                                 args: Mapping[str, Any]) -> None:
        settings = self._settings
        if not any(fnmatchcase(tool, p) for p in settings.tool_patterns):
            return
        body: dict[str, Any] = {
            "event": "tool_call", "tool": tool, "success": result.success,
            "duration_ms": round(duration_s * 1000)}
        if settings.include_args:
            body["args"] = cut_bytes(
                scrub(json.dumps(args, ensure_ascii=False, default=str)),
                max(settings.max_args_bytes, 0))
        try:
            async with asyncio.timeout(POST_S):
                await self._post(settings.url, body)
        except (ClawError, OSError) as error:
            # The address may hold a token: only its host is told.
            self._log("webhook_audit_failed", tool=tool,
                      host=urlsplit(settings.url).hostname,
                      error=type(error).__name__)


def check_url(url: str) -> None:
    """Raises ConfigError unless the address is https and names no private
    host. Addresses behind a name are the sender's to check."""
    try:
        parts = urlsplit(url)
        host = normalize("NFKC", parts.hostname or "").replace("。", ".")
    except ValueError:
        raise _refuse("is no address") from None
    host = host.rstrip(".").lower()
    if parts.scheme != "https" or not host:
        raise _refuse("must begin with https://")
    local = (host == "localhost" or host == "local"
             or host.endswith((".localhost", ".local", ".internal")))
    number = _read_number(host)
    if local or (number is not None and not _is_public(number)):
        raise _refuse("names a private host")


def _refuse(why: str) -> ConfigError:
    return ConfigError(f"{_URL} {why}",
                       hint="give the https address of the audit server")


def _read_number(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host literally is, None for a name. Resolvers
    read 127.1 and 0x7f000001 as addresses too."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is not None:
            address = inner
    return address.is_global and not address.is_multicast
