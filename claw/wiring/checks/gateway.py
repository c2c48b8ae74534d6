"""Checks of the gateway: may it start, does it listen, does public_url lead
to it, and who holds keys?"""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

from claw.config.tree import Tree
from claw.core.errors import ClawError
from claw.gateway.guard import is_local_name
from claw.gateway.settings import GatewaySettings, check_exposure
from claw.net.errors import Peer
from claw.net.http import Answer, HttpClient
from claw.net.listening import find_port
from claw.text.plural import plural
from claw.wiring.checks.check import Check, Group
from claw.wiring.gateway.keys import NONCE_PATH, keys_path, open_keys

_REACH_S = 10.0
_RECIPES = "see docs/gateway.md for Caddy, Tailscale and cloudflared"
GATEWAY = Group("gateway")


@GATEWAY.check
def check_gateway(tree: Tree) -> Iterator[Check]:
    """All of it, where it is on or was made reachable."""
    settings = tree.decode("gateway", GatewaySettings)
    if not settings.enabled and not settings.public_url:
        yield Check("gateway.enabled", "skip", "off: claw listen serves no "
                    "HTTP but for channels that are posted to",
                    "claw config set gateway.enabled true")
        return
    try:
        check_exposure(settings)
    except ClawError as error:
        yield Check("gateway.exposure", "fail", error.message, error.hint)
        return
    yield from _check_keys(tree)
    found = asyncio.run(find_port("gateway", settings.host, settings.port))
    yield Check("gateway.port", found.status, found.detail, found.hint)
    if settings.public_url:
        yield asyncio.run(_check_public_url(
            tree, settings, settings.public_url.rstrip("/")))


def _check_keys(tree: Tree) -> Iterator[Check]:
    with closing(open_keys(tree)) as keys:
        rows = keys.list()
        if not keys.has_any():
            yield Check("gateway.keys", "warn", "nobody has a key: programs "
                        "hear 401", "claw gateway token add NAME")
            return
    yield Check("gateway.keys", "ok", plural(len(rows), "key") + (
        ": " + ", ".join(row.name for row in rows) if rows else
        " of its own; there are some in gateway.paired_tokens"))
    mode = keys_path(tree.places).stat().st_mode if rows else 0
    if mode & 0o077:
        yield Check("gateway.keys_file", "warn", "others can read the hashes "
                    "of keys", f"chmod 600 '{keys_path(tree.places)}'")


async def _check_public_url(tree: Tree, settings: GatewaySettings, url: str
                            ) -> Check:
    """A nonce of this home, fetched from outside."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return Check("gateway.public_url", "fail", f"{url} is no address",
                     "claw config set gateway.public_url "
                     "https://claw.example.org")
    with closing(open_keys(tree)) as keys:
        number, expected = keys.add_nonce()
    address = url + (settings.path_prefix or "") + NONCE_PATH + number
    client = HttpClient(Peer("what is at gateway.public_url"),
                        timeout_s=_REACH_S)
    try:
        async with asyncio.timeout(_REACH_S):
            answer = await client.request("GET", address)
    except TimeoutError:
        return Check("gateway.public_url", "fail",
                     f"{url}: no answer within {_REACH_S:g} s", _RECIPES)
    except ClawError as error:
        return Check("gateway.public_url", "fail", error.message,
                     f"is claw listen running, and the proxy? {_RECIPES}")
    finally:
        await client.aclose()
    if _read_answer(answer) != expected:
        return Check("gateway.public_url", "fail", f"{url} leads to "
                     "something else than this gateway", _RECIPES)
    if parts.scheme == "http" and not is_local_name(parts.hostname):
        return Check("gateway.public_url", "warn", f"{url} leads here, but "
                     "without TLS: keys can be read on the way", _RECIPES)
    return Check("gateway.public_url", "ok", f"{url} leads here")


def _read_answer(answer: Answer) -> object:
    try:
        found = answer.json()
    except ValueError:  # a page of the proxy's
        return None
    return found.get("answer") if isinstance(found, dict) else None
