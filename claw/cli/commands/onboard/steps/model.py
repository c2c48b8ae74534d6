"""Which model answers: the provider, its key (tried at once), the model
with its price, and a limit for the day."""

import asyncio
import os
from contextlib import closing
from math import isfinite

from claw.cli.commands.onboard.asking import Choice
from claw.cli.commands.onboard.steps.trouble import (
    AGAIN,
    build_error,
    decide,
)
from claw.cli.commands.onboard.wizard import YES, Wizard
from claw.core.errors import ClawError
from claw.core.ledger import price_hint
from claw.providers.catalog.lookup import CUSTOM, check_url, is_address
from claw.providers.catalog.vendors import display_name
from claw.providers.check import Check
from claw.providers.factory import OFFLINE, Providers
from claw.wiring.models.ledger import open_ledger
from claw.wiring.models.providers import build_providers
from claw.wiring.models.trial import TriedKey, try_key, try_provider
from claw.wiring.setup.onboard import model as models

NONE = "none"
_OTHER, _OWN = "other", "own"
_UNPROVEN = "unproven_model"
_NAMED = 5  # models in an error
_KEY = Choice("key", "another key")
_ADDRESS = Choice("address", "another address")
_PROVIDER = Choice("provider", "another provider")
_MODEL = Choice("model", "another model")
_KEEP = Choice("keep", "keep it as it is")


class _LeftOut(Exception):
    """The person wants what was set before, and no other."""


def ask_model(w: Wizard) -> None:
    """The whole step; it is left when something works, or is kept as it
    is, or left out."""
    try:
        _ask_until_good(w)
    except _LeftOut:
        w.say(f"What was set before stays: {_describe_before(w)}.")


def _ask_until_good(w: Wizard) -> None:
    while True:
        name = _ask_provider(w)
        if name in (NONE, OFFLINE):
            _take_out(w, name)
            return
        if (offered := _settle_key(w, name)) is None:
            continue
        model = _ask_model_name(w, name, offered)
        if _prove(w, name, model):
            _write(w, name, model)
            return


def _take_out(w: Wizard, name: str) -> None:
    """Whoever was asked by default is asked no more."""
    w.writer.write({("default_provider",): OFFLINE} if name == OFFLINE else
                   {("default_provider",): None, ("default_model",): None})
    choice = _providers(w).choose()
    if choice.provider_name == OFFLINE:
        w.say("No model for now: claw answers from your text and memory "
              "alone.")
    else:
        w.say(f"No model is set, and claw asks {choice.shown} all the same "
              f"({choice.reason}). To have it ask nobody: claw config set "
              "default_provider offline")


def _providers(w: Wizard) -> Providers:
    return build_providers(w.writer.read())


# -- the provider

def _ask_provider(w: Wizard) -> str:
    found = _providers(w)
    picked = w.answers.get("provider") or _pick_provider(w, found)
    if w.answers.get("provider_way") == _OWN:
        picked = models.complete_address(picked)
    if picked.lower().startswith(("http://", "https://")):
        picked = CUSTOM + picked
    if picked == NONE:
        return NONE
    with w.refusing("provider"):
        name = found.vendor(picked).name
    w.answers.give("provider", name)
    return name


def _pick_provider(w: Wizard, found: Providers) -> str:
    offers = models.list_offers(found, os.environ)
    way = w.select(
        "provider_way", "Which model provider?", [
            *(Choice(one.name, display_name(one.name), one.why)
              for one in offers),
            Choice(_OTHER, "another one, with a key"),
            Choice(_OWN, "a server of your own, by its address"),
            Choice(NONE, "no model for now")],
        suggested=offers[0].name if offers else NONE
        if w.suggests else None, flag="--provider NAME")
    if way == _OTHER:
        return w.select("provider", "Which one?", [
            Choice(one.name, one.name, one.why)
            for one in models.list_vendors()], suggested=None,
            flag="--provider NAME")
    if way == _OWN:
        return w.text("provider", "Its address (http://HOST:PORT/v1):",
                      suggested=None, flag="--provider custom:URL",
                      check=_check_address)
    w.answers.give("provider", way)
    return way


def _check_address(text: str) -> str | None:
    if not text:
        return "Type an address, e.g. http://localhost:8000/v1."
    try:
        check_url(models.complete_address(text).removeprefix(CUSTOM),
                  "the address")
    except ClawError as error:
        return error.message + (f": {error.hint}" if error.hint else "")
    return None


# -- the key

def _settle_key(w: Wizard, name: str) -> tuple[str, ...] | None:
    """The models that its key opens; None where the person chose to begin
    the step again."""
    key = _ask_key(w, name)
    if not w.chosen.tests or w.answers.get(_UNPROVEN):
        return ()
    tried = w.remember(("key", name, key or ""), lambda: _try_key(
        w, name, key))
    if tried.failure is None:
        return tried.models
    row = tried.failure
    address = [_ADDRESS] if is_address(name) else []
    first = [_KEY, AGAIN, *address] if row.id == "key" \
        else [*address, AGAIN, _KEY]
    with w.refusing("api_key" if row.id == "key" else "provider"):
        way = decide(w, build_error(row.code, f"{row.id}: {row.detail}",
                                    _find_hint(w, row)),
                     [*first, _PROVIDER, _KEEP, _offer_leaving(w)])
    return () if _take_way(w, way) else None


def _ask_key(w: Wizard, name: str) -> str | None:
    """The key that was given; None where claw finds one by itself, or none
    is needed."""
    given = w.answers.get("api_key")
    if given is not None:
        return given or None
    found = _providers(w)
    vendor = found.vendor(name)
    origin = None
    if w.answers.get("key_from") != "typed":
        try:
            origin = models.find_key_origin(found, name)
        except ClawError as error:  # it looks like another vendor's
            w.explain(error)
    if origin is not None:
        w.say(f"Its key: {origin}.")
        return None
    is_own = is_address(name)
    if not vendor.needs_key and not is_own and w.answers.get(
            "key_from") is None:
        return None
    return w.secret(
        "api_key", f"Key of {display_name(vendor.title)}"
        + (" (Enter: none):" if is_own else ":"), optional=is_own,
        flag="--api-key-stdin (or set "
             f"{models.list_key_variables(found, name)[0]})") or None


def _try_key(w: Wizard, name: str, key: str | None) -> TriedKey:
    with w.run.out.waiting("trying the key"), closing(
            open_ledger(w.writer.read(), w.run.out.note)) as ledger:
        return asyncio.run(try_key(build_providers(
            w.writer.read(), around=ledger.meter), name, key))


def _find_hint(w: Wizard, row: Check) -> str | None:
    """What to do, unless it is what the wizard asks next."""
    return None if w.asks and row.id == "key" else row.hint


def _offer_leaving(w: Wizard) -> Choice:
    before = _describe_before(w)
    return Choice("leave", "stay with what was set before", before) \
        if before else Choice("leave", "no model for now")


def _describe_before(w: Wizard) -> str:
    """The provider and the model of the settings, as far as they are
    set."""
    tree = w.writer.read()
    return " ".join(str(value) for value in (
        tree.get("default_provider"), tree.get("default_model")) if value)


def _take_way(w: Wizard, way: str) -> bool:
    """Do what was chosen after a failure; whether the step goes on with
    what it has. Raises _LeftOut."""
    w.forget_tried()
    if way == "key":
        w.answers.forget("api_key")
        w.answers.give("key_from", "typed")
    elif way == "provider":
        w.answers.forget("provider_way", "provider")
    elif way == "address":
        w.answers.forget("provider")
        w.answers.give("provider_way", _OWN)
    elif way == "model":
        w.answers.forget("model_way", "model")
    elif way == "keep":
        w.answers.give(_UNPROVEN, YES)
        return True
    elif way == "leave":
        if _describe_before(w):
            w.answers.forget("provider_way", "provider")
            raise _LeftOut
        w.answers.give("provider", NONE)
    return False


# -- the model

def _ask_model_name(w: Wizard, name: str, offered: tuple[str, ...]) -> str:
    tree, found = w.writer.read(), _providers(w)
    rows = models.list_models(tree, found, name, offered)
    usual = models.name_model(found, name)
    if usual is None and rows and (found.vendor(name).local
                                   or is_address(name)):
        usual = rows[0].name
    if not rows or not w.asks:
        names = [row.name for row in rows[:_NAMED]] + ["..."] * (
            len(rows) > _NAMED)
        return w.text("model", "Which model? Its name:", suggested=usual,
                      flag="--model NAME" + (
                          f", one of {', '.join(names)}" if names else ""),
                      check=_check_name)
    if w.answers.get("model") is None:
        way = w.select("model_way", "Which model?", [
            *(Choice(row.name, row.name, row.price) for row in rows),
            Choice(_OTHER, "another name")],
            suggested=usual or rows[0].name, flag="--model NAME")
        if way != _OTHER:
            w.answers.give("model", way)
    return w.text("model", "Its name:", suggested=None, flag="--model NAME",
                  check=_check_name)


def _check_name(text: str) -> str | None:
    return None if text else "A model needs a name."


def _prove(w: Wizard, name: str, model: str) -> bool:
    """Whether the model answers, or is to be kept all the same."""
    if not w.chosen.tests or w.answers.get(_UNPROVEN):
        return True
    key = _ask_key_quietly(w)
    rows = w.remember(("model", name, model, key or ""),
                      lambda: _try_model(w, name, model, key))
    failed = next((row for row in rows if not row.ok), None)
    if failed is None:
        return True
    with w.refusing("api_key" if failed.id == "key" else "model"):
        way = decide(
            w, build_error(failed.code, failed.detail, failed.hint),
            [AGAIN, _MODEL, _KEY, _PROVIDER, _KEEP, _offer_leaving(w)],
            is_shown=True)
    return _take_way(w, way)


def _ask_key_quietly(w: Wizard) -> str | None:
    return w.answers.get("api_key") or None


def _try_model(w: Wizard, name: str, model: str, key: str | None
               ) -> list[Check]:
    def hear(_: str, __: str | None, row: Check) -> None:
        w.mark(row.status, f"{row.id}: {row.detail}",
               _find_hint(w, row))
    with w.run.out.waiting("asking the model"), closing(
            open_ledger(w.writer.read(), w.run.out.note)) as ledger:
        return asyncio.run(try_provider(build_providers(
            w.writer.read(), around=ledger.meter), name, model, hear,
            key))[2]


# -- what it may cost, and writing it down

def _write(w: Wizard, name: str, model: str) -> None:
    found = _providers(w)
    key = w.answers.get("api_key") or None
    if key is None:
        key = _ask_to_keep(w, found, name)
    limit = _ask_limit(w, found, name, model)
    w.writer.write(models.build_values(name, model, key, limit))
    w.answers.forget("api_key", "key_from")  # it is in config.toml now


def _ask_to_keep(w: Wizard, found: Providers, name: str) -> str | None:
    """The key of a variable, where it is to be in config.toml too."""
    key = found.key(name)
    if key.value is None or key.origin in ("config.toml", "built in"):
        return None
    if w.answers.get("keep_key") is None:
        w.say(f"Services and cron don't see {key.origin}. In config.toml "
              "the key is kept encrypted.")
    keeps = w.confirm("keep_key", "Keep it there too?", suggested=True,
                      flag="--keep-key")
    return key.value if keeps else None


def _ask_limit(w: Wizard, found: Providers, name: str, model: str
               ) -> float | None:
    """Dollars a day; None for what is in force: where that is answered,
    nothing has to be paid, or nobody knows what."""
    tree = w.writer.read()
    price = models.find_price(tree, found, name, model)
    if price == "free" and w.answers.get("limit") is None:
        return None
    now = models.read_limit(tree)
    if not price:
        w.say(f"claw knows no price of {model}: under a limit of your own "
              f"it is not asked until you {price_hint(model)}")
        if w.answers.get("limit") is None:
            return None
    else:
        w.say(f"{model}: {price}.")
    text = w.text("limit", "Dollars a day at most (0: no limit):",
                  suggested=f"{now:g}", flag="--daily-limit USD",
                  check=check_amount)
    return None if float(text) == now else float(text)


def check_amount(text: str) -> str | None:
    try:
        amount = float(text)
    except ValueError:
        return "That is no number; 5 means five dollars."
    return None if isfinite(amount) and amount >= 0 \
        else "It must be 0 or more."
