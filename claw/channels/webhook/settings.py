"""The [channels_config.webhook] table of config.toml."""

from typing import Annotated, Literal

import msgspec

SETUP = r"""
Programs post signed messages to claw and get signed answers.

1. Make a secret that both sides know; claw keeps it encrypted:

   `SECRET=$(openssl rand -hex 32)`

   `printf %s "$SECRET" | claw config set channels_config.webhook.secret`
2. Say where answers go, and on which port claw listens:

   `claw config set channels_config.webhook.send_url https://example.org/in`

   `claw config set channels_config.webhook.port 8790`
3. Start `claw listen`. It takes messages at `/webhook` of 127.0.0.1:8790
   and, with `gateway.enabled`, at the gateway's address as well (port
   42617). For other machines put a proxy with TLS in front: docs/gateway.md
   has recipes.

A message has an `id` of its sender's own (what is sent again keeps it and is
answered once) and is signed together with the time, which may be five
minutes off. From a shell, with the secret in `SECRET`:

```sh
body='{"sender": "mina", "content": "hello", "id": "42"}'
time=$(date +%s)
sign=$(printf 'v1:%s:%s' "$time" "$body" |
  openssl dgst -sha256 -hmac "$SECRET" | sed 's/.* //')
curl http://127.0.0.1:8790/webhook -H "X-Webhook-Timestamp: $time" \
  -H "X-Webhook-Signature: v1=$sign" --data-raw "$body"
```

Answers are signed the same way and carry an `id` too: one that comes twice
has the same. Whoever knows the secret may write as anybody.
"""

SEND_URL = "channels_config.webhook.send_url"
Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
Method = Literal["POST", "PUT", "post", "put"]


class WebhookSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[channels_config.webhook]

    The gateway serves it: at an address of its own, where nothing else
    answers, and at the gateway's where that is enabled. Give it the
    gateway's host and port and there is one address.

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
