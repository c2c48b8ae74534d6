"""A provider put to the test: what `claw provider test` and `claw onboard`
ask it."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import msgspec

from claw.core.errors import (
    AuthError,
    ClawError,
    ExitCode,
    UnavailableError,
)
from claw.core.provider import Provider
from claw.core.value import Value, replace
from claw.providers.catalog.local import choose_model
from claw.providers.catalog.vendors import display_name
from claw.providers.check import (
    Check,
    asks_deployment,
    check_answer,
    check_provider,
    explain_failure,
    explain_unbuilt,
)
from claw.providers.factory import LIST_S, OFFLINE, Providers
from claw.providers.offline import NO_MODEL, WAYS
from claw.providers.settings import NamedProviderSettings

# The name of a provider, its model and its rows.
Tested: TypeAlias = tuple[str, str | None, list[Check]]
Hears: TypeAlias = Callable[[str, str | None, Check], None]


async def try_provider(providers: Providers, name: str | None,
                       model: str | None, hear: Hears,
                       key: str | None = None, *,
                       look_s: float = LIST_S) -> Tested:
    """Every probe of one provider, None the one in use; `hear` is told of
    each row. `key` in place of the one that is set. A server that is silent
    for `look_s` is given up."""
    def only(shown: str, model: str | None, check: Check) -> Tested:
        hear(shown, model, check)
        return shown, model, [check]
    try:
        provider, choice = await providers.open(
            name, model, key, bare=True, limit_s=look_s)
    except ClawError as error:
        return only(display_name(name or "default"), model,
                    explain_unbuilt(error))
    if choice.provider_name == OFFLINE:
        return only(choice.shown, None, _explain_offline(name))
    try:
        twin = _native_twin(providers, choice.provider_name, provider, key)
        # under which the provider keeps what is found out
        address = getattr(provider, "address", None) \
            or getattr(provider, "chat_url", None) \
            or providers.vendor(choice.provider_name).url
        try:
            checks = await check_provider(
                provider, choice.model or "", model_info=providers.model_info,
                native=twin, address=address, look_s=look_s,
                has_key=providers.key(
                    choice.provider_name, key).value is not None,
                hear=partial(hear, choice.shown, choice.model))
        finally:
            if twin is not None:
                await twin.aclose()
    finally:
        await provider.aclose()
    return choice.shown, choice.model, checks


class TriedKey(Value):
    """What a key opens: the models that may be asked for, as far as the
    server lists them, and the failed row where it was refused or nobody
    answered."""

    models: tuple[str, ...] = ()
    failure: Check | None = None


async def try_key(providers: Providers, name: str,
                  key: str | None = None) -> TriedKey:
    """Ask a provider for its models, and the usual one of them for a word:
    whether a key is good shows in an answer alone."""
    try:
        provider = providers.create(name, key)
    except ClawError as error:
        return TriedKey(failure=explain_unbuilt(error))
    try:
        models = await _list_models(provider)
        if asks_deployment(provider):
            models = ()
        usual = providers.vendor(name).model
        model = usual if usual and (not models or usual in models) \
            else choose_model(models)
        if model is None:
            return TriedKey(models)
        rows = await check_answer(provider, model, has_key=True)
        failure = next((row for row in rows if not row.ok), None)
        # what is wrong with one model says nothing of the key
        return TriedKey(models, failure if failure is not None
                        and failure.id in ("config", "reach", "key")
                        else None)
    except ClawError as error:
        return TriedKey(failure=next(
            row for row in explain_failure(error, "", 0) if not row.ok))
    finally:
        await provider.aclose()


async def _list_models(provider: Provider) -> tuple[str, ...]:
    """Its models; none where it has no list. Raises AuthError, and
    UnavailableError where nobody answers."""
    try:
        async with asyncio.timeout(LIST_S):
            return tuple(dict.fromkeys(await provider.models()))
    except TimeoutError:
        return ()
    except AuthError:
        raise
    except UnavailableError as error:
        if error.status is None:
            raise
        return ()


def _explain_offline(name: str | None) -> Check:
    """The row of the provider without a model: there is no server, no key
    and nothing to ask. A failure unless it was asked for by name."""
    return Check("config", name is not None, f"{NO_MODEL}; nothing was asked",
                 f"to add one: {WAYS}",
                 code=ExitCode.DONE if name else ExitCode.CONFIG)


def _native_twin(providers: Providers, name: str, provider: Provider,
                 key: str | None) -> Provider | None:
    """The same provider, told to offer tools in the API's own format: for
    a server on this machine, whose models may know it or not."""
    if provider.supports_native_tools() or hasattr(provider, "takes_tools"):
        return None
    vendor = providers.vendor(name)
    settings = providers.named.get(vendor.name, NamedProviderSettings())
    if not vendor.local or vendor.plugin != "compatible" \
            or settings.native_tools is not None:
        return None
    told = msgspec.structs.replace(settings, native_tools=True)
    return replace(providers, named={
        **providers.named, vendor.name: told}).create(name, key)
