"""pushover: a notification on the owner's phone.

Token and user key are settings of the owner ([pushover], PUSHOVER_TOKEN and
PUSHOVER_USER_KEY): the workspace, where the reference keeps them in .env, is
not trusted once a command has run in it.
Source: pushover.net/api, read 2026-11.
"""

from urllib.parse import urlencode

from claw.core.errors import ConfigError, UnavailableError, UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    integer,
    optional,
    string,
)
from claw.net.errors import Peer
from claw.net.http import Answer, HttpClient
from claw.tools.people.sending import count_sent
from claw.tools.web.foreign import WebTool, to_line
from claw.tools.web.settings import PushoverSettings

MESSAGES = "https://api.pushover.net/1/messages.json"
_TIMEOUT_S = 15.0
_MESSAGE_CHARS = 1024
_TITLE_CHARS = 250
_EMERGENCY = 2
# An emergency is repeated until somebody has seen it: every minute, for an
# hour.
_REPEAT = {"retry": "60", "expire": "3600"}


class Pushover(WebTool):
    """Sends one notification."""

    name = "pushover"
    table = "pushover"
    description = "Send a notification to the owner's phone by Pushover."

    def __init__(self, deps: ToolDeps,
                 settings: PushoverSettings | None = None) -> None:
        super().__init__(deps)
        self._settings = settings or PushoverSettings()

    def parameters_schema(self) -> Schema:
        return closed_object(
            message=string(f"At most {_MESSAGE_CHARS} characters",
                           minLength=1),
            title=optional(string("A title")),
            priority=integer("-2 (silent) to 2 (repeated until it is seen)",
                             default=0, minimum=-2, maximum=_EMERGENCY),
            sound=optional(string("Name of a sound of Pushover's")))

    async def run(self, args: Arguments) -> ToolResult:
        token, user = self._settings.token, self._settings.user_key
        if not token or not user:
            raise ConfigError(
                "Pushover is not set up; the owner sets it up with: claw "
                "config set pushover.token, and claw config set "
                "pushover.user_key")
        form = {"token": token, "user": user, **build_form(args)}
        self._policy.enforce("act")
        count_sent(self.name)
        client = HttpClient(Peer("Pushover", secrets=(token, user)),
                            timeout_s=_TIMEOUT_S, max_bytes=64 * 1024)
        try:
            answer = await client.request(
                "POST", MESSAGES, check=False, headers={
                    "content-type": "application/x-www-form-urlencoded"},
                content=urlencode(form, errors="replace").encode())
        finally:
            await client.aclose()
        check_answer(answer)
        return ToolResult(output="Pushover has taken the notification")


def build_form(args: Arguments) -> dict[str, str]:
    """What the arguments say, as the API takes it. Raises UsageError."""
    message, title = args["message"], args.get("title")
    if len(message) > _MESSAGE_CHARS or len(title or "") > _TITLE_CHARS:
        raise UsageError(f"Pushover takes {_MESSAGE_CHARS} characters and a "
                         f"title of {_TITLE_CHARS}; say it in fewer")
    form = {"message": message, "priority": str(args["priority"])}
    form |= {name: args[name] for name in ("title", "sound")
             if args.get(name)}
    return form | (_REPEAT if args["priority"] == _EMERGENCY else {})


def check_answer(answer: Answer) -> None:
    """Raises UnavailableError unless its JSON has status 1."""
    try:
        said = answer.json()
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict) and said.get("status") == 1:
        return
    errors = said.get("errors") if isinstance(said, dict) else None
    words = "; ".join(to_line(each, 200) for each in errors[:5]) \
        if isinstance(errors, list) else ""
    raise UnavailableError(
        f"Pushover refused the notification (HTTP {answer.status})"
        + (f": {words}" if words else "; try again later"))
