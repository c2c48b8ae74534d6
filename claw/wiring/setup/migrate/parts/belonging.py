"""Settings that belong together: a provider with its key, a channel with
its token. Pure.

What comes whole from the other agent may come: its key goes to its address.
What would be used with a key, a token or an address of claw's own waits for
the owner's word, since it says where that goes or who may write there.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from claw.config.keys import Path, is_secret
from claw.config.tree import Tree
from claw.net.addresses import is_loopback
from claw.providers.catalog.keys import GENERIC
from claw.providers.catalog.lookup import is_address
from claw.providers.catalog.vendors import Vendor, find_vendor, vendors

_PROVIDERS, _CHANNELS = "model_providers", "channels_config"
_MOVES = {"base_url", "api_path", "azure_openai_resource"}
_KEYS = ("api_key", "default_provider", "default_model", "api_url",
         "api_path")


class Judge:
    """`own` are claw's settings with the environment over them, `coming`
    those of the other agent that nothing else holds back; `named` is its
    provider, whether it comes or not."""

    def __init__(self, own: Tree, env: Mapping[str, str],
                 coming: Sequence[tuple[Path, Any]], named: Any) -> None:
        self._own = own
        self._has_key = own.has("api_key") or own.has(
            "reliability.api_keys") or any(
                env.get(name, "").strip() for name in GENERIC)
        # Vendor -> its variable, in the order in which claw chooses.
        self._by_env = {vendor.name: key for vendor in vendors()
                        for key in reversed(vendor.choosing_keys)
                        if env.get(key, "").strip()}
        self._coming = coming
        self._named = named
        self._tables: dict[Path, dict[Path, Any]] = {}
        for path, value in coming:
            if len(path) > 2 and path[0] in (_PROVIDERS, _CHANNELS):
                self._tables.setdefault(path[:2], {})[path[2:]] = value
        self._mentioned = {_spell(text) for text in _texts(own.raw)}
        self._top = {path[0]: value for path, value in coming
                     if len(path) == 1 and path[0] in _KEYS}

    def judge(self) -> dict[int, str]:
        """Why settings are held back, by their number in `coming`."""
        held = {table: why for table, rows in self._tables.items()
                if (why := self._judge_table(table, rows))}
        top = self._judge_top({table[1] for table in self._tables
                               if table[0] == _PROVIDERS
                               and table not in held})
        found = {number: held.get(path[:2]) or (
            top.get(path[0]) if len(path) == 1 else None)
            for number, (path, _) in enumerate(self._coming)}
        return {number: why for number, why in found.items() if why}

    def _judge_table(self, table: Path, rows: Mapping[Path, Any]) -> str:
        kind, name = table
        if kind == _CHANNELS:
            if self._own.has(table):
                return f"the channel {name} is claw's own"
            return "" if any(is_secret(path) and value for path, value
                             in rows.items() if len(path) == 1) \
                else "no token of its own comes with it"
        vendor = find_vendor(name)
        if any(_spell(own) == _spell(name)
               for own in self._own.names(_PROVIDERS)):
            return f"the provider {name} is claw's own"
        if _spell(name) in self._mentioned:
            return f"claw's own settings name {name}: what it asks there " \
                "would go another way"
        if _spell(name) in self._by_env:
            return f"claw has its own key of {name} " \
                f"({self._by_env[_spell(name)]})"
        if _is_here(vendor, rows.get(("base_url",))):
            return ""
        if vendor is not None and vendor.url and any(
                path[0] in _MOVES for path in rows):
            return f"your key of {name} could be sent there"
        key = rows.get(("api_key",))
        return "" if isinstance(key, str) and key.strip() else \
            "no key of its own comes with it: yours would be sent there"

    def _judge_top(self, providers: set[str]) -> dict[str, str]:
        held: dict[str, str] = {}
        coming = "default_provider" in self._top
        if coming and (why := self._judge_default(providers)):
            held["default_provider"] = why
            coming = False
        own = self._own.get("default_provider", None)
        if not coming or self._by_env:
            held["api_key"] = "claw would use it with a provider of its own"
            if own != self._named and (own or self._named):
                held["default_model"] = "it is a model of their provider"
        url = self._top.get("api_url")
        if not (coming and _is_here(find_vendor(str(self._named)), url)):
            held["api_url"] = held["api_path"] = \
                "what claw asks, with its key, would go there"
        return held

    def _judge_default(self, providers: set[str]) -> str:
        """Why their provider does not become claw's."""
        name = self._top["default_provider"]
        if not isinstance(name, str):
            return ""  # refused for what it is
        if self._has_key:
            return "claw's own key would be sent there"
        used = next(iter(self._by_env), None)
        if used is not None and used != _spell(name):
            return f"claw uses {used} ({self._by_env[used]}): what you ask " \
                "would go there instead"
        key = self._top.get("api_key")
        vendor = find_vendor(name)
        if is_address(name):
            is_whole = isinstance(key, str) and bool(key.strip())
        else:
            is_whole = name in providers or (
                vendor is not None and bool(vendor.url or vendor.local))
        return "" if is_whole else \
            "no key of its own comes with it: yours would be sent there"


def _is_here(vendor: Vendor | None, url: Any) -> bool:
    """Whether it is a model server of this machine, which needs no key."""
    return vendor is not None and vendor.local and (
        url is None or is_loopback(str(url)))


def _spell(name: str) -> str:
    """One spelling for a provider and its other names."""
    vendor = find_vendor(name)
    return vendor.name if vendor else name.strip().lower()


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for below in node.values():
            yield from _texts(below)
    elif isinstance(node, list | tuple):
        for below in node:
            yield from _texts(below)
    elif isinstance(node, str):
        yield node
