"""What config.toml may say about providers."""

import msgspec


class ProviderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The top-level keys.

    api_key: the key of default_provider; kept encrypted
    api_url: its address, in place of the usual one
    api_path: its path, in place of the usual one
    default_provider: the provider to ask, or custom:URL
    default_model: the model to ask
    default_temperature: sampling temperature, 0 to 2
    provider_timeout_secs: seconds for one answer; in a stream, the longest
        silence
    extra_headers: headers that go with every request
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

    name: the known vendor that it is like
    base_url: its address, up to /v1
    api_path: the path after the address
    api_key: its key; kept encrypted
    model: the model to ask
    wire_api: its protocol: "chat_completions"
    native_tools: whether it is offered tools in its own format
    requires_openai_auth: use the key of OpenAI
    azure_openai_resource: the resource on Azure; makes it one of Azure
    azure_openai_deployment: the deployment on Azure
    azure_openai_api_version: the version of the API on Azure
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
