"""What is wrong with the bot, step by step: the rows of `claw channel
doctor slack`. A connection is asked for and not opened, so nothing is taken
from a running listener.
"""

from claw.channels.probe import probe
from claw.channels.slack.api import APP_TOKEN_HINT, Bot, SlackApi
from claw.channels.slack.intake import Intake
from claw.channels.slack.settings import SCOPES, SlackSettings
from claw.core.abilities import Finding
from claw.core.errors import AuthError, ClawError

_STEP_S = 5.0
_LIST = "claw config set channels_config.slack.allowed_users '[\"U...\"]'"


async def diagnose(api: SlackApi, intake: Intake,
                   settings: SlackSettings) -> list[Finding]:
    """Rows of the way there, then token, scopes, channel (where one
    alone is listened to), socket, allow_list."""
    rows = await probe(api.base_url, proxy_url=settings.proxy_url)
    if any(row.status == "fail" for row in rows):
        return [*rows, *(Finding(step, "skip", "a step before it failed")
                         for step in ("token", "scopes", "socket")),
                _allow_list(intake, settings)]
    try:
        bot = await api.me(timeout_s=_STEP_S, fresh=True)
    except ClawError as error:
        rows += [_failed("token", error),
                 Finding("scopes", "skip", "the token is not known")]
    else:
        rows += [Finding("token", "ok", f"it is {bot.name or 'a bot'} "
                         f"({bot.user_id}) in {bot.team or 'a workspace'}"),
                 judge_scopes(bot), *await _channel(api, intake)]
    return [*rows, await _socket(api), _allow_list(intake, settings)]


def _failed(step: str, error: ClawError) -> Finding:
    hint = None if isinstance(error, AuthError) \
        else "claw channel doctor slack"
    return Finding(step, "fail", error.message, error.hint or hint)


def judge_scopes(bot: Bot) -> Finding:
    """What the token may do against what is needed."""
    if bot.scopes is None:
        return Finding("scopes", "skip", "the server names none")
    missing = [f"{scope} ({why})" for scope, why in SCOPES.items()
               if scope not in bot.scopes]
    if not missing:
        return Finding("scopes", "ok", "all that are needed")
    return Finding(
        "scopes", "fail" if "chat:write" not in bot.scopes else "warn",
        "missing: " + ", ".join(missing),
        "add them at api.slack.com/apps, OAuth & Permissions, and install "
        "the app again")


async def _channel(api: SlackApi, intake: Intake) -> list[Finding]:
    """Whether the one channel that is listened to can be read."""
    channel = intake.only_channel
    if not channel:
        return []
    try:
        await api.call("conversations.history", {
            "channel": channel, "limit": 1}, timeout_s=_STEP_S)
    except ClawError as error:
        return [_failed("channel", error)]
    return [Finding("channel", "ok", f"only {channel} is listened to")]


async def _socket(api: SlackApi) -> Finding:
    if not api.app_token:
        return Finding("socket", "warn", "no app_token: the bot polls, which "
                       "Slack allows at a useful rate only to apps of your "
                       "own workspace", APP_TOKEN_HINT)
    try:
        await api.open_socket(timeout_s=_STEP_S)
    except ClawError as error:
        return _failed("socket", error)
    return Finding("socket", "ok", "Socket Mode gives a connection")


def _allow_list(intake: Intake, settings: SlackSettings) -> Finding:
    allowed = intake.door.allowed
    if found := allowed.judge(_LIST):
        return found
    odd = [name for name in map(str, settings.allowed_users)
           if not _is_id(name.strip())]
    if odd:
        return Finding("allow_list", "fail", "these are no ids of people: "
                       + ", ".join(odd),
                       _LIST + "  # Slack profile, More, Copy member ID")
    return Finding("allow_list", "ok", "ids of people only")


def _is_id(name: str) -> bool:
    return name[:1] in ("U", "W") and name.isalnum() and name.isupper()
