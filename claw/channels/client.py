"""The HTTP client of a channel, loaded when a channel is made: the class of
a platform is read for its settings by commands that ask nothing of it."""

from typing import TYPE_CHECKING

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
