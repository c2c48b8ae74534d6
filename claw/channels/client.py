"""The HTTP client of a channel, loaded when a channel is made: the class of
a platform is read for its settings by commands that ask nothing of it. And
what can't be asked with, and what an answer says."""

import json
import re
from typing import TYPE_CHECKING, Any

from claw.core.errors import AuthError, ConfigError
from claw.net.addresses import is_address
from claw.net.errors import Peer

if TYPE_CHECKING:
    from claw.net.http import HttpClient


def open_client(title: str, token: str, setting: str, *,
                timeout_s: float = 30.0) -> "HttpClient":
    """A client whose errors call the platform by its title, hide its token
    and name the setting that holds it, e.g. channels_config.NAME.token."""
    from claw.net.http import HttpClient
    peer = Peer(title, secrets=(token,) if token else (),
                key_hint=f"set it with: claw config set {setting}")
    return HttpClient(peer, timeout_s=timeout_s)


def check_token(platform: str, token: str, hint: str, *,
                what: str = "token", form: str = "[!-~]+") -> None:
    """Raises AuthError for what can't be a token: nothing, or anything but
    `form`."""
    if not token:
        raise AuthError(f"{platform} has no {what}", hint=hint)
    if not re.fullmatch(form, token):
        raise AuthError(f"{platform}'s {what} holds characters that no token "
                        "has", hint=hint)


def check_address(url: str, setting: str, example: str) -> None:
    """Raises ConfigError where no request can go there."""
    if not is_address(url):
        raise ConfigError(f"{setting} is no http address",
                          hint=f"claw config set {setting} {example}")


def read_json(text: str) -> Any:
    """JSON whose texts hold no halves of characters. Raises ValueError."""
    try:
        value = json.loads(text)
        if "\\ud" in text or "\\uD" in text:
            value = json.loads(json.dumps(value, ensure_ascii=False).encode(
                "utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    except RecursionError as error:
        raise ValueError("JSON that is nested too deeply") from error
    return value
