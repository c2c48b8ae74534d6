"""What config.toml may say about providers."""

import msgspec


class ProviderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The top-level keys.

    `api_url` and `api_path` replace the address of the chosen provider,
    `provider_timeout_secs` is the time for one answer (in a stream: the
    longest silence), `extra_headers` go with every request.
    """

    api_key: str | None = None
    api_url: str | None = None
    api_path: str | None = None
    default_provider: str | None = None
    default_model: str | None = None
    default_temperature: float = 0.7
    provider_timeout_secs: float = 120
    extra_headers: dict[str, str] = {}


class NamedProviderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[model_providers.<name>]: an address of one's own, or other settings
    for a known vendor.

    `wire_api` must be "chat_completions". With `requires_openai_auth` the
    key is that of OpenAI. The azure_* keys make it an Azure deployment.
    `native_tools` switches native tool calling on or off.
    """

    name: str | None = None
    base_url: str | None = None
    api_path: str | None = None
    api_key: str | None = None
    model: str | None = None
    wire_api: str | None = None
    native_tools: bool | None = None
    requires_openai_auth: bool = False
    azure_openai_resource: str | None = None
    azure_openai_deployment: str | None = None
    azure_openai_api_version: str | None = None
