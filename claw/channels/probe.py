"""Step by step to a server: name, port, certificate, clock.

Every channel's `diagnose` starts here. Only host and port of an address
are used and shown: its path may hold a token. Where a proxy of the
environment is in the way, name and port are the proxy's.
"""

import asyncio
import socket
import ssl
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from claw.core.abilities import Finding
from claw.core.errors import ClawError
from claw.core.value import Value, hidden, replace
from claw.net.addresses import is_loopback
from claw.net.errors import (
    Peer,
    extract_host,
    find_cause,
    scrub,
    was_refused,
    wire_error,
)
from claw.net.lean import httpx
from claw.net.remote import load_certificates, proxies

SKEW_S = 60.0
_EXPIRES_SOON_DAYS = 14
_STEPS = ("dns", "tcp", "tls", "clock")
_PORTS = {"http": 80, "https": 443}
_FAILED = (OSError, httpx.HTTPError, ClawError)


class _Way(Value):
    """What is connected to: the server, or the proxy before it. `url` is
    the server's without user, path and query; `proxy` may hold a
    password."""

    url: str
    scheme: str
    host: str
    port: int
    proxy: str | None = hidden(default=None)

    @property
    def where(self) -> str:
        return f"{_bracket(self.host)}:{self.port}"


async def probe(url: str, timeout_s: float = 5.0, *,
                proxy_url: str | None = None) -> list[Finding]:
    """Findings "dns", "tcp", "tls" and "clock" ("http" where nothing that
    speaks HTTP answered), before them "address" or "proxy" where there is
    something to say. After a failure the rest is skipped. `timeout_s` is
    for each step; `proxy_url` takes the place of the environment's."""
    try:
        way = _way(url, proxy_url)
    except ValueError as error:
        return [Finding("address", "fail", f"{extract_host(url)}: {error}",
                        "write it as https://host/path", "setting")]
    found: list[Finding] = []
    if way.proxy is not None:
        name, hint = (("the proxy_url", None) if proxy_url is not None else (
            "the environment's proxy",
            "to go past it, add the host to NO_PROXY"))
        found = [Finding("proxy", "ok", f"{extract_host(way.url)} is reached "
                                        f"through {name} at {way.where}",
                         hint)]
    for step, check in zip(_STEPS, (_dns, _tcp, _tls, _clock), strict=True):
        if found and found[-1].status == "fail":
            found += [Finding(rest, "skip", "not reached")
                      for rest in _STEPS[_STEPS.index(step):]]
            break
        started = time.monotonic()
        try:
            async with asyncio.timeout(timeout_s):
                finding = await check(way)
        except TimeoutError:
            finding = Finding(
                step, "fail", f"{way.where}: no answer within "
                f"{timeout_s:g} s",
                "a firewall drops the packets, or the server hangs")
        if way.proxy is not None and proxy_url is None:
            finding = replace(finding, cause=None)  # no setting names it
        if finding.status != "skip":
            took = (time.monotonic() - started) * 1000
            finding = replace(
                finding, detail=f"{finding.detail} ({took:.0f} ms)")
        found.append(finding)
    return found


def _way(url: str, proxy_url: str | None) -> _Way:
    """Raises ValueError for what is no address."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("no http or https address")
    port = parts.port or _PORTS[parts.scheme]
    origin = f"{parts.scheme}://{_bracket(parts.hostname)}:{port}/"
    address = proxy_url
    if address is None and not is_loopback(url):
        address = _find_proxy(parts)
    if not address:
        return _Way(origin, parts.scheme, parts.hostname, port)
    proxy = urlsplit(address if "://" in address else f"http://{address}")
    return _Way(origin, parts.scheme, proxy.hostname or "",
                proxy.port or _PORTS.get(proxy.scheme, 1080), address)


def _find_proxy(parts: SplitResult) -> str | None:
    """The proxy that the environment names for this address."""
    if proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    named = getproxies()
    return named.get(parts.scheme) or named.get("all")


def _bracket(host: str) -> str:
    return f"[{host}]" if ":" in host else host


async def _dns(way: _Way) -> Finding:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(way.host, way.port,
                                       type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return Finding("dns", "fail", f"{way.host} has no address",
                       "check the spelling, the network and "
                       "/etc/resolv.conf; try: "
                       f"getent hosts {way.host}", find_cause(error))
    addresses = dict.fromkeys(str(row[4][0]) for row in found)
    return Finding("dns", "ok", f"{way.host} is {', '.join(addresses)}")


async def _tcp(way: _Way) -> Finding:
    try:
        _, writer = await asyncio.open_connection(way.host, way.port)
    except OSError as error:
        refused = was_refused(error)
        why = "connection refused" if refused else (
            error.strerror or type(error).__name__)
        return Finding("tcp", "fail", f"{way.where}: {why}",
                       "is it running, and is the port right?" if refused
                       else "a firewall or the network is in the way",
                       find_cause(error))
    writer.close()
    return Finding("tcp", "ok", f"{way.where} accepts connections")


async def _tls(way: _Way) -> Finding:
    if way.scheme != "https":
        return Finding("tls", "skip", "plain http")
    if way.proxy is not None:
        return Finding("tls", "skip", "checked through the proxy below")
    try:
        _, writer = await asyncio.open_connection(
            way.host, way.port, ssl=load_certificates(),
            server_hostname=way.host)
    except ssl.SSLCertVerificationError as error:
        return Finding("tls", "fail", f"the certificate of {way.host} was "
                                      f"not accepted: {error.verify_message}",
                       _certificate_hint(error))
    except OSError as error:
        reason = (getattr(error, "reason", None) or error.strerror
                  or type(error).__name__)
        return Finding("tls", "fail", f"no secure connection to {way.host}: "
                                      f"{reason}",
                       "does the address need http:// or another port?")
    try:
        certificate = writer.get_extra_info("peercert") or {}
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    ends = ssl.cert_time_to_seconds(str(certificate.get("notAfter", "")))
    days = int((ends - time.time()) // 86400)
    detail = f"the certificate of {way.host} is good for {days} days"
    return (Finding("tls", "warn", detail,
                    "renew it, or tell who runs the server")
            if days < _EXPIRES_SOON_DAYS else Finding("tls", "ok", detail))


def _certificate_hint(error: ssl.SSLCertVerificationError) -> str:
    words = error.verify_message.lower()
    if "expired" in words or "not yet valid" in words:
        return "is this machine's clock right? See: date -u"
    if "mismatch" in words or "not valid for" in words:
        return "the address must have the name that the certificate has"
    return ("for a certificate authority of your own: export "
            "SSL_CERT_FILE=/path/to/ca.pem")


async def _clock(way: _Way) -> Finding:
    """Our clock against the server's. Asks for "/" without credentials."""
    try:
        with proxies():
            client = httpx.AsyncClient(
                verify=load_certificates() if way.scheme == "https" else False,
                trust_env=False, proxy=way.proxy, timeout=None)
        async with client:
            before = time.time()
            answer = await client.head(way.url)
            now = (before + time.time()) / 2
    except _FAILED as error:
        known = error if isinstance(error, ClawError) else wire_error(
            Peer("the server"), way.url, error)
        return Finding("http", "fail", scrub(known.message), known.hint)
    try:
        theirs = parsedate_to_datetime(answer.headers["date"]).timestamp()
    except (KeyError, ValueError, OverflowError):
        return Finding("clock", "skip", "the server tells no time")
    return judge_skew(now - theirs)


def judge_skew(skew_s: float) -> Finding:
    """What a clock that is this many seconds ahead means."""
    if abs(skew_s) <= SKEW_S:
        return Finding("clock", "ok", "this machine's clock agrees")
    side = "ahead of" if skew_s > 0 else "behind"
    return Finding("clock", "warn", f"this machine's clock is "
                                    f"{abs(skew_s):.0f} s {side} the server",
                   "sudo timedatectl set-ntp true")
