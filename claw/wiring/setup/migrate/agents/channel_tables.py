"""Channels of other agents as tables of [channels_config]. Pure.

A row: their channel -> (claw's, {their key: claw's}). Keys that stand in
every table alike are in `_SHARED`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from claw.wiring.setup.migrate import Setting
from claw.wiring.setup.migrate.agents.common import leaves, texts

# Settings that say which of a platform's own servers is meant.
REGIONS = ("use_feishu",)

Rows = Mapping[str, tuple[str, Mapping[str, str]]]

# By the camelCase names that OpenClaw and nanobot give them.
ROWS: Rows = {
    "telegram": ("telegram", {"botToken": "bot_token", "token": "bot_token",
                              "apiRoot": "api_base_url"}),
    "discord": ("discord", {"token": "bot_token", "botToken": "bot_token"}),
    "slack": ("slack", {"botToken": "bot_token", "appToken": "app_token"}),
    "mattermost": ("mattermost", {
        "botToken": "bot_token", "token": "bot_token", "baseUrl": "url",
        "serverUrl": "url"}),
    "matrix": ("matrix", {"homeserver": "homeserver", "accessToken":
                          "access_token", "userId": "user_id",
                          "deviceId": "device_id"}),
    "signal": ("signal", {"account": "account", "httpUrl": "http_url",
                          "phoneNumber": "account"}),
    "irc": ("irc", {"host": "server", "port": "port", "nick": "nickname",
                    "tls": "use_tls", "channels": "channels"}),
    "feishu": ("feishu", {"appId": "app_id", "appSecret": "app_secret",
                          "encryptKey": "encrypt_key", "verificationToken":
                          "verification_token"}),
    "lark": ("lark", {"appId": "app_id", "appSecret": "app_secret",
                      "encryptKey": "encrypt_key", "verificationToken":
                      "verification_token"}),
    "dingtalk": ("dingtalk", {"clientId": "client_id", "clientSecret":
                              "client_secret", "robotCode": "robot_code"}),
    "qq": ("qq", {"appId": "app_id", "secret": "app_secret",
                  "clientSecret": "app_secret"}),
    "email": ("email", {
        "imapHost": "imap_host", "imapPort": "imap_port",
        "imapUsername": "username", "imapPassword": "password",
        "imapMailbox": "imap_folder", "imapUseSsl": "imap_tls",
        "smtpHost": "smtp_host", "smtpPort": "smtp_port",
        "fromAddress": "from_address"}),
    "imessage": ("imessage", {}),
    "whatsapp": ("whatsapp", {}),
}
_SHARED = {"proxy": "proxy_url", "proxyUrl": "proxy_url",
           "requireMention": "mention_only", "mentionOnly": "mention_only",
           "allowFrom": "allowed_users", "dm.allowFrom": "allowed_users",
           "groupAllowFrom": "allowed_users"}
_PREFIX = re.compile(r"(?:user|tg|[a-z]{3,10}):(?=[^/])", re.IGNORECASE)
_BRIDGED = ("whatsapp",)
_SILENT = ("enabled", "dmPolicy", "dm.policy", "dm.enabled", "daemonHost",
           "daemonPort", "domain", "instanceId", "name", "identityKey")
_MOST_LEFT = 12


def list_channel(name: str, table: Mapping[str, Any], source: str
                 ) -> Iterator[Setting]:
    """The settings of one channel of another agent."""
    row = ROWS.get(name.lower())
    if row is None:
        yield Setting(source, None, None, "claw has no such channel")
        return
    ours, keys = row
    if table.get("enabled") is False:
        yield Setting(source, None, None, "it is switched off")
        return
    if ours in _BRIDGED:
        yield Setting(source, None, None, "it is a bridge to a telephone; "
                      "claw speaks to the platform itself: claw channel "
                      f"setup {ours}")
        return
    if table.get("domain") == "lark":
        ours = "lark"
    allowed: list[str] = []
    left: list[str] = []
    for path, value in leaves(table):
        theirs = ".".join(path)
        key = keys.get(theirs) or _SHARED.get(theirs)
        if key == "allowed_users":
            allowed += [_bare(each) for each in texts(value)]
        elif theirs == "groupPolicy":
            if value == "mention":
                yield Setting(f"{source}.{theirs}", (
                    "channels_config", ours, "mention_only"), True)
        elif key is not None and value != "":
            yield Setting(f"{source}.{theirs}", ("channels_config", ours,
                                                 key), value)
        elif theirs not in _SILENT and value not in ("", [], False):
            left.append(theirs)
    host, port = table.get("daemonHost"), table.get("daemonPort")
    if isinstance(host, str) and isinstance(port, int):
        yield Setting(f"{source}.daemonHost", ("channels_config", ours,
                                               "http_url"),
                      f"http://{host}:{port}")
    if left:
        yield Setting(source, None, None, "claw has no such settings: "
                      + ", ".join(left[:_MOST_LEFT]))
    if allowed:
        yield Setting(f"{source}.allowFrom",
                      ("channels_config", ours, "allowed_users"),
                      list(dict.fromkeys(allowed)))


def _bare(identity: str) -> str:
    """An id without the name of its platform: telegram:42, user:U1."""
    return _PREFIX.sub("", identity, count=1) if "://" not in identity \
        and not identity.startswith("@") else identity
