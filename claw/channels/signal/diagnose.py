"""What is wrong, step by step: the rows of `claw channel doctor signal`.
The stream is not opened: who opens it takes messages from the daemon."""

import re
from collections.abc import Iterable

from claw.channels.access import AllowList
from claw.channels.probe import probe
from claw.channels.signal.api import ACCOUNT_HINT, TABLE, SignalApi
from claw.channels.signal.wire import NUMBER, UUID
from claw.core.abilities import Finding
from claw.core.errors import AuthError, ClawError, RequestRefusedError
from claw.net.addresses import is_address, is_loopback

_STEP_S = 5.0
_STEPS = ("daemon", "account", "version", "receive_mode")
RECEIVES = (0, 14, 5)


async def diagnose(api: SignalApi, allowed: AllowList) -> list[Finding]:
    """The way's rows, then daemon, account, version, receive_mode,
    allow_list."""
    last = _judge_list(allowed)
    if not is_address(api.url):
        return [Finding("address", "fail", f"{TABLE}.http_url is no http "
                        "address", f"claw config set {TABLE}.http_url "
                        "http://127.0.0.1:8080"), *_skip(_STEPS), last]
    rows = await probe(api.url, _STEP_S, proxy_url=api.proxy_url)
    if any(row.status == "fail" for row in rows):
        return [*rows, *_skip(_STEPS), last]
    if api.url.startswith("http:") and not is_loopback(api.url):
        rows.append(Finding(
            "encryption", "warn", "plain http to another machine: messages "
            "travel readable, and signal-cli asks nobody for a password",
            "let the daemon listen to 127.0.0.1, and reach it by SSH or TLS"))
    try:
        version = await api.version(timeout_s=_STEP_S)
    except ClawError as error:
        account = isinstance(error, AuthError) and error.status is None
        return [*rows, Finding("account" if account else "daemon", "fail",
                               error.message, error.hint),
                *_skip(_STEPS[2:] if account else _STEPS[1:]), last]
    rows.append(Finding("daemon", "ok", "it answers"))
    return [*rows, await _judge_account(api), judge_version(version), Finding(
        "receive_mode", "skip", "signal-cli does not tell its receive mode; "
        "with on-start, the default, what comes while claw is away is lost",
        "start it with: daemon --receive-mode on-connection"), last]


async def _judge_account(api: SignalApi) -> Finding:
    """The daemon has the one that is named; unnamed it must be its only
    one. One with -a does not list it."""
    if api.account:
        return Finding("account", "ok", f"signal-cli has {api.account}")
    try:
        found = await api.call("listAccounts", {}, timeout_s=_STEP_S)
    except RequestRefusedError:
        return Finding("account", "ok", "the daemon serves one account")
    except ClawError as error:
        return Finding("account", "fail", error.message, error.hint)
    count = len(found) if isinstance(found, list) else 0
    if count == 1:
        return Finding("account", "ok", "signal-cli has one account")
    return Finding("account", "fail", f"signal-cli has {count} accounts",
                   ACCOUNT_HINT if count else "signal-cli -a +NUMBER "
                   "register, or signal-cli link")


def judge_version(version: str) -> Finding:
    found = re.match(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})", version)
    if found is None:
        return Finding("version", "warn", f"signal-cli {version!a}",
                       "claw knows 0.14.5 and newer")
    if tuple(map(int, found.groups())) < RECEIVES:
        return Finding("version", "warn", f"signal-cli {version} no longer "
                       "receives what is sent to it since June 2026",
                       "update it to 0.14.5 or newer, which needs Java 25")
    return Finding("version", "ok", f"signal-cli {version}")


def _skip(names: Iterable[str]) -> list[Finding]:
    return [Finding(name, "skip", "a step before it failed")
            for name in names]


def _judge_list(allowed: AllowList) -> Finding:
    hint = f"claw config set {TABLE}.allowed_users '[\"+NUMBER\"]'"
    if found := allowed.judge(hint):
        return found
    wrong = [name for name in allowed.usernames
             if not NUMBER.fullmatch(name) and not UUID.fullmatch(name)]
    if wrong:
        return Finding("allow_list", "warn", "these are neither numbers "
                       f"(+...) nor ACIs: {', '.join(wrong)}", hint)
    return Finding("allow_list", "ok", "by number and ACI")
