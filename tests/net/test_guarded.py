"""Fetching from strangers, against real sockets on this machine.

The resolver is ours, so a name can lead to 127.0.0.1 and change its mind;
where a test lets that address through, it says so.
"""

import asyncio
import gzip
import ssl
import zlib
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from claw.core.errors import DeniedError, UnavailableError
from claw.net import hop
from claw.net.guarded import GuardedClient, Page
from claw.net.guarded import resolve as system_resolve
from claw.security.egress import check_url, is_public

OK = b"HTTP/1.1 200 OK\r\n"
HTML = OK + b"Content-Type: text/html; charset=UTF-8\r\n\r\n<p>hi"


class Site:
    """A server that gives each request the next answer, the last one
    again; an answer may be a function of the writer."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.heads = []
        self.port = 0

    @asynccontextmanager
    async def up(self, tls=None, host="127.0.0.1"):
        server = await asyncio.start_server(self._serve, host, 0, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            await server.wait_closed()

    async def _serve(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.decode())
            answer = self.answers[0]
            if len(self.answers) > 1:
                self.answers.pop(0)
            if callable(answer):
                await answer(writer)
            else:
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has seen enough
        finally:
            writer.close()


class Names:
    """A name server: each question for a name gets its next answer."""

    def __init__(self, **answers):
        self.answers = {name.replace("_", "."): list(a)
                        for name, a in answers.items()}
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append(host)
        found = self.answers.get(host, [["127.0.0.1"]])
        return found.pop(0) if len(found) > 1 else found[0]


def near(address):
    """The check of tests: this machine counts as public."""
    return address == "127.0.0.1" or is_public(address)


def client(names=None, allowed=near, **more):
    return GuardedClient(check_url, allowed, resolve=names or Names(),
                         **more)


def fetch(site, path="/", *, names=None, allowed=near, scheme="http",
          host="site.test", tls=None, server_tls=None, **how):
    async def go():
        async with site.up(server_tls):
            return await client(names, allowed, tls=tls).fetch(
                f"{scheme}://{host}:{site.port}{path}", **how)
    return asyncio.run(go())


def moved(location, status=302):
    return (f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\n"
            "Content-Length: 0\r\n\r\n").encode()


def body(data, *headers):
    lines = "".join(f"{h}\r\n" for h in headers)
    return (OK + f"{lines}Content-Length: {len(data)}\r\n\r\n".encode()
            + data)


def test_a_page_comes_whole():
    site = Site(HTML)
    page = fetch(site, "/a?b=c#d", accept=("text/html",))

    head = site.heads[0]
    url = f"http://site.test:{site.port}/a?b=c"
    assert page == Page(200, url, "text/html", b"<p>hi", False, "utf-8",
                        "OK", {"content-type": "text/html; charset=UTF-8"})
    assert head.startswith("GET /a?b=c HTTP/1.1\r\n")
    assert f"\r\nhost: site.test:{site.port}\r\n" in head.lower()
    assert "\r\naccept: text/html\r\n" in head.lower()
    assert "cookie" not in head.lower()


def test_a_status_is_no_error():
    assert fetch(Site(b"HTTP/1.1 404 No\r\n\r\ngone")).status == 404


@pytest.mark.parametrize("address", [
    "127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "::ffff:127.0.0.1",
    "fe80::1%2", "64:ff9b::7f00:1",
])
def test_a_name_that_leads_inside_is_refused(address):
    site = Site(HTML)
    names = Names(site_test=[[address]])
    with pytest.raises(DeniedError, match=r"site\.test leads to "):
        fetch(site, names=names, allowed=is_public)

    assert site.heads == []


def test_one_inner_address_among_public_ones_is_enough_to_refuse():
    with pytest.raises(DeniedError, match=r"leads to 10\.0\.0\.1"):
        fetch(Site(HTML), names=Names(
            site_test=[["127.0.0.1", "10.0.0.1"]]))


def test_a_url_inside_is_refused_before_any_question():
    names = Names()
    with pytest.raises(DeniedError):
        fetch(Site(HTML), host="localhost", names=names)

    assert names.asked == []


def test_the_second_answer_of_a_name_server_is_never_used():
    """Rebinding: what was checked is what is connected to. The system
    would not even know the name."""
    names = Names(site_test=[["127.0.0.1"], ["10.0.0.1"]])
    page = fetch(Site(HTML), names=names)

    assert page.status == 200
    assert names.asked == ["site.test"]


def test_every_hop_is_resolved_and_checked_anew():
    """The same name, public when asked first, is private on its way
    back."""
    site = Site(moved("/next"), HTML)
    names = Names(site_test=[["127.0.0.1"], ["10.0.0.1"]])
    with pytest.raises(DeniedError, match=r"leads to 10\.0\.0\.1"):
        fetch(site, names=names)

    assert len(site.heads) == 1


@pytest.mark.parametrize("to", [
    "http://127.0.0.1/", "http://169.254.169.254/latest/", "file:///etc/x",
    "http://localhost:1/", "http://[::1]/", "//10.0.0.1/", "gopher://x.de/",
    "http://me@site.test/", "http://0x7f.1/",
])
def test_a_redirect_inside_is_refused(to):
    with pytest.raises(DeniedError):
        fetch(Site(moved(to), HTML))


def test_redirects_are_followed_five_times():
    site = Site(*[moved(f"/{n}") for n in range(5)], HTML)
    assert fetch(site).final_url == f"http://site.test:{site.port}/4"

    site = Site(*[moved(f"/{n}") for n in range(6)], HTML)
    with pytest.raises(UnavailableError, match="more than 5 times"):
        fetch(site)
    assert len(site.heads) == 6


def test_a_redirect_to_nonsense_is_one_sentence():
    with pytest.raises(UnavailableError, match="no address"):
        fetch(Site(moved("http://[")))


def test_the_next_address_is_tried_where_the_first_is_deaf():
    """Nothing listens on 127.0.0.2; there is no second resolution."""
    names = Names(site_test=[["127.0.0.2", "127.0.0.1"]])
    page = fetch(Site(HTML), names=names,
                 allowed=lambda ip: ip.startswith("127."))

    assert page.status == 200
    assert names.asked == ["site.test"]


def test_a_closed_port_and_an_unknown_name_are_told():
    async def none(host, port):
        raise OSError(-2, "Name or service not known")

    async def go(resolver):
        async with Site(HTML).up() as site:
            port = site.port
        await client(resolver).fetch(f"http://site.test:{port}/")
    with pytest.raises(UnavailableError, match="connection refused"):
        asyncio.run(go(Names()))
    with pytest.raises(UnavailableError):
        asyncio.run(go(none))


def test_the_body_is_cut_at_its_limit():
    exact = fetch(Site(body(b"x" * 1000)), max_bytes=1000)
    longer = fetch(Site(body(b"x" * 1001)), max_bytes=1000)

    assert (exact.content, exact.cut) == (b"x" * 1000, False)
    assert (longer.content, longer.cut) == (b"x" * 1000, True)


def test_an_endless_body_ends():
    async def endless(writer):
        writer.write(OK + b"\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 65536)
            await writer.drain()
    page = fetch(Site(endless), max_bytes=100_000, timeout_s=5)

    assert (len(page.content), page.cut) == (100_000, True)


@pytest.mark.parametrize(("packing", "pack"), [
    ("gzip", gzip.compress), ("x-gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", lambda data: zlib.compress(data, wbits=-15)),
    ("identity", bytes),
])
def test_a_packed_body_is_unpacked(packing, pack):
    text = b"hello " * 50_000
    page = fetch(Site(body(pack(text), f"Content-Encoding: {packing}")),
                 max_bytes=len(text))

    assert (page.content, page.cut) == (text, False)


def test_a_bomb_is_never_unpacked(monkeypatch):
    """64 MiB of zeros in 64 KiB: the limit holds while unpacking."""
    sizes = []
    real = hop.Unpacking.__call__

    def spy(self, chunk, room):
        found = real(self, chunk, room)
        sizes.append(len(found))
        return found
    monkeypatch.setattr(hop.Unpacking, "__call__", spy)
    bomb = gzip.compress(b"\0" * (64 << 20))
    page = fetch(Site(body(bomb, "Content-Encoding: gzip")),
                 max_bytes=10_000)

    assert (page.content, page.cut) == (b"\0" * 10_000, True)
    assert sum(sizes) == 10_001


@pytest.mark.parametrize("packing", ["br", "zstd", "gzip, gzip", "evil"])
def test_a_packing_that_was_not_asked_for_is_refused(packing):
    with pytest.raises(UnavailableError, match="not asked for"):
        fetch(Site(body(b"x", f"Content-Encoding: {packing}")))


def test_a_body_that_is_not_what_it_says_is_refused():
    with pytest.raises(UnavailableError, match="unpacked"):
        fetch(Site(body(b"\xff" * 100, "Content-Encoding: gzip")))


def test_a_slow_drip_ends_at_the_time_limit():
    async def drip(writer):
        writer.write(OK + b"\r\n")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)
    with pytest.raises(UnavailableError, match=r"within 0\.2 s"):
        fetch(Site(drip), timeout_s=0.2)


def test_a_slow_name_server_ends_at_the_time_limit():
    async def slow(host, port):
        await asyncio.sleep(30)
    with pytest.raises(UnavailableError, match=r"within 0\.1 s"):
        fetch(Site(HTML), names=slow, timeout_s=0.1)


def test_another_type_is_refused_unread():
    site = Site(body(b"x", "Content-Type: image/PNG; a=b"))
    with pytest.raises(UnavailableError, match="sent image/png, not text/"):
        fetch(site, accept=("text/html",))
    untyped = fetch(Site(body(b"x")), accept=("text/html",))

    assert (untyped.content_type, untyped.content) == ("", b"x")


def test_no_proxy_of_the_environment_is_asked(monkeypatch):
    async def go():
        proxy, site = Site(HTML), Site(HTML)
        async with proxy.up(), site.up():
            for name in ("http_proxy", "HTTP_PROXY", "all_proxy",
                         "ALL_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            await client().fetch(f"http://site.test:{site.port}/")
        return proxy, site
    proxy, site = asyncio.run(go())

    assert (len(proxy.heads), len(site.heads)) == (0, 1)


@pytest.mark.parametrize("answer", [
    b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
    OK + b"x: " + b"y" * 200_000 + b"\r\n\r\n",
])
def test_a_broken_answer_is_one_sentence(answer):
    with pytest.raises(UnavailableError):
        fetch(Site(answer))


def certificate(*names):
    """A self-signed certificate for these names: (server, client) TLS."""
    key = ec.generate_private_key(ec.SECP256R1())
    me = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    made = (x509.CertificateBuilder().subject_name(me).issuer_name(me)
            .public_key(key.public_key()).serial_number(1)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName(
                [x509.DNSName(n) for n in names]), critical=False)
            .add_extension(x509.BasicConstraints(True, None), critical=True)
            .sign(key, hashes.SHA256()))
    return (made.public_bytes(serialization.Encoding.PEM),
            key.private_bytes(serialization.Encoding.PEM,
                              serialization.PrivateFormat.PKCS8,
                              serialization.NoEncryption()))


@pytest.fixture
def tls(tmp_path):
    pem, key = certificate("site.test")
    file = tmp_path / "both.pem"
    file.write_bytes(pem + key)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(file)
    asked = []
    server.sni_callback = lambda sock, name, context: asked.append(name)
    return server, ssl.create_default_context(cadata=pem.decode()), asked


def test_tls_asks_for_the_name_at_the_checked_address(tls):
    server, trust, asked = tls
    page = fetch(Site(HTML), scheme="https", server_tls=server, tls=trust)

    assert page.content == b"<p>hi"
    assert asked == ["site.test"]


def test_a_certificate_of_another_name_is_refused(tls):
    server, trust, _ = tls
    with pytest.raises(UnavailableError, match="certificate"):
        fetch(Site(HTML), scheme="https", host="other.test",
              server_tls=server, tls=trust)


def test_a_certificate_of_nobody_is_refused(tls):
    with pytest.raises(UnavailableError, match="certificate"):
        fetch(Site(HTML), scheme="https", server_tls=tls[0])


def test_the_system_resolves():
    assert "127.0.0.1" in asyncio.run(system_resolve("127.0.0.1", 80))
