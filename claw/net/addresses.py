"""What an address and the headers of a request tell. Pure."""

import re
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import parse_qsl, urljoin, urlsplit

# Headers of requests in which there is no key, for sure.
_NO_SECRETS = frozenset((
    "accept", "accept-encoding", "anthropic-beta", "anthropic-version",
    "content-type", "http-referer", "user-agent", "x-title"))


def is_address(url: str, schemes: tuple[str, ...] = ("http", "https")
               ) -> bool:
    """Whether a request can go there: a scheme, a host, a port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in schemes and bool(parts.hostname) \
            and parts.port != 0
    except ValueError:
        return False


def is_loopback(url: str) -> bool:
    """Whether an address is this machine."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def secrets_in(url: str, headers: Mapping[str, str]) -> list[str]:
    """What may be a key in a request: the values of its query, and of
    headers that are not known to be harmless, whole and word by word."""
    try:
        found = [v for _, v in parse_qsl(urlsplit(url).query)]
    except ValueError:
        found = []
    for name, value in headers.items():
        if name.lower() not in _NO_SECRETS:
            found += [value, *re.split(r"[\s,;=]+", value)]
    return [v for v in dict.fromkeys(found) if len(v) >= 8]


def redirect(method: str, url: str, status: int,
             location: str | None) -> str | None:
    """Where to go on: the same host, never from https to http; or None."""
    moved = status in (307, 308) or (method == "GET"
                                     and status in (301, 302))
    if not moved or not location:
        return None
    try:
        target = urljoin(url, location)
        old, new = urlsplit(url), urlsplit(target)
        ports = old.port, new.port
    except ValueError:
        return None
    if old.hostname != new.hostname or new.scheme not in ("http", "https"):
        return None
    if old.scheme == new.scheme:
        return target if ports[0] == ports[1] else None
    plain_ports = (ports[0] in (None, 80), ports[1] in (None, 443))
    return target if new.scheme == "https" and all(plain_ports) else None
