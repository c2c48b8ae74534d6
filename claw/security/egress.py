"""Which addresses a tool or an enricher may reach. Pure.

`check_url` judges the text of a URL, `is_public` an address that a name
resolved to; net/guarded.py asks both, for every hop. What is not clearly
public is refused: an address inside (a router, a cloud's metadata, another
service of this machine) must not be read on a stranger's word.
Source: the IANA special-purpose address registries (RFC 6890), RFC 6052
and 8215 (NAT64), the URL standard's rules for numeric hosts, read 2026-11.
"""

import unicodedata
from collections.abc import Callable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from urllib.parse import quote, urlsplit

from claw.core.errors import DeniedError
from claw.core.value import Value

_PORTS = {"http": 80, "https": 443}

# IPv4 that is not one public machine.
_CLOSED_V4 = tuple(map(IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8",
    "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
    "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "168.63.129.16/32",  # the inside of a well-known cloud
)))
# IPv6 in use in public is 2000::/3, and of that not these: IETF protocols
# with Teredo, documentation, 6to4.
_OPEN_V6 = IPv6Network("2000::/3")
_CLOSED_V6 = tuple(map(IPv6Network, (
    "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
# An IPv4 address behind a translator; on some networks the only way out.
_NAT64 = IPv6Network("64:ff9b::/96")
# The second half of an ISATAP address, an IPv4 address after it.
_ISATAP = (0x00005EFE, 0x02005EFE)

# What an owner's own network has: this machine, private, shared (as overlay
# networks use it) and unique local addresses. Link-local ones, where clouds
# keep their metadata, are nobody's server.
_OWN = tuple(map(ip_network, (
    "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
    "100.64.0.0/10", "::1/128", "fc00::/7")))
_METADATA = tuple(map(ip_address, ("100.100.100.200", "fd00:ec2::254")))

# Names of this machine or of its own network.
_INSIDE = frozenset(("localhost", "localdomain", "local", "internal",
                     "intranet", "lan", "home", "corp"))
_INSIDE_ENDINGS = (".home.arpa", ".in-addr.arpa", ".ip6.arpa")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_SAFE = "/?:@!$&'()*+,;=%-._~[]"


class Target(Value):
    """A URL taken apart. `host` is a name in ASCII and lower case, or an
    address; `path` holds the query too. `inside` says that the owner lets
    this host be one of his own network."""

    scheme: str
    host: str
    port: int
    path: str
    inside: bool = False

    def allows(self, address: str) -> bool:
        """Whether the owner lets this very host have such an address."""
        return self.inside and is_own(address)

    @property
    def url(self) -> str:
        """Scheme, host, port and path, and nothing else."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"


def _never(host: str) -> bool:
    return False


def check_url(url: str, is_inside: Callable[[str], bool] = _never) -> Target:
    """Take a URL apart. Raises DeniedError for all but http and https to
    a name or address that may be public, or is one that the owner named
    (`is_inside`); its message has no more of the URL than the host."""
    if any(c <= " " or c in "\\\x7f" for c in url):
        raise deny("a URL with blanks, control characters or backslashes")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise deny("a URL that can't be read") from error
    if parts.scheme not in _PORTS:
        raise deny(f"a URL of the scheme {parts.scheme[:20]!r}",
                      "only http and https are fetched")
    if "@" in parts.netloc:
        raise deny("a URL with a user or a password in it")
    if port == 0:
        raise deny("a URL with port 0")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    name = _checked_host(host, is_inside)
    return Target(parts.scheme, name, port or _PORTS[parts.scheme],
                  quote(path, safe=_SAFE, errors="replace"), is_inside(name))


def is_public(ip: str | IPv4Address | IPv6Address) -> bool:
    """Whether an address is one machine of the public internet. What is
    no address is not."""
    try:
        address = ip_address(ip)
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_V4)
    if address.scope_id is not None:
        return False
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    return (address in _OPEN_V6
            and not any(address in network for network in _CLOSED_V6)
            and (int(address) >> 32) & 0xFFFFFFFF not in _ISATAP)


def is_own(ip: str) -> bool:
    """Whether an address may be a server of the owner's own network."""
    try:
        address = ip_address(ip)
    except ValueError:
        return False
    return (address not in _METADATA
            and any(address in network for network in _OWN))


def _checked_host(host: str, is_inside: Callable[[str], bool]) -> str:
    """The host in ASCII. Raises DeniedError."""
    if ":" in host:  # IPv6 in brackets; a zone makes it private
        if not is_public(host) and not (is_own(host) and is_inside(host)):
            raise _inside(host)
        return str(IPv6Address(host))
    name = encode_host(host)
    labels = name.split(".")
    if not all(0 < len(label) <= 63 for label in labels) or len(name) > 253:
        raise deny("a URL whose host is no name")
    if _is_number(labels[-1]):
        return _checked_v4(name, is_inside)
    if (labels[-1] in _INSIDE or len(labels) == 1
            or f".{name}".endswith(_INSIDE_ENDINGS)) and not is_inside(name):
        raise _inside(name)
    return name


def _checked_v4(name: str, is_inside: Callable[[str], bool]) -> str:
    """Four plain numbers. Shorter, octal and hexadecimal forms are
    refused, wherever they lead: nobody writes them in good faith."""
    try:
        address = IPv4Address(name)
    except ValueError as error:
        raise deny(f"{name[:60]}, an address in an odd form") from error
    if not is_public(address) and not (is_own(name) and is_inside(name)):
        raise _inside(name)
    return str(address)


def _is_number(label: str) -> bool:
    """Whether resolvers would read a name that ends so as an address."""
    return (all(c in "0123456789abcdef" for c in label[2:])
            if label[:2] == "0x" else label.isdigit())


def encode_host(host: str) -> str:
    """A host as it is asked for: compatibility forms folded (so that full
    width digits are digits), other letters in Punycode."""
    folded = unicodedata.normalize("NFKC", host.lower()).lower()
    for dot in "\u3002\uff0e\uff61":
        folded = folded.replace(dot, ".")
    for char in folded:
        fits = (char in _PLAIN if char.isascii()
                else unicodedata.category(char)[0] in "LMNS")
        if not fits:
            raise deny("a URL whose host holds what no name does")
    return ".".join(map(_label, folded.removesuffix(".").split(".")))


def _label(label: str) -> str:
    if not label.isascii():
        return "xn--" + label.encode("punycode").decode()
    if label.startswith("xn--"):
        try:
            hides = label[4:].encode().decode("punycode").isascii()
        except UnicodeError:
            hides = True
        if hides:
            raise deny("a URL whose host is no name")
    return label


def _inside(host: str) -> "InsideError":
    return InsideError(f"not fetched: {host[:80]}, which is no public "
                       "address")


class InsideError(DeniedError):
    """A host of this machine or of its own network."""


def deny(what: str, hint: str | None = None) -> DeniedError:
    return DeniedError(f"not fetched: {what}", hint=hint)
