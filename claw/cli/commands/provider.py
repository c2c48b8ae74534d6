"""claw provider list, test, models: what is configured, does it answer,
what does it offer."""

import asyncio
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

import claw.providers.catalog.models as lists
from claw.cli.commands.probe_view import ProbeView
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.options import ModelOption
from claw.core.errors import (
    ClawError,
    ConfigError,
    ExitCode,
    NotFoundError,
    UnavailableError,
)
from claw.core.value import replace
from claw.net.addresses import is_loopback
from claw.providers.catalog.choice import Choice
from claw.providers.catalog.model_info import plain_address
from claw.providers.catalog.models import ModelList
from claw.providers.catalog.vendors import display_name, vendors
from claw.providers.check import PAID, Check, find_worst_code
from claw.providers.factory import LIST_S, OFFLINE, Providers
from claw.providers.offline import NO_MODEL, WAYS
from claw.wiring.models.ledger import open_ledger
from claw.wiring.models.providers import build_providers
from claw.wiring.models.trial import Tested, try_provider

_NOT_NEEDED = "not needed"

_TimeoutOption = Annotated[float | None, typer.Option(
    "--timeout", metavar="SECONDS", min=0.1,
    help="Seconds to wait for one answer; default the setting "
         "provider_timeout_secs.")]


@examples("claw provider list", "claw provider list --all",
          "claw provider list --json | jq -r '.providers[].name'")
def list_(context: typer.Context,
          every: Annotated[bool, typer.Option(
              "--all", help="List every provider that claw knows.")] = False,
          ) -> None:
    """List the providers that are set up, the one in use first.

    With --all lists every provider that claw knows, with its other names
    and the variables that may hold its key.
    """
    run = Invocation.of(context)
    providers = build_providers(run.settings)
    rows: list[dict[str, Any]] = [
        {"name": v.name, "title": v.title, "url": v.url,
         "aliases": list(v.aliases), "keys": list(v.keys),
         "model": v.model, "local": v.local} for v in vendors()
    ] if every else _list_set_up(providers)
    if run.print_json_rows("providers", rows):
        return
    if every:
        run.out.table([[
            str(row["name"]), str(row["title"]),
            " ".join(row["keys"]) or ("local" if row["local"] else "-"),
            " ".join(row["aliases"])] for row in rows])
    else:
        run.out.table([_to_cells(row) for row in rows])
        if [row["name"] for row in rows] == [OFFLINE]:
            run.out.note(f"{NO_MODEL}; to add one: {WAYS}")


@examples("claw provider test", "claw provider test groq ollama",
          "claw provider test custom:http://localhost:8000/v1 -m llama3",
          "claw provider test --json | jq '.providers[] | select(.ok | not)'")
def probe(context: typer.Context,
          names: Annotated[list[str] | None, typer.Argument(
              metavar="[NAME...]", help="Providers (default all that are "
                                        "set up).")] = None,
          model: ModelOption = None, timeout: _TimeoutOption = None) -> None:
    """Ask providers for a real answer and say what works.

    One row for each probe: reach, key, model, answer, stream (with the time
    to the first words), tools, vision (where images are taken) and usage.
    Answer, stream, tools and vision ask the model, which may cost money. A
    failed row names the cause and the fix. On a terminal the probes that
    pass share one row; -v shows each. A server that says nothing is given
    up after 10 s, or after --timeout. The exit code is that of the worst
    failure. What claw learns about a model's tools is remembered.
    """
    run = Invocation.of(context)
    if run.out.on_terminal and not run.as_json:
        run.out.note(PAID)
    view = None if run.as_json else ProbeView(
        run.out, folds=not run.verbose)
    with closing(open_ledger(run.settings, run.out.note)) as ledger, \
            run.out.waiting("asking"):
        providers = _with_timeout(build_providers(
            run.settings, around=ledger.meter), timeout)
        for name in names or ():
            providers.vendor(name)  # raises for what nobody knows
        tested = asyncio.run(_test_all(providers, names or [], model, view,
                                       timeout or LIST_S))
    if run.json:
        run.out.document({"providers": [_report(*row) for row in tested]})
    elif run.jsonl:
        run.out.lines(_report(*row) for row in tested)
    raise typer.Exit(find_worst_code(
        [c for _, _, checks in tested for c in checks]))


@examples("claw provider models",
          "claw provider models openrouter | grep qwen",
          "claw provider models groq --refresh",
          "claw provider models ollama --json")
def models(context: typer.Context,
           name: Annotated[str | None, typer.Argument(
               metavar="[NAME]", help="A provider (default the one in "
                                      "use).")] = None,
           refresh: Annotated[bool, typer.Option(
               "--refresh",
               help="Ask again even when the list is less than 12 hours "
                    "old.")] = False,
           timeout: _TimeoutOption = None) -> None:
    """Print the models that a provider offers, one a line.

    The list is cached for 12 hours; a server on this machine is asked each
    time. When nobody answers, an older list is printed with a note of its
    age. Exits 1 when there are no models.
    """
    run = Invocation.of(context)
    providers = _with_timeout(build_providers(run.settings), timeout)
    provider_name = name or providers.choose().provider_name
    found, aside = _load_models(
        providers, provider_name,
        run.settings.places.workspace / "state" / lists.FILE, refresh=refresh)
    if aside is not None:
        when = time.strftime("%Y-%m-%d %H:%M",
                             time.localtime(found.fetched_at))
        run.out.note(f"{aside.message}; this list is from {when}")
    shown = display_name(provider_name)
    run.print_result({"provider": shown, "models": list(found.models),
                      "total": len(found.models),
                      "fetched_at": round(found.fetched_at)},
                     "\n".join(found.models))
    if not found.models and not run.as_json:
        raise NotFoundError(f"{shown} offers no models")
    raise typer.Exit(ExitCode.DONE if found.models else ExitCode.NEGATIVE)


def _load_models(providers: Providers, name: str, path: Path, *, refresh: bool
            ) -> tuple[ModelList, UnavailableError | None]:
    """The models of a provider, and why the list is an old one."""
    vendor = providers.vendor(name)
    key = display_name(vendor.name)
    near = vendor.local or is_loopback(vendor.url)
    if not refresh and not near:
        found = lists.load_models(path, key, address=vendor.url)
        if found is not None:
            return found, None
    try:
        names = asyncio.run(_models(providers, name))
    except UnavailableError as error:
        old = lists.load_models(path, key, float("inf"), address=vendor.url)
        if error.status is not None or old is None:
            raise
        return old, error
    now = time.time()
    lists.save_models(path, key, names, now, address=vendor.url)
    return ModelList(tuple(names), now), None


def _with_timeout(providers: Providers, timeout: float | None) -> Providers:
    if timeout is None:
        return providers
    return replace(providers, settings=msgspec.structs.replace(
        providers.settings, provider_timeout_secs=timeout))


def _list_set_up(providers: Providers) -> list[dict[str, Any]]:
    """Rows of what is set up; the one in use first."""
    chosen = _choose(providers)
    first = chosen.provider_name
    rows = [_row(providers, first, chosen)]
    for name in providers.list_configured():
        if name != first and display_name(name) != rows[0]["name"]:
            rows.append(_row(providers, name, None))
    return rows


def _to_cells(row: dict[str, Any]) -> list[str]:
    """A provider that is set up, for people."""
    if row["name"] == OFFLINE:
        return [OFFLINE, "-", "no key needed",
                "in use: it quotes and computes, no model is asked"]
    key = "no key needed" if row["key"] == _NOT_NEEDED \
        else f"key: {row['key']}"
    return [str(row["name"]), str(row["model"] or "-"), key,
            ("in use: " if row["chosen"] else "") + str(row["reason"])]


def _choose(providers: Providers) -> Choice:
    """The provider in use, also where its model still has to be named."""
    try:
        return providers.choose()
    except ConfigError as error:
        default = (providers.settings.default_provider or "").strip()
        if not default:
            raise
        return Choice(default, None, error.message)


def _row(providers: Providers, name: str,
         chosen: Choice | None) -> dict[str, Any]:
    """One provider that is set up; a fault in its settings is its reason."""
    reason = chosen.reason if chosen else ""
    shown = display_name(name)
    row = {"name": shown, "title": shown, "url": None, "model": None,
           "key": "none", "local": False, "chosen": chosen is not None,
           "reason": reason}
    try:
        vendor = providers.vendor(name)
        row |= {"name": display_name(vendor.name),
                "title": display_name(vendor.title),
                "url": plain_address(vendor.url) or None,
                "local": vendor.local}
        choice = chosen or providers.choose(name)
        row |= {"model": choice.model,
                "key": _name_key(providers, name)}
    except ClawError as error:
        row["reason"] = error.message
    return row


def _name_key(providers: Providers, name: str) -> str:
    """Where the key comes from."""
    key = providers.key(name)
    return _NOT_NEEDED if key.value is None \
        and not providers.vendor(name).needs_key else key.origin


async def _test_all(providers: Providers, names: list[str],
                    model: str | None, view: ProbeView | None,
                    look_s: float) -> list[Tested]:
    """Every provider beside the others; `view` shows them in order."""
    wanted: list[str | None] = list(dict.fromkeys(
        names or providers.list_configured())) or [None]

    async def test(number: int, name: str | None) -> Tested:
        def hear(shown: str, settled: str | None, check: Check) -> None:
            if view is not None:
                view.hear(number, f"{shown}  {settled or ''}".rstrip(), check)
        try:
            return await try_provider(providers, name, model, hear,
                                      look_s=look_s)
        finally:
            if view is not None:
                view.finish(number)
    return await asyncio.gather(*(test(number, name)
                                  for number, name in enumerate(wanted)))


def _report(name: str, model: str | None,
            checks: list[Check]) -> dict[str, Any]:
    return {"name": name, "model": model, "ok": all(c.ok for c in checks),
            "checks": [{"id": c.id, "ok": c.ok, "detail": c.detail,
                        "hint": c.hint, "ms": c.ms} for c in checks]}


async def _models(providers: Providers, name: str) -> list[str]:
    provider = providers.create(name)
    try:
        return await provider.models()
    finally:
        await provider.aclose()
