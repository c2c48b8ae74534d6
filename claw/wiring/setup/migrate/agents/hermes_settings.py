"""config.yaml and .env of Hermes as claw's settings. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from claw.wiring.setup.migrate import Setting
from claw.wiring.setup.migrate.agents.common import get, texts
from claw.wiring.setup.migrate.agents.mcp_servers import list_servers
from claw.wiring.setup.migrate.agents.providers import (
    HeldProvider,
    choose_gateway,
    is_known,
    list_env_keys,
    list_provider_settings,
)
from claw.wiring.setup.migrate.reading.env_file import Opener

# A variable of .env -> the channel and its key.
_TOKENS: dict[str, tuple[str, str]] = {
    "TELEGRAM_BOT_TOKEN": ("telegram", "bot_token"),
    "DISCORD_BOT_TOKEN": ("discord", "bot_token"),
    "SLACK_BOT_TOKEN": ("slack", "bot_token"),
    "SLACK_APP_TOKEN": ("slack", "app_token"),
    "SIGNAL_HTTP_URL": ("signal", "http_url"),
    "SIGNAL_ACCOUNT": ("signal", "account"),
    "MATRIX_HOMESERVER": ("matrix", "homeserver"),
    "MATRIX_ACCESS_TOKEN": ("matrix", "access_token"),
    "MATRIX_USER_ID": ("matrix", "user_id"),
    "MATTERMOST_URL": ("mattermost", "url"),
    "MATTERMOST_TOKEN": ("mattermost", "bot_token"),
    "DINGTALK_CLIENT_ID": ("dingtalk", "client_id"),
    "DINGTALK_CLIENT_SECRET": ("dingtalk", "client_secret"),
    "FEISHU_APP_ID": ("feishu", "app_id"),
    "FEISHU_APP_SECRET": ("feishu", "app_secret"),
    "EMAIL_ADDRESS": ("email", "username"),
    "EMAIL_PASSWORD": ("email", "password"),
    "EMAIL_IMAP_HOST": ("email", "imap_host"),
    "EMAIL_IMAP_PORT": ("email", "imap_port"),
    "EMAIL_SMTP_HOST": ("email", "smtp_host"),
    "EMAIL_SMTP_PORT": ("email", "smtp_port"),
}
_ALLOWED, _EVERYBODY = "_ALLOWED_USERS", "_ALLOW_ALL_USERS"
_VENDORS = {"google": "gemini", "kimi-coding": "kimi-code",
            "ai-gateway": "vercel", "azure-foundry": "azure"}
_WIRES = {"codex_responses": "responses",
          "chat_completions": "chat_completions"}
_READ = {"model", "providers", "custom_providers", "mcp_servers",
         "command_allowlist", "_config_version", "timezone", "approvals"}


def list_settings(config: Mapping[str, Any], env: Mapping[str, str]
                  ) -> Iterator[Setting]:
    """What is set, each with claw's name for it or none."""
    opener = Opener(env)
    yield from _list_models(config, env, opener)
    yield from _list_channels(env)
    yield from list_servers(opener.open(get(config, "mcp_servers")),
                            "mcp_servers")
    turns = get(config, "agent", "max_turns")
    if isinstance(turns, int):
        yield Setting("agent.max_turns", ("agent", "max_tool_iterations"),
                      turns)
    allowed = texts(get(config, "command_allowlist"))
    if allowed:
        yield Setting("command_allowlist", None, None, "it allows dangerous "
                      f"commands ({', '.join(allowed[:5])}): claw permission "
                      "allow names one at a time")
    if get(config, "approvals", "mode") == "off":
        yield Setting("approvals.mode", ("autonomy", "level"), "full")
    for name, held in config.items():
        more = sorted(set(held) - {"max_turns"}) if name == "agent" \
            and isinstance(held, dict) else [name]
        if name not in _READ and more:
            yield Setting(name if name != "agent" else "agent: "
                          + ", ".join(more[:10]), None, None,
                          "claw has no such settings")


def _list_models(config: Mapping[str, Any], env: Mapping[str, str],
                 opener: Opener) -> Iterator[Setting]:
    held = get(config, "model")
    table: Any = held if isinstance(held, dict) else {}
    model = held if isinstance(held, str) else (
        table.get("default") or table.get("model"))
    named = str(table.get("provider") or "auto")
    providers = [*_list_providers(config, env, opener),
                 *list_env_keys(env, ".env")]
    url = table.get("base_url")
    if named == "custom" and isinstance(url, str) and url:
        key = opener.open(table.get("api_key"))
        providers.insert(0, HeldProvider(
            "hermes", "model", url, key if isinstance(key, str) else ""))
        named = "hermes"
    provider = None
    if isinstance(model, str) and model.strip():
        keyed = {each.name for each in providers if each.api_key}
        provider, bare = choose_gateway(model, keyed)
        if named not in ("auto", ""):
            provider = _VENDORS.get(named, named.removeprefix("custom:"))
            bare = model.removeprefix(f"{provider}/") \
                if provider != "openrouter" else model
        if not is_known(provider, providers):
            yield Setting("model.default", None, None, f"{model}: its "
                          "provider is none that claw knows, or a sign-in")
            provider = None
        else:
            yield Setting("model.provider", ("default_provider",), provider)
            yield Setting("model.default", ("default_model",), bare)
    yield from list_provider_settings(providers, provider)


def _list_providers(config: Mapping[str, Any], env: Mapping[str, str],
                    opener: Opener) -> Iterator[HeldProvider]:
    named = get(config, "providers")
    listed = get(config, "custom_providers")
    rows = [*(named.items() if isinstance(named, dict) else ()),
            *((get(each, "name"), each) for each in
              (listed if isinstance(listed, list) else ()))]
    for name, entry in rows:
        if not isinstance(entry, dict) or not isinstance(name, str):
            continue
        opened = opener.open(entry)
        key = opened.get("api_key") or env.get(str(opened.get("key_env")))
        url = opened.get("base_url")
        headers = opened.get("extra_headers")
        if key or url:
            yield HeldProvider(
                _VENDORS.get(name, name), f"providers.{name}",
                url if isinstance(url, str) else "",
                key if isinstance(key, str) else "",
                _WIRES.get(str(opened.get("api_mode")), ""),
                {str(k): v for k, v in headers.items()
                 if isinstance(v, str)} if isinstance(headers, dict) else {})


def _list_channels(env: Mapping[str, str]) -> Iterator[Setting]:
    """Tokens, and who may write; a channel without a token is none."""
    channels = {channel for name, (channel, _) in _TOKENS.items()
                if name in env}
    people: dict[str, list[str]] = {}
    for name, value in env.items():
        if name in _TOKENS:
            channel, key = _TOKENS[name]
            is_port = key.endswith("_port") and value.isdigit()
            yield Setting(f".env: {name}", ("channels_config", channel, key),
                          int(value) if is_port else value)
        elif name.endswith((_ALLOWED, _EVERYBODY)):
            channel, found = _read_people(name, value)
            if channel != "gateway" and channel not in channels and found:
                yield Setting(f".env: {name}", None, None,
                              f"there is no token of the channel {channel}")
            for each in channels if channel == "gateway" else (channel,):
                people.setdefault(each, []).extend(found)
    for channel in sorted(channels):
        if people.get(channel):
            yield Setting(f".env: {channel.upper()}{_ALLOWED}",
                          ("channels_config", channel, "allowed_users"),
                          list(dict.fromkeys(people[channel])))


def _read_people(name: str, value: str) -> tuple[str, list[str]]:
    """(channel, people) of a variable; "gateway" is all channels."""
    if name.endswith(_ALLOWED):
        return name.removesuffix(_ALLOWED).lower(), texts(value)
    is_on = value.lower() in ("true", "1", "yes", "on")
    return name.removesuffix(_EVERYBODY).lower(), ["*"] if is_on else []
