"""What is wrong with the account, step by step: the rows of `claw channel
doctor line`."""

from collections.abc import Awaitable, Callable

from claw.channels.access import AllowList
from claw.channels.line.api import QUOTA, Api
from claw.channels.line.outgoing import GONE
from claw.channels.line.settings import TABLE, LineSettings
from claw.channels.line.signed import SECRET_HINT
from claw.channels.line.wire import is_user
from claw.channels.probe import probe
from claw.core.abilities import Finding
from claw.core.channel import KeepsMarks
from claw.core.errors import ClawError, RequestRefusedError
from claw.net.addresses import is_address
from claw.text.segment import clean

_STEP_S = 5.0
_TEST_S = 12.0  # LINE waits for the answer of our webhook
_LIST = f"claw config set {TABLE}.allowed_users '[\"U4af4980629...\"]'"
_SCARCE = 0.9


async def diagnose(api: Api, allowed: AllowList, settings: LineSettings,
                   marks: KeepsMarks) -> list[Finding]:
    """The way's rows, then account, callback, reach, quota, channel_secret,
    blocked, allow_list."""
    own = [_secret(settings), _blocked(marks), _allow_list(allowed)]
    steps = {"account": _account, "callback": _callback, "reach": _reach,
             "quota": _quota}
    skipped = [Finding(name, "skip", "a step before it failed")
               for name in steps]
    if not is_address(api.url):
        return [Finding("address", "fail", f"{TABLE}.api_base_url is no http "
                        "address", f"claw config set {TABLE}.api_base_url "
                        "https://api.line.me"), *skipped, *own]
    rows = await probe(api.url, _STEP_S, proxy_url=settings.proxy_url)
    if any(row.status == "fail" for row in rows):
        return [*rows, *skipped, *own]
    for at, (name, step) in enumerate(steps.items()):
        rows.append(await _try(name, step, api, settings))
        if name == "account" and rows[-1].status == "fail":
            return [*rows, *skipped[at + 1:], *own]
    return [*rows, *own]


async def _try(name: str, step: Callable[[Api, LineSettings],
                                         Awaitable[Finding]],
               api: Api, settings: LineSettings) -> Finding:
    try:
        return await step(api, settings)
    except ClawError as error:
        return Finding(name, "fail", error.message, error.hint)


async def _account(api: Api, settings: LineSettings) -> Finding:
    found = await api.get("info", timeout_s=_STEP_S)
    shown, name = (clean(str(found.get(key) or "?"))[:80]
                   for key in ("basicId", "displayName"))
    return Finding("account", "ok", f"the token is taken; it is {shown} "
                                    f"({name})")


async def _callback(api: Api, settings: LineSettings) -> Finding:
    """Where LINE posts to."""
    path = "/" + settings.listen_path.strip().lstrip("/")
    hint = (f"enter https://YOUR.HOST{path} as the webhook URL under "
            "Messaging API of the channel, and turn on Use webhook and "
            "Webhook redelivery")
    try:
        found = await api.get("channel/webhook/endpoint", timeout_s=_STEP_S)
    except RequestRefusedError as error:
        if error.status != 404:
            raise
        found = {}
    url = clean(str(found.get("endpoint") or ""))[:200].partition("?")[0]
    if not url:
        return Finding("callback", "warn", "LINE posts nowhere", hint)
    if not found.get("active"):
        return Finding("callback", "warn", f"LINE knows {url}, and Use "
                                           "webhook is off", hint)
    if not url.rstrip("/").endswith(path.rstrip("/")):
        return Finding("callback", "warn", f"LINE posts to {url}, and claw "
                       f"listens at {path}", hint)
    return Finding("callback", "ok", f"LINE posts to {url}")


async def _reach(api: Api, settings: LineSettings) -> Finding:
    """Whether LINE gets there: it posts a webhook without events."""
    found = await api.test_webhook(timeout_s=_TEST_S)
    if found.get("success") is True:
        return Finding("reach", "ok", "LINE has posted to it, and was "
                                      "answered")
    why = clean(f"{found.get('reason')}: {found.get('detail')}")[:200]
    return Finding("reach", "warn", f"LINE does not get there ({why})",
                   "is claw listen running, and the gateway reachable from "
                   "outside?")


async def _quota(api: Api, settings: LineSettings) -> Finding:
    limit = (await api.get("message/quota", timeout_s=_STEP_S)).get("value")
    used = (await api.get("message/quota/consumption",
                          timeout_s=_STEP_S)).get("totalUsage")
    if not isinstance(limit, int) or not isinstance(used, int):
        return Finding("quota", "ok", f"{used} messages sent this month; the "
                                      "plan has no limit")
    told = f"{used} of {limit} messages of this month are sent"
    if used >= limit:
        return Finding("quota", "warn", f"{QUOTA} ({used} of {limit}): only "
                       "quick answers, which are replies, still go out",
                       "see the plan at manager.line.biz")
    return Finding("quota", "warn" if used >= _SCARCE * limit else "ok",
                   f"{told}; replies are free")


def _secret(settings: LineSettings) -> Finding:
    if settings.channel_secret.strip():
        return Finding("channel_secret", "ok", "set")
    return Finding("channel_secret", "fail", f"{TABLE}.channel_secret is not "
                   "set: nothing that is posted is taken", SECRET_HINT)


def _blocked(marks: KeepsMarks) -> Finding:
    gone = [key.removeprefix(GONE) for key in marks.keys()  # noqa: SIM118
            if key.startswith(GONE)]
    if not gone:
        return Finding("blocked", "ok", "nobody is known to have blocked it")
    return Finding("blocked", "warn", f"{len(gone)} people or groups have "
                   f"blocked or removed it, the last is {gone[-1]}",
                   "they get nothing until they add it again")


def _allow_list(allowed: AllowList) -> Finding:
    if found := allowed.judge(_LIST):
        return found
    odd = [name for name in allowed.usernames if not is_user(name)]
    if odd:
        return Finding("allow_list", "fail", "these are no user ids: "
                       + ", ".join(odd)[:200], _LIST)
    return Finding("allow_list", "ok", "by user id")
