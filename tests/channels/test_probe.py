"""Step by step to a server: each step can fail, and says what to do."""

import asyncio
import datetime
import re
import socket
import ssl
import threading
from contextlib import contextmanager
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from claw.channels import probe as probe_module
from claw.channels.probe import judge_skew, probe
from claw.net import errors

UTC = datetime.UTC
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def found(url, **settings):
    findings = asyncio.run(probe(url, **settings))
    assert all(f.hint for f in findings if f.status in ("warn", "fail"))
    return {f.id: f for f in findings}


@pytest.mark.parametrize(("host", "code", "cause"), [
    ("127.0.0.1", None, "setting"), ("localhost", None, "setting"),
    ("no-such.example", socket.EAI_NONAME, "setting"),
    ("no-such.example", socket.EAI_AGAIN, "network")])
def test_whose_fault_it_is(monkeypatch, host, code, cause):
    ours = socket.getaddrinfo

    def getaddrinfo(name, *args, **kwargs):
        if code is not None:
            raise socket.gaierror(code, "no")
        both = ours("127.0.0.1", *args, **kwargs) + ours(
            "127.0.0.2", *args, **kwargs)
        return both if name == "localhost" else both[:1]
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(errors, "has_route", lambda: True)
    findings = found(f"http://{host}:9/")
    failed = findings["tcp" if code is None else "dns"]
    assert (failed.status, failed.cause) == ("fail", cause)
    assert code is not None or "connection refused" in failed.detail


def test_a_proxy_that_the_environment_names_is_no_setting(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert found("http://far.example/")["tcp"].cause is None
    told = found("http://far.example/", proxy_url="http://127.0.0.1:9")
    assert told["tcp"].cause == "setting"


def statuses(findings):
    return {name: f.status for name, f in findings.items()}


@contextmanager
def serving(*, ahead_s=0, context=None, date=True):
    """A web server whose clock may be wrong; its port and requests."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            seen.append((self.path, dict(self.headers)))
            self.send_response_only(404)
            if date:
                now = datetime.datetime.now(UTC)
                self.send_header("Date", format_datetime(
                    now + datetime.timedelta(seconds=ahead_s)))
            self.end_headers()

        def log_message(self, *_):
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_):  # a client that left is no matter
            pass

        def get_request(self):
            sock, address = super().get_request()
            if context is not None:
                sock.settimeout(2)
                try:
                    sock = context.wrap_socket(sock, server_side=True)
                except OSError:
                    sock.close()
                    raise
            return sock, address

    with Quiet(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1], seen
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    """Makes (server context) and trusts it."""
    def make(days=90, name="127.0.0.1", trusted=True):
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "me")])
        made = (
            x509.CertificateBuilder().subject_name(subject)
            .issuer_name(subject).public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(now - datetime.timedelta(days=200))
            .not_valid_after(now + datetime.timedelta(days=days, hours=1))
            .add_extension(x509.SubjectAlternativeName(
                [x509.IPAddress(ip_address(name))]), False)
            .add_extension(x509.BasicConstraints(True, None), True)
            .sign(key, hashes.SHA256()))
        pem = made.public_bytes(serialization.Encoding.PEM)
        (tmp_path / "ca.pem").write_bytes(pem)
        (tmp_path / "server.pem").write_bytes(pem + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()))
        if trusted:
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "server.pem")
        return context
    return make


def test_all_is_well():
    with serving() as (port, seen):
        findings = found(f"http://127.0.0.1:{port}/bot123:SECRET/getMe?x=1")

    assert statuses(findings) == {
        "dns": "ok", "tcp": "ok", "tls": "skip", "clock": "ok"}
    assert findings["tcp"].detail.endswith(" ms)")
    assert [path for path, _ in seen] == ["/"]
    assert "SECRET" not in repr(findings)


def test_a_name_without_address_stops_it():
    findings = found("https://no-such-host.invalid/x")

    assert statuses(findings) == {
        "dns": "fail", "tcp": "skip", "tls": "skip", "clock": "skip"}
    assert "no-such-host.invalid" in findings["dns"].detail


def test_a_closed_port_is_named():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    findings = found(f"http://127.0.0.1:{port}/")

    assert statuses(findings) == {
        "dns": "ok", "tcp": "fail", "tls": "skip", "clock": "skip"}
    assert f"127.0.0.1:{port}: connection refused" in findings["tcp"].detail


@pytest.mark.parametrize("url", [
    "nonsense", "", "ftp://host/", "https://", "http://[::1/", "wss://h/",
    "http://h:99999/"])
def test_what_is_no_address_is_told(url):
    findings = found(url)

    assert statuses(findings) == {"address": "fail"}


def test_a_server_that_says_nothing_is_not_waited_for():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        findings = found(f"http://127.0.0.1:{port}/", timeout_s=0.1)

    assert findings["tcp"].status == "ok"
    assert findings["clock"].status == "fail"
    assert "within 0.1 s" in findings["clock"].detail


def test_a_server_that_is_none_is_told():
    def hang_up(server):
        while True:
            try:
                server.accept()[0].close()
            except OSError:
                return
    server = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=hang_up, args=(server,))
    thread.start()
    try:
        findings = found(
            f"http://127.0.0.1:{server.getsockname()[1]}/")
    finally:
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        server.close()

    assert findings["http"].status == "fail"


@pytest.mark.parametrize(("ahead_s", "status", "words"), [
    (0, "ok", "agrees"), (50, "ok", "agrees"),
    (300, "warn", "behind"), (-300, "warn", "ahead of"),
])
def test_the_clock_is_compared(ahead_s, status, words):
    with serving(ahead_s=ahead_s) as (port, _):
        clock = found(f"http://127.0.0.1:{port}/")["clock"]

    assert clock.status == status
    assert words in clock.detail


def test_a_server_without_a_clock_is_no_matter():
    with serving(date=False) as (port, _):
        assert found(f"http://127.0.0.1:{port}/")["clock"].status == "skip"


def test_sixty_seconds_are_still_well():
    assert judge_skew(60).status == "ok"
    assert judge_skew(-61).status == "warn"


def test_a_good_certificate(certificate):
    with serving(context=certificate()) as (port, _):
        findings = found(f"https://127.0.0.1:{port}/")

    assert statuses(findings) == {
        "dns": "ok", "tcp": "ok", "tls": "ok", "clock": "ok"}
    assert "90 days" in findings["tls"].detail


@pytest.mark.parametrize(("settings", "status", "words", "hint"), [
    ({"days": 5}, "warn", "5 days", "renew"),
    ({"days": -2}, "fail", "expired", "date"),
    ({"name": "127.0.0.9"}, "fail", "127.0.0.1", "name"),
    ({"trusted": False}, "fail", "self-signed", "SSL_CERT_FILE"),
])
def test_what_is_wrong_with_a_certificate_is_named(
        certificate, settings, status, words, hint):
    with serving(context=certificate(**settings)) as (port, _):
        findings = found(f"https://127.0.0.1:{port}/")

    assert findings["tls"].status == status
    assert words in findings["tls"].detail
    assert hint in findings["tls"].hint
    assert findings["clock"].status == (
        "skip" if status == "fail" else "ok")


def test_https_to_a_plain_port_is_told():
    with serving() as (port, _):
        tls = found(f"https://127.0.0.1:{port}/")["tls"]

    assert tls.status == "fail"
    assert "http://" in tls.hint


def test_a_proxy_of_the_environment_is_named_and_asked(monkeypatch):
    with serving() as (port, seen):
        monkeypatch.setenv("HTTP_PROXY",
                           f"http://me:password@127.0.0.1:{port}")
        findings = found("http://example.invalid/token")

    assert findings["proxy"].status == "ok"
    assert f"127.0.0.1:{port}" in findings["proxy"].detail
    assert "NO_PROXY" in findings["proxy"].hint
    assert "password" not in repr(findings)
    assert findings["clock"].status == "ok"
    assert seen[0][0].startswith("http://example.invalid")


@pytest.mark.parametrize(("url", "bypass"), [
    ("http://127.0.0.1:{port}/", ""), ("http://localhost:{port}/", ""),
    ("http://127.0.0.2:{port}/", "127.0.0.2")])
def test_this_machine_and_exceptions_need_no_proxy(monkeypatch, url, bypass):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", bypass)
    with serving() as (port, _):
        findings = found(url.format(port=port))

    assert "proxy" not in findings


def test_a_proxy_of_the_channel_takes_its_place(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with serving() as (port, _):
        findings = found("http://example.invalid/",
                         proxy_url=f"http://127.0.0.1:{port}")

    assert statuses(findings) == {"proxy": "ok", "dns": "ok", "tcp": "ok",
                                  "tls": "skip", "clock": "ok"}
    assert "proxy_url" in findings["proxy"].detail


def test_a_dead_proxy_is_what_fails(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
    findings = found("https://example.invalid/")

    assert findings["tcp"].status == "fail"
    assert str(port) in findings["tcp"].detail


def test_a_proxy_with_an_unknown_way_of_speaking_is_told(monkeypatch):
    with serving() as (port, _):
        monkeypatch.setenv("HTTP_PROXY", f"gopher://127.0.0.1:{port}")
        findings = found("http://example.invalid/")

    assert findings["http"].status == "fail"
    assert "proxy" in findings["http"].detail


def test_the_clock_of_this_machine_is_the_one_that_is_judged(monkeypatch):
    real = probe_module.time.time
    monkeypatch.setattr(probe_module.time, "time", lambda: real() + 3600)
    with serving() as (port, _):
        clock = found(f"http://127.0.0.1:{port}/")["clock"]

    # the server's clock shows whole seconds
    assert re.search(r" 360[01] s ahead of the server", clock.detail)
