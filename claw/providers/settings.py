"""What config.toml may say about providers."""

from typing import Annotated, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0)]
Money = Annotated[float, msgspec.Meta(ge=0)]


SLOW_HINT = ("a model that is slow, or being loaded, may need longer: claw "
             "config set provider_timeout_secs 300")


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
    people: [people.NAME]: channels, and a person's id or ids there
    """

    api_key: str | None = None
    api_url: str | None = None
    api_path: str | None = None
    default_provider: str | None = None
    default_model: str | None = None
    default_temperature: float = 0.7
    provider_timeout_secs: Annotated[float, msgspec.Meta(gt=0)] = 120
    extra_headers: dict[str, str] = {}
    people: dict[str, dict[str, str | int | tuple[str | int, ...]]] = {}


class NamedProviderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[model_providers.<name>]: an address of one's own, or other settings
    for a known vendor.

    name: the known vendor that it is like
    base_url: its address, up to /v1
    api_path: the path after the address
    api_key: its key; kept encrypted
    model: the model to ask
    wire_api: its protocol: "chat_completions" or "responses"
    client: what asks OpenAI and Azure: claw ("http"), or OpenAI's own client
        ("sdk", slower to start), which can sign in with Entra
    native_tools: whether it is offered tools in its own format
    vision: whether it is sent images
    num_ctx: how many tokens of context Ollama keeps
    auth: how the key is sent: bearer, x-api-key, or the name of a header
    headers: headers that go with every request to it
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
    client: Literal["http", "sdk"] = "http"
    native_tools: bool | None = None
    vision: bool | None = None
    num_ctx: Annotated[int, msgspec.Meta(gt=0)] | None = None
    auth: str | None = None
    headers: dict[str, str] = {}
    requires_openai_auth: bool = False
    azure_openai_resource: str | None = None
    azure_openai_deployment: str | None = None
    azure_openai_api_version: str | None = None


class ReliabilitySettings(msgspec.Struct, frozen=True, kw_only=True):
    """[reliability]: what happens when something fails.

    provider_retries: how often a call is tried again
    provider_backoff_ms: the first wait, doubled each time up to 10 s; what
        is waited is a random part of it
    fallback_providers: providers to ask when the first one fails
    api_keys: more keys of the default provider, taken in turn when one is
        over its rate limit; kept encrypted
    model_fallbacks: models to ask in place of a model that fails
    channel_initial_backoff_secs: the first wait before a channel that fails
        is started again, at least 2 s
    channel_max_backoff_secs: the longest wait, at least 60 s
    scheduler_poll_secs: how long claw listen goes without a look at the
        jobs, at least 5 s
    scheduler_retries: how often a job is tried again whose model can't be
        reached
    """

    provider_retries: Count = 2
    provider_backoff_ms: Count = 500
    fallback_providers: list[str] = []
    api_keys: list[str] = []
    model_fallbacks: dict[str, list[str]] = {}
    channel_initial_backoff_secs: float = 2.0
    channel_max_backoff_secs: float = 60.0
    scheduler_poll_secs: Count = 15
    scheduler_retries: Count = 2


class RouteSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[[model_routes]]: which model a hint stands for.

    hint: the name that rules and /model use
    provider: the provider to ask
    model: its model
    api_key: a key of its own; kept encrypted
    """

    hint: str = ""
    provider: str = ""
    model: str = ""
    api_key: str | None = None


class ModelAliasSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[model_aliases.<name>]: a short name for a model.

    model: the model, or another alias
    provider: the provider to ask for it; left out, the one in use
    """

    model: str = ""
    provider: str | None = None


class ReasoningSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[runtime]: how models think.

    reasoning_enabled: whether models that can think before they answer do;
        left out, it is the vendor's choice
    reasoning_effort: how long they think: minimal, low, medium, high,
        xhigh or max, where the vendor knows it
    """

    reasoning_enabled: bool | None = None
    reasoning_effort: Literal[
        "minimal", "low", "medium", "high", "xhigh", "max"] | None = None


class PriceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[cost.prices.<model>]: US dollars for a million tokens. A model for
    texts needs input and output; one of them alone is no price.

    input: of the prompt
    output: of the answer
    cached_input: of the prompt where it is read from the provider's cache;
        left out, a tenth of input
    cache_write: of the prompt where it is written to that cache; left out,
        that of input
    per_minute: of a minute of sound that is written down
    per_character: of a million characters that are spoken
    """

    input: Money | None = None
    output: Money | None = None
    cached_input: Money | None = None
    cache_write: Money | None = None
    per_minute: Money | None = None
    per_character: Money | None = None


class CostSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[cost]: what models may cost.

    enabled: keep to the limits below; calls are recorded in any case
    daily_limit_usd: the most for a day, 0 for no limit
    monthly_limit_usd: the most for a month, 0 for no limit
    per_call_limit_usd: the most for one call of a model, 0 for no limit
    warn_at_percent: say so when this part of a limit is reached
    allow_override: let --max-cost take the place of the daily and monthly
        limits
    prices: prices of models, in place of the built-in ones
    """

    enabled: bool = True
    daily_limit_usd: Money = 10.0
    monthly_limit_usd: Money = 100.0
    per_call_limit_usd: Money = 0.0
    warn_at_percent: Annotated[int, msgspec.Meta(ge=0, le=100)] = 80
    allow_override: bool = False
    prices: dict[str, PriceSettings] = {}
