"""The [channels_config.webhook] table of config.toml."""

from typing import Annotated, Literal

import msgspec

SEND_URL = "channels_config.webhook.send_url"
Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
Method = Literal["POST", "PUT", "post", "put"]


class WebhookSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[channels_config.webhook]

    port: the port to listen on; 0: any free one
    host: the address to listen on; 0.0.0.0 for all (behind TLS, please)
    listen_path: the path of messages; all others are 404
    secret: the key of the signatures in both directions; required
    send_url: where answers go; without it they go nowhere
    send_method: POST or PUT
    auth_header: the Authorization header of what is sent
    """

    port: Port = 8790
    host: str = "127.0.0.1"
    listen_path: str = "/webhook"
    secret: str | None = None
    send_url: str | None = None
    send_method: Method = "POST"
    auth_header: str | None = None
