"""What is wrong with the bot, step by step: the rows of `claw channel
doctor`. Nothing here begins a session; what depends on a failed step is
skipped.
"""

from claw.channels.access import AllowList
from claw.channels.probe import probe
from claw.channels.qq.api import Api
from claw.channels.qq.chats import Chats
from claw.channels.qq.settings import QqSettings
from claw.core.abilities import Finding
from claw.core.errors import ClawError, ConfigError
from claw.net.addresses import is_address

_STEP_S = 5.0
_LIST = ("claw config set channels_config.qq.allowed_users "
         "'[\"E4F4AEA33253A2797FB897C50B81D7ED\"]'")


async def diagnose(api: Api, settings: QqSettings, chats: Chats,
                   allowed: AllowList) -> list[Finding]:
    """Rows of the way (dns, tcp, tls, clock), token, bot, gateway or
    webhook, chats, allow_list."""
    last = [_judge_chats(chats), _judge_list(allowed)]
    if not is_address(api.base_url):
        return [Finding(
            "address", "fail", "api_base_url is no address",
            "claw config unset channels_config.qq.api_base_url"), *last]
    rows = await probe(api.base_url, _STEP_S, proxy_url=api.proxy_url)
    steps = [("token", _token), ("bot", _bot)]
    if settings.mode == "websocket":
        steps.append(("gateway", _gateway))
    for name, step in steps:
        if any(row.status == "fail" for row in rows):
            rows.append(Finding(name, "skip", "a step before it failed"))
            continue
        try:
            rows.append(await step(api))
        except ClawError as error:
            rows.append(Finding(name, "fail", error.message, error.hint
                                or "claw channel doctor qq"))
    if settings.mode == "webhook":
        rows.append(_judge_webhook(settings))
    return [*rows, *last]


async def _token(api: Api) -> Finding:
    api.forget_token()
    await api.token(timeout_s=_STEP_S)
    return Finding("token", "ok", "AppID and AppSecret are right")


async def _bot(api: Api) -> Finding:
    me = await api.me(timeout_s=_STEP_S)
    where = " (sandbox)" if "sandbox" in api.base_url else ""
    return Finding("bot", "ok", f"it is {me.get('username')}{where}")


async def _gateway(api: Api) -> Finding:
    found = await api.call("GET", "/gateway/bot", timeout_s=_STEP_S)
    limit = found.get("session_start_limit") \
        if isinstance(found, dict) else None
    left = limit.get("remaining") if isinstance(limit, dict) else None
    if not isinstance(left, int):
        return Finding("gateway", "ok", "it tells where to connect to")
    if left > 0:
        return Finding("gateway", "ok", f"{left} new sessions are left today")
    raise ConfigError("no new session is left today",
                      hint="does another program use the secret? reset it "
                           "at https://q.qq.com")


def _judge_webhook(settings: QqSettings) -> Finding:
    path = "/" + settings.webhook_path.strip().strip("/")
    return Finding(
        "webhook", "ok", f"QQ posts to {path} of claw's gateway",
        f"enter https://YOUR.HOST{path} under Callback configuration at "
        "https://q.qq.com while claw listen runs; ports 80, 443, 8080, 8443")


def _judge_chats(chats: Chats) -> Finding:
    count = chats.count_closed()
    if not count:
        return Finding("chats", "ok", "QQ has refused no message of the "
                                      "bot's own accord")
    return Finding("chats", "warn", f"in {count} chats the bot may only "
                   "answer now", "claw queue list shows what waits until "
                   "somebody writes there")


def _judge_list(allowed: AllowList) -> Finding:
    return allowed.judge(_LIST) or Finding("allow_list", "ok",
                                           "openids only")
