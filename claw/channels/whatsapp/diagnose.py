"""What is wrong with the number, step by step: the rows of `claw channel
doctor whatsapp`."""

from claw.channels.access import AllowList
from claw.channels.probe import probe
from claw.channels.whatsapp.api import Api
from claw.channels.whatsapp.settings import TABLE, WhatsappSettings
from claw.channels.whatsapp.signed import SECRET_HINT
from claw.core.abilities import Finding
from claw.core.errors import ClawError
from claw.net.addresses import is_address
from claw.text.segment import clean

_STEP_S = 5.0


async def diagnose(api: Api, allowed: AllowList, settings: WhatsappSettings,
                   undelivered: str | None) -> list[Finding]:
    """The way's rows, then number, callback, app_secret, verify_token,
    template, delivery, allow_list. `undelivered` says why the last message
    did not arrive, None where it did."""
    own = [_check_set("app_secret", settings.app_secret, SECRET_HINT),
           _check_set("verify_token", settings.verify_token,
                      f"claw config set {TABLE}.verify_token"),
           _template(settings), _delivery(undelivered), _allow_list(allowed)]
    if not is_address(api.url):
        return [Finding("address", "fail", f"{TABLE}.api_base_url is no http "
                        "address", f"claw config set {TABLE}.api_base_url "
                        "https://graph.facebook.com"), *_skip(), *own]
    rows = await probe(api.url, _STEP_S, proxy_url=settings.proxy_url)
    if any(row.status == "fail" for row in rows):
        return [*rows, *_skip(), *own]
    return [*rows, *await _number(api, settings), *own]


def _skip() -> list[Finding]:
    return [Finding(name, "skip", "a step before it failed")
            for name in ("number", "callback")]


async def _number(api: Api, settings: WhatsappSettings) -> list[Finding]:
    try:
        found = await api.number(timeout_s=_STEP_S)
    except ClawError as error:
        return [Finding("number", "fail", error.message, error.hint),
                Finding("callback", "skip", "a step before it failed")]
    shown, name, quality = (clean(str(found.get(key) or "?"))[:80] for key in (
        "display_phone_number", "verified_name", "quality_rating"))
    row = Finding("number", "ok", f"the token is taken; it is {shown} "
                                  f"({name}), quality {quality.lower()}")
    if quality == "RED":
        row = Finding("number", "warn", f"{shown} ({name}): people block or "
                      "report it, and Meta may limit it",
                      "see Insights of the number in WhatsApp Manager")
    return [row, _callback(found.get("webhook_configuration"), settings)]


def _callback(given: object, settings: WhatsappSettings) -> Finding:
    """Where Meta posts to."""
    urls = [str(url) for url in given.values()] \
        if isinstance(given, dict) else []
    path = "/" + settings.listen_path.strip().lstrip("/")
    hint = ("enter https://YOUR.HOST" + path + " under WhatsApp > "
            "Configuration of the app, and subscribe to messages")
    if not urls:
        return Finding("callback", "warn", "Meta does not say that it posts "
                                           "anywhere", hint)
    shown = clean(urls[0].partition("?")[0])[:200]
    if not any(url.partition("?")[0].rstrip("/").endswith(path.rstrip("/"))
               for url in urls):
        return Finding("callback", "warn", f"Meta posts to {shown}, and claw "
                       f"listens at {path}", hint)
    return Finding("callback", "ok", f"Meta posts to {shown}")


def _check_set(key: str, value: str, hint: str) -> Finding:
    if value.strip():
        return Finding(key, "ok", "set")
    return Finding(key, "fail", f"{TABLE}.{key} is not set: nothing that is "
                                "posted is taken", hint)


def _template(settings: WhatsappSettings) -> Finding:
    if settings.template.strip():
        return Finding("template", "ok", f"{settings.template} "
                       f"({settings.template_language}) is for what is sent "
                       "after 24 hours")
    return Finding("template", "skip", "none: nobody is written to whose "
                                       "last message is older than 24 hours")


def _delivery(undelivered: str | None) -> Finding:
    if undelivered is None:
        return Finding("delivery", "ok", "WhatsApp has reported no message "
                                         "lost since one arrived")
    return Finding("delivery", "warn", "the last message did not arrive: "
                   f"{clean(undelivered)[:300]}", "see: claw log list")


def _allow_list(allowed: AllowList) -> Finding:
    return allowed.judge(
        f"claw config set {TABLE}.allowed_users '[\"+4917012345\"]'") \
        or Finding("allow_list", "ok", "by number and user id")
