"""What the Bot API answered: its JSON, read without trust. Pure.

Source: core.telegram.org/bots/api, "Making requests" and
#responseparameters, version 10.1.
"""

from typing import Any
from urllib.parse import urlsplit

from claw.net.http import Answer


def read_body(answer: Answer) -> dict[str, Any]:
    """The JSON object of an answer; {} for anything else."""
    try:
        body = answer.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def mend_characters(value: Any) -> Any:
    """The value without halves of characters, which JSON can hold and a
    database can't."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode(
                "utf-16", "replace")
        return value
    if isinstance(value, list):
        return [mend_characters(item) for item in value]
    return ({key: mend_characters(item) for key, item in value.items()}
            if isinstance(value, dict) else value)


def is_ok(answer: Answer, body: dict[str, Any]) -> bool:
    """Whether a call did its work. Telegram always says `ok`; a server
    that leaves it out and gives a result means the same."""
    return body.get("ok") is True or (
        "ok" not in body and "result" in body and answer.status < 300)


def read_parameter(body: dict[str, Any], name: str) -> float | None:
    """A number of ResponseParameters."""
    parameters = body.get("parameters")
    value = parameters.get(name) if isinstance(parameters, dict) else None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if number else None


def find_webhook_host(info: Any) -> str | None:
    """scheme://host of a WebhookInfo, None where none is set."""
    url = info.get("url") if isinstance(info, dict) else None
    if not isinstance(url, str) or not url:
        return None
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname}/..."
    except ValueError:
        return "an address that is none"
