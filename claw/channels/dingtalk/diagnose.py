"""Step by step to DingTalk, for `claw channel doctor`.

The stream step registers a connection and does not open it: no message is
taken from a running listener.
"""

from claw.channels.access import AllowList
from claw.channels.dingtalk.api import DingtalkApi
from claw.channels.dingtalk.messages import is_group, is_staff
from claw.channels.dingtalk.settings import DingtalkSettings
from claw.channels.probe import probe
from claw.core.abilities import Finding
from claw.core.errors import AuthError, ClawError

_STEP_S = 5.0
_LIST = ("claw config set channels_config.dingtalk.allowed_users "
         "'[\"manager807\"]'")


async def diagnose(api: DingtalkApi, allowed: AllowList,
                   settings: DingtalkSettings) -> list[Finding]:
    """Rows of the way there, then token, stream, allow_list."""
    rows = await probe(api.base_url, proxy_url=settings.proxy_url)
    if any(row.status == "fail" for row in rows):
        rows += [Finding(step, "skip", "a step before it failed")
                 for step in ("token", "stream")]
    else:
        rows += [await _token(api), await _stream(api)]
    return [*rows, _allow_list(allowed, settings)]


async def _token(api: DingtalkApi) -> Finding:
    try:
        await api.token(fresh=True, timeout_s=_STEP_S)
    except ClawError as error:
        return _failed("token", error)
    return Finding("token", "ok", f"the app {api.robot_code} gets a token; "
                   "whether it may send (qyapi_robot_sendmsg) shows at the "
                   "first message")


async def _stream(api: DingtalkApi) -> Finding:
    try:
        await api.open_stream(timeout_s=_STEP_S)
    except ClawError as error:
        return _failed("stream", error)
    return Finding("stream", "ok", "DingTalk gives a connection; the robot "
                   "must be set to Stream mode and published")


def _failed(step: str, error: ClawError) -> Finding:
    hint = None if isinstance(error, AuthError) \
        else "claw channel doctor dingtalk"
    return Finding(step, "fail", error.message, error.hint or hint)


def _allow_list(allowed: AllowList, settings: DingtalkSettings) -> Finding:
    if found := allowed.judge(_LIST):
        return found
    odd = [name for name in map(str, settings.allowed_users)
           if is_group(name) or not (is_staff(name)
                                     or name.startswith("$"))]
    if odd:
        return Finding("allow_list", "fail", "these are no ids of people: "
                       + ", ".join(odd), _LIST)
    return Finding("allow_list", "ok", "ids of people only")
