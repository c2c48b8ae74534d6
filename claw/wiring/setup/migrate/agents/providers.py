"""Providers of another agent as claw's settings. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from claw.core.value import Value, made
from claw.providers.catalog.vendors import find_vendor, vendors
from claw.wiring.setup.migrate import Setting

_GATEWAYS = ("openrouter", "vercel", "aihubmix", "siliconflow")
_WIRES = {"responses", "chat_completions"}


class HeldProvider(Value):
    """A provider of another agent: `name` is its own, `source` where it
    stands there. `wire_api` is claw's word."""

    name: str
    source: str
    base_url: str = ""
    api_key: str = ""
    wire_api: str = ""
    headers: Mapping[str, str] = made(factory=dict)


def list_env_keys(env: Mapping[str, str], source: str
                  ) -> Iterator[HeldProvider]:
    """A provider for each variable that holds a key of one."""
    for name, value in env.items():
        vendor = next((v for v in vendors() if name in v.keys), None)
        if vendor is not None:
            yield HeldProvider(vendor.name, f"{source}: {name}",
                               api_key=value)


def list_provider_settings(providers: Iterable[HeldProvider],
                           chosen: str | None) -> Iterator[Setting]:
    """The settings of all; the key of the chosen one stands at the top.
    Of two of one name the first counts."""
    main = _canonical(chosen) if chosen else None
    done: set[tuple[str, ...]] = set()
    for each in providers:
        for setting in _list_one(each, main):
            if setting.key is None or setting.key not in done:
                done.add(setting.key or (setting.source,))
                yield setting


def choose_model(text: str) -> tuple[str | None, str]:
    """(provider, model) of "provider/model"; the model alone where what
    stands before the stroke is no provider of claw's."""
    head, stroke, rest = text.strip().partition("/")
    vendor = find_vendor(head)
    if stroke and rest and vendor is not None:
        return vendor.name, rest
    return None, text.strip()


def is_known(name: str | None, providers: Iterable[HeldProvider]) -> bool:
    """Whether claw can ask a provider of this name."""
    return name is not None and (find_vendor(name) is not None or any(
        each.name == name and each.base_url for each in providers))


def choose_gateway(text: str, keyed: Collection[str]
                   ) -> tuple[str | None, str]:
    """(provider, model) where the provider is not named: that of the
    model's name where it has a key, else a gateway that has one."""
    provider, model = choose_model(text)
    if provider in keyed or "/" not in text:
        return provider, model
    gateway = next((name for name in _GATEWAYS if name in keyed), None)
    return (gateway, text.strip()) if gateway else (provider, model)


def _list_one(each: HeldProvider, main: str | None) -> Iterator[Setting]:
    vendor = find_vendor(each.name)
    name = vendor.name if vendor else each.name
    url = each.base_url.rstrip("/")
    if vendor is not None and url == vendor.url.rstrip("/"):
        url = ""
    if vendor is None and not url:
        yield Setting(each.source, None, None, "claw does not know this "
                      "provider: give it an address with claw config set "
                      f"model_providers.{name}.base_url URL")
        return
    row = {"name": vendor.name if vendor else None, "base_url": url,
           "wire_api": each.wire_api if each.wire_api in _WIRES else None}
    is_plain = not (url or row["wire_api"] or each.headers)
    if is_plain and name == main:
        if each.api_key:
            yield Setting(each.source, ("api_key",), each.api_key)
        return
    if is_plain and not each.api_key:
        return
    for key, value in {**row, "api_key": each.api_key}.items():
        if value:
            yield Setting(each.source, ("model_providers", name, key), value)
    for header, value in each.headers.items():
        yield Setting(each.source, ("model_providers", name, "headers",
                                    header), value)


def _canonical(name: str) -> str:
    vendor = find_vendor(name)
    return vendor.name if vendor else name
