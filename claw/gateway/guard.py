"""Who calls, by what name, and from which page. Pure.

A page on the web can let its reader's browser call this machine: by a name
that it makes point here (DNS rebinding; the Host is then not one of ours)
or plainly across origins (the Origin is then the page's).
Source: RFC 9110 (7.2), the Fetch standard on Origin and Sec-Fetch-Site.
"""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.datastructures import Headers

_OWN_NAMES = frozenset({"localhost", "ip6-localhost"})
# What a proxy or tunnel adds: then the peer is not who calls.
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip",
              "cf-connecting-ip", "x-forwarded-host", "x-forwarded-proto",
              "via")


def read_address(text: str) -> str | None:
    """An IP address as it stands in headers, with port, brackets or quotes;
    None where it is none."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return str(getattr(found, "ipv4_mapped", None) or found)


def is_loopback(address: str | None) -> bool:
    """Whether it is this machine."""
    try:
        found = ip_address(address or "")
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback


def find_peer(address: str | None, headers: "Headers",
              trusts_proxy: bool) -> str:
    """The address that counts: the connection's, or the one that a trusted
    proxy wrote last, perhaps on a line of its own (those before it are the
    caller's own words)."""
    if trusts_proxy:
        for name in ("x-forwarded-for", "x-real-ip"):
            last = read_address(",".join(headers.getlist(name)
                                         ).rpartition(",")[2])
            if last is not None:
                return last
    return address or "unknown"


def split_host(text: str) -> str | None:
    """The host of a Host header in lower case; None where it is none."""
    try:
        parts = urlsplit(f"//{text.strip()}")
        has_more = parts.path or parts.query or parts.fragment \
            or parts.username is not None
        _ = parts.port  # ValueError for what is no port
    except ValueError:
        return None
    return None if has_more or not parts.hostname \
        else parts.hostname.rstrip(".")


def is_local_name(host: str | None) -> bool:
    """Whether a host says "this machine"."""
    return host is not None and (
        host in _OWN_NAMES or host.endswith(".localhost")
        or is_loopback(host))


class HostGuard:
    """`names` are those that the gateway may be called by beside this
    machine's own and bare addresses, which no name can be made to be."""

    def __init__(self, names: Iterable[str] = (),
                 public_url: str | None = None) -> None:
        public = urlsplit(public_url or "")
        self._origin = (f"{public.scheme}://{public.netloc}".lower()
                        if public.netloc else None)
        self._names = {name.strip().lower().rstrip(".") for name in names}
        if public.hostname:
            self._names.add(public.hostname)

    def refuses_host(self, text: str | None) -> bool:
        """Whether nobody can mean us by this Host."""
        host = split_host(text or "")
        if host is None:
            return True
        return not (is_local_name(host) or host in self._names
                    or read_address(f"[{host}]") is not None)

    def refuses_origin(self, headers: Mapping[str, str]) -> bool:
        """Whether another page than ours made the browser call."""
        origin = headers.get("origin")
        if origin is not None:
            if origin.lower() == self._origin:
                return False
            scheme, _, host = origin.lower().partition("://")
            return scheme not in ("http", "https") \
                or host != headers.get("host", "").lower()
        return (headers.get("sec-fetch-site") == "cross-site"
                and headers.get("sec-fetch-mode") != "navigate")


def is_direct(address: str | None, headers: Mapping[str, str]) -> bool:
    """Whether a program on this machine itself calls: from here, by a name
    of here, and through nothing that forwards."""
    return (is_loopback(address)
            and is_local_name(split_host(headers.get("host", "")))
            and not any(name in headers for name in _FORWARDED))
