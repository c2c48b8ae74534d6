"""What `config check` says about the names of providers, of speech and of
embedders, and about hints and the routes behind them.

At run time a hint without a route goes to the default provider under its
own name, and a fall-back that can't be is left out; as settings they are
mistakes.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from claw.config.keys import Path, join_key
from claw.config.tree import SettingError, Tree
from claw.config.validate import Finding, Level
from claw.core.errors import ConfigError
from claw.core.registry import nearest
from claw.memory.embeddings import REGISTRY as EMBEDDERS
from claw.providers.catalog.lookup import find_row
from claw.providers.factory import Providers
from claw.providers.settings import RouteSettings
from claw.speech import SYNTHESIZERS
from claw.wiring.models.providers import (
    build_providers,
    read_named_providers,
    read_routes,
)

HINT = "hint:"


def route_findings(tree: Tree) -> Iterator[Finding]:
    """Providers that are none, routes that lead nowhere, and hints that no
    route has."""
    try:
        providers, routes = build_providers(tree, {}), read_routes(tree)
    except SettingError:
        return  # the wrong value is reported by itself
    yield from _no_providers(tree, providers)
    yield from _no_plug_ins(tree)
    yield from _broken_routes(tree, routes)
    known = [row.hint for row in routes if row.hint]
    for path, hint in _used_hints(tree):
        if hint and hint not in known:
            near = nearest(hint, known)
            yield _finding(
                tree, path, f"no [[model_routes]] has the hint {hint!r}",
                f'did you mean "{near}"?' if near else
                "add a route with hint, provider and model")


def _no_providers(tree: Tree, providers: Providers) -> Iterator[Finding]:
    """Names that no provider has: of the one in use an error, of those
    that can be done without a warning."""
    default = (providers.settings.default_provider or "").strip()
    names: list[tuple[Path, str, Level]] = [
        (("default_provider",), default, "error")]
    names += [(("reliability", "fallback_providers"), name, "warning")
              for name in providers.reliability.fallback_providers]
    names.append((("multimodal", "vision_provider"), str(
        tree.get("multimodal.vision_provider", "") or "").strip(), "warning"))
    for path, name, level in names:
        try:
            if name:
                providers.vendor(name)
        except ConfigError as error:
            yield _finding(tree, path, error.message, error.hint, level)


def _no_plug_ins(tree: Tree) -> Iterator[Finding]:
    """Names that nothing which speaks or makes vectors has."""
    voice = str(tree.get("tts.default_provider", "") or "").strip()
    embedder = str(tree.get("memory.embedding_provider", "") or "")
    embedder = embedder.partition(":")[0].strip().lower()
    for path, name, registry in (
            (("tts", "default_provider"), voice, SYNTHESIZERS),
            (("memory", "embedding_provider"), embedder, EMBEDDERS)):
        if name in ("", "none", "noop", *registry.names()) \
                or name in registry.foreign_names():
            continue
        error = registry.unknown(name)
        yield _finding(tree, path, error.message, error.hint, "warning")


def _broken_routes(tree: Tree, routes: Sequence[RouteSettings]
                   ) -> Iterator[Finding]:
    seen: set[str] = set()
    for number, row in enumerate(routes):
        path = ("model_routes", str(number))
        if row.hint and row.hint in seen:
            yield _finding(tree, (*path, "hint"),
                           f"{row.hint!r} stands there twice",
                           "the first route is used", "warning")
        seen.add(row.hint)
        if not row.provider.strip():
            continue  # the default provider's
        try:
            find_row(row.provider.strip(), read_named_providers(tree), {})
        except ConfigError as error:
            yield _finding(tree, (*path, "provider"), error.message,
                           error.hint, "warning")


def _used_hints(tree: Tree) -> Iterator[tuple[Path, str]]:
    """Every place that names a hint."""
    rules = ("query_classification", "rules")
    for number, rule in enumerate(_rows(tree, rules)):
        if isinstance(rule, dict) and isinstance(rule.get("hint"), str):
            yield (*rules, str(number), "hint"), rule["hint"]
    for level in ("simple", "standard", "complex"):
        path: Path = ("agent", "auto_classify", f"{level}_hint")
        hint = tree.node_or(path)
        if isinstance(hint, str):
            yield path, hint
    for path in _model_settings(tree):
        model = tree.node_or(path)
        if isinstance(model, str) and model.startswith(HINT):
            yield path, model[len(HINT):]


def _model_settings(tree: Tree) -> Iterator[Path]:
    yield ("default_model",)
    for name in tree.names("agents"):
        yield ("agents", name, "model")
    for number in range(len(_rows(tree, ("cron", "jobs")))):
        yield ("cron", "jobs", str(number), "model")


def _rows(tree: Tree, path: Path) -> list[Any]:
    found = tree.node_or(path)
    return found if isinstance(found, list) else []


def _finding(tree: Tree, path: Path, message: str, hint: str | None,
             level: Level = "error") -> Finding:
    return Finding(join_key(path), tree.line(path), message, hint, level)
