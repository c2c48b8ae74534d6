"""What is wrong with the app, step by step: the rows of `claw channel
doctor`. A connection is asked for and not opened, so nothing is taken from a
running listener.
"""

from claw.channels.lark.answers import RefusedCallError
from claw.channels.lark.api import LarkApi
from claw.channels.lark.intake import Intake
from claw.channels.lark.settings import SCOPES, LarkSettings
from claw.channels.probe import probe
from claw.core.abilities import Finding
from claw.core.errors import AuthError, ClawError

_STEP_S = 5.0
_GRANTED = 1


async def diagnose(api: LarkApi, intake: Intake, settings: LarkSettings
                   ) -> list[Finding]:
    """Rows of the way there, then token, bot, scopes, events, allow_list."""
    rows = await probe(api.base_url, proxy_url=settings.proxy_url)
    if any(row.status == "fail" for row in rows):
        return [*rows, *(Finding(step, "skip", "a step before it failed")
                         for step in ("token", "bot", "scopes", "events")),
                _allow_list(api, intake, settings)]
    try:
        bot = await api.me(timeout_s=_STEP_S, fresh=True)
    except AuthError as error:
        rows += [_failed(api, "token", error),
                 Finding("bot", "skip", "the token is not known"),
                 Finding("scopes", "skip", "the token is not known")]
    except ClawError as error:
        rows += [Finding("token", "ok" if isinstance(error, RefusedCallError)
                         else "skip", "the app is known" if isinstance(
                             error, RefusedCallError) else "not reached"),
                 _failed(api, "bot", error), await _scopes(api)]
    else:
        rows += [Finding("token", "ok", f"the app is {api.app_id}"),
                 Finding("bot", "ok", f"it is {bot.name or 'a bot'} "
                         f"({bot.open_id})") if bot.active else Finding(
                             "bot", "warn", f"{bot.name or 'the bot'} is not "
                             "switched on", "publish a version of the app, "
                             "and let the admin approve it"),
                 await _scopes(api)]
    return [*rows, await _events(api, settings),
            _allow_list(api, intake, settings)]


def _failed(api: LarkApi, step: str, error: ClawError) -> Finding:
    return Finding(step, "fail", error.message, error.hint
                   or f"claw channel doctor {api.brand.name}")


async def _scopes(api: LarkApi) -> Finding:
    """What the app may do against what is needed."""
    try:
        found = await api.call("GET", "application/v6/scopes",
                               timeout_s=_STEP_S)
    except ClawError:
        return Finding("scopes", "skip", "the platform names none")
    rows = found.get("scopes")
    granted = {row.get("scope_name") for row in rows
               if isinstance(row, dict)
               and row.get("grant_status") == _GRANTED} \
        if isinstance(rows, list) else set()
    if not granted:
        return Finding("scopes", "skip", "the platform names none")
    if "im:message" in granted:  # the older, wider one
        granted |= {"im:message:send_as_bot", "im:message:readonly",
                    "im:message.reactions:write_only", "im:resource",
                    "im:message.p2p_msg:readonly",
                    "im:message.group_at_msg:readonly"}
    missing = [f"{scope} ({why})" for scope, why in SCOPES.items()
               if scope not in granted]
    if not missing:
        return Finding("scopes", "ok", "all that are needed")
    return Finding(
        "scopes", "warn", "missing: " + ", ".join(missing),
        "add them in the developer console, Permissions & Scopes, and "
        "publish a version")


async def _events(api: LarkApi, settings: LarkSettings) -> Finding:
    """How events come."""
    if settings.receive_mode == "webhook":
        if settings.encrypt_key.strip():
            return Finding("events", "ok", f"signed posts to the gateway at "
                           f"{api.brand.find_path(settings)}")
        return Finding(
            "events", "warn", "the posts are not signed: whoever learns the "
            "verification_token can write as anybody",
            f"claw config set {api.brand.table}.encrypt_key, as Events "
            "& Callbacks, Encryption Strategy, shows it")
    try:
        await api.open_endpoint(timeout_s=_STEP_S)
    except ClawError as error:
        return _failed(api, "events", error)
    return Finding("events", "ok", "the platform gives a long connection")


def _allow_list(api: LarkApi, intake: Intake, settings: LarkSettings
                ) -> Finding:
    hint = (f"claw config set {api.brand.table}.allowed_users "
            "'[\"ou_...\"]'")
    if found := intake.door.allowed.judge(hint):
        return found
    odd = [name for name in map(str, settings.allowed_users)
           if not name.strip().startswith("ou_")]
    if odd:
        return Finding("allow_list", "fail", "these are no open ids: "
                       + ", ".join(odd), hint)
    return Finding("allow_list", "ok", "ids of people only")
