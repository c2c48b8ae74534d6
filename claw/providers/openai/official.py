"""OpenAI and Azure OpenAI: what their own models want, over our wire.

Chat Completions, and the Responses API for the models that need it. With
`client = "sdk"` the same goes through OpenAI's own client (sdk.py), which
takes four times the CPU to start.
Source: the SDK's types, openai 2 and 3; developers.openai.com.
"""

from claw.core.errors import AuthError
from claw.core.provider import ProviderCapabilities
from claw.core.value import replace
from claw.providers.catalog.address import key_hint
from claw.providers.connection import Connection
from claw.providers.openai.azure import find_place, is_azure
from claw.providers.openai.body import Api, OpenAIRequest, RequestOptions
from claw.providers.openai.models import (
    fixed_temperature,
    needs_responses,
    temperature_for,
    thinks,
)
from claw.providers.openai.provider import CompatibleProvider, OpenAIState
from claw.providers.wire.refusals import Feature

# Who pays, where a key serves several: variable -> header.
_PAYERS = {"OPENAI_ORG_ID": "openai-organization",
           "OPENAI_PROJECT_ID": "openai-project"}


class OpenAIProvider(CompatibleProvider):
    """api.openai.com, or an Azure deployment."""

    def __init__(self, connection: Connection) -> None:
        connection = with_payers(connection)
        self._place = place = find_place(connection) \
            if is_azure(connection.vendor) else None
        if place is None:
            super().__init__(connection)
            return
        super().__init__(replace(connection, vendor=replace(
            connection.vendor, url=place.base)))
        self.models_url = place.models_url
        self.responses_url = place.v1("/responses")

    @classmethod
    def build(cls, connection: Connection) -> "OpenAIProvider":
        if connection.named.client == "sdk":
            from claw.providers.openai.sdk import SdkProvider
            return SdkProvider(connection)
        if not connection.key:
            raise no_key(connection)
        return cls(connection)

    def capabilities(self) -> ProviderCapabilities:
        return replace(super().capabilities(), prompt_caching=True)

    @property
    def asks_deployment(self) -> bool:
        """Whether it is asked for a deployment. The names of those are not
        in its list, which is one of models."""
        return self._place is not None

    async def models(self) -> list[str]:
        return sorted(await super().models())

    def _choose_api(self, model: str, without: set[Feature]) -> Api:
        if self.vendor.responses_fallback and needs_responses(model):
            return "responses"
        return super()._choose_api(model, without)

    def _options(self, state: OpenAIState, *, stream: bool
                 ) -> RequestOptions:
        options = super()._options(state, stream=stream)
        temperature: float | None = temperature_for(state.model,
                                                    state.temperature)
        if options.api == "responses" and fixed_temperature(state.model):
            temperature = None
        return replace(options, temperature=temperature,
                       thinks=thinks(state.model))

    async def _write(self, state: OpenAIState, *, stream: bool
                     ) -> OpenAIRequest:
        wire = await super()._write(state, stream=stream)
        if self._place is not None and (wire.api == "responses"
                                        or self._place.is_v1):
            wire.body["model"] = self._place.deployment
        return wire


def no_key(connection: Connection) -> AuthError:
    return AuthError(f"{connection.vendor.title} API key not set",
                     hint=key_hint(connection.vendor))


def with_payers(connection: Connection) -> Connection:
    """The headers that say who pays, where the environment does."""
    headers = {header: connection.env[name].strip()
               for name, header in _PAYERS.items()
               if connection.env.get(name, "").strip()}
    return replace(connection, extra_headers={
        **headers, **connection.extra_headers}) if headers else connection
