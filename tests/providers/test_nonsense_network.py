"""The way to a server at its worst: TLS, names, ports, proxies."""

import datetime
import ssl
import traceback

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from raw_server import NAMES, Raw, ask, saying, settle, wires

from claw.core.errors import ClawError, ConfigError, UnavailableError

every = pytest.mark.parametrize(
    "name", [n for n in NAMES if n not in ("httpx", "responses")])
REFUSAL = b"HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno"
PROXY = (b"HTTP/1.1 407 Proxy Authentication Required\r\n"
         b"Proxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def self_signed(tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
            .public_key(key.public_key()).serial_number(5)
            .not_valid_before(now - day).not_valid_after(now + day)
            .sign(key, hashes.SHA256()))
    file = tmp_path / "own.pem"
    file.write_bytes(
        made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def error_of(wire, root, *, ssl=None, script=None, read_first=True):
    async def go():
        async with Raw(script or saying(REFUSAL), ssl=ssl,
                       read_first=read_first) as raw:
            provider = wire.build(root.replace("PORT", str(raw.port)),
                                  timeout_s=5.0)
            try:
                return (await ask(provider, True)).error
            finally:
                await provider.aclose()
    return settle(go)


@every
def test_a_certificate_of_ones_own_is_named(name, tmp_path, self_signed):
    error = error_of(wires(tmp_path)[name], "https://127.0.0.1:PORT",
                     ssl=self_signed)

    assert type(error) is UnavailableError
    assert "its certificate was not accepted" in error.message
    assert "SSL_CERT_FILE" in error.hint


@every
def test_http_on_an_https_port_is_named(name, tmp_path):
    error = error_of(wires(tmp_path)[name], "https://127.0.0.1:PORT",
                     read_first=False)

    assert type(error) is UnavailableError
    assert "no secure connection (TLS)" in error.message
    assert "http://" in error.hint


@every
@pytest.mark.parametrize(("root", "words", "hint"), [
    ("http://name.invalid", "could not be resolved (DNS)", "base URL"),
    ("http://127.0.0.1:9", "connection refused", ""),
    ("http://[::1]:9", "could not reach", ""),
])
def test_what_can_not_be_reached_is_named(name, root, words, hint,
                                          tmp_path):
    error = error_of(wires(tmp_path)[name], root)

    assert type(error) is UnavailableError
    assert words in error.message
    assert error.hint
    assert hint in error.hint


@every
def test_a_proxy_that_refuses_is_named(name, tmp_path, monkeypatch):
    async def go():
        async with Raw(saying(PROXY)) as proxy:
            monkeypatch.setenv("HTTPS_PROXY",
                               f"http://127.0.0.1:{proxy.port}")
            provider = wires(tmp_path)[name].build("https://api.example",
                                                   timeout_s=5.0)
            try:
                error = (await ask(provider, True)).error
            finally:
                await provider.aclose()
            assert b"canary" not in b"".join(proxy.heard)
            return error
    error = settle(go)

    assert type(error) is UnavailableError
    assert "the proxy refused" in error.message
    assert "HTTPS_PROXY" in error.hint


@every
def test_a_proxy_that_is_not_there_is_named_in_place_of_the_server(
        name, tmp_path, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://me:birdsong@127.0.0.1:9")

    error = error_of(wires(tmp_path)[name], "https://api.example")

    assert type(error) is UnavailableError
    assert "the proxy at 127.0.0.1:9" in error.hint
    assert "birdsong" not in "".join(traceback.format_exception(error))


@every
def test_a_proxy_that_is_none_keeps_its_password(name, tmp_path,
                                                 monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://birdsong@host")

    try:
        error = error_of(wires(tmp_path)[name], "https://api.example")
    except ClawError as early:
        error = early

    assert type(error) is ConfigError
    assert "birdsong" not in "".join(traceback.format_exception(error))
