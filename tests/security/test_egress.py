"""Addresses inside are out of reach, however they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.core.errors import DeniedError
from claw.security.egress import Target, check_url, is_public

REFUSED = [
    # this machine
    "http://127.0.0.1:8080/", "http://127.8.9.1/", "http://localhost/",
    "http://LOCALHOST:80/", "http://localhost./", "http://a.localhost/",
    "http://a.localhost.localdomain/", "http://0.0.0.0/", "http://[::]/",
    "http://[::1]/",
    # a cloud's metadata
    "http://169.254.169.254/latest/meta-data/",
    "http://metadata.google.internal/", "http://100.100.100.200/",
    "http://[fd00:ec2::254]/", "http://168.63.129.16/",
    # IPv4 inside IPv6
    "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::10.0.0.1]/", "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/", "http://[2002:7f00::]/",
    "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",  # Teredo
    "http://[2620:0:1cfe::5efe:7f00:1]/",              # ISATAP
    # odd forms of 127.0.0.1, and of others
    "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/",
    "http://0x7f000001/", "http://0x7F000001/", "http://127.1/",
    "http://017700000001/", "http://127.0.0.1./", "http://127.0.0.01/",
    "http://0x/", "http://1.1.1.0x1/", "http://134744072/",
    "http://256.256.256.256/", "http://1.2.3.4.5/",
    "http://１２７.０.０.１/", "http://127。0。0。1/", "http://①②⑦.⓪.⓪.①/",
    "http://ⓛocalhost/", "http://lo\u00adcalhost/",
    "http://%31%32%37.0.0.1/", "http://127.0.0.1%00.example.com/",
    # private, shared, documentation, benchmarks, multicast, broadcast
    "http://10.0.0.1/", "http://172.16.0.1/", "http://172.31.255.255/",
    "http://192.168.1.1/", "http://100.64.0.1/", "http://100.127.255.255/",
    "http://198.18.0.1/", "http://198.19.255.255/", "http://0.1.2.3/",
    "http://192.0.0.8/", "http://192.0.2.1/", "http://198.51.100.1/",
    "http://203.0.113.1/", "http://224.0.0.1/", "http://240.0.0.1/",
    "http://255.255.255.255/", "http://192.88.99.1/",
    "http://[fc00::1]/", "http://[fd12::1]/", "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/",
    "http://[2606:4700::1%25eth0]/", "http://[fec0::1]/", "http://[ff02::1]/",
    "http://[2001:db8::1]/", "http://[3fff::1]/", "http://[100::1]/",
    "http://[5f00::1]/", "http://[v1.fe80::a]/",
    # names of the network around
    "http://router/", "http://printer.local/", "http://x.local./",
    "http://nas.lan/", "http://a.home.arpa/", "http://1.0.0.127.in-addr.arpa/",
    # users, schemes, nonsense
    "http://user@127.0.0.1@evil/", "http://user@example.com/",
    "http://user:pass@example.com/", "http://@example.com/",
    "http://example.com:pass@127.0.0.1/", "http://example.com\\@127.0.0.1/",
    "file:///etc/passwd", "gopher://example.com/", "ftp://example.com/",
    "unix:///var/run/docker.sock", "http+unix://%2Fdocker.sock/",
    "javascript:alert(1)", "data:text/html,x", "//example.com/",
    "example.com", "", "http://", "http:///x", "http:example.com",
    "http://.../", "http://a..com/", "http://.example.com/",
    "http://example.com:0/", "http://example.com:99999/",
    "http://example.com:x/", "http://[", "http://[::1", "http://exa mple.com/",
    "http://example.com/\r\nHost: x", "http://exam\nple.com/",
    "http://example.com/\x00", "http://a,b.com/", "http://a／b.com/",
    "http://example.com\uff0f@127.0.0.1/", "http://xn--localhost-/",
    "http://xn--localhost-.com/", "http://" + "a" * 64 + ".com/",
    "http://" + "a." * 130 + "com/", "http://exam\u202eple.com/",
]


@pytest.mark.each("url", REFUSED)
def test_an_address_inside_or_a_trick_is_refused(url):
    with pytest.raises(DeniedError, match=r"^not fetched: "):
        check_url(url)


@pytest.mark.parametrize(("url", "asked"), [
    ("http://example.com", "http://example.com/"),
    ("HTTPS://Example.COM/A?b=C#part", "https://example.com/A?b=C"),
    ("https://example.com.:8443/x", "https://example.com:8443/x"),
    ("https://example.com:443/", "https://example.com/"),
    ("http://example.com?q=1", "http://example.com/?q=1"),
    ("http://8.8.8.8/", "http://8.8.8.8/"),
    ("http://172.32.0.1/", "http://172.32.0.1/"),
    ("http://[2606:4700:4700::1111]:80/",
     "http://[2606:4700:4700::1111]/"),
    ("http://[64:ff9b::8.8.8.8]/", "http://[64:ff9b::808:808]/"),
    ("http://президент.рф/", "http://xn--d1abbgf6aiiy.xn--p1ai/"),
    ("http://xn--e1afmkfd.xn--p1ai/", "http://xn--e1afmkfd.xn--p1ai/"),
    ("http://faß.de/", "http://xn--fa-hia.de/"),
    ("http://ｅxample.com/", "http://example.com/"),
    ("http://例え。jp/", "http://xn--r8jz45g.jp/"),
    ("http://a_b.example.com/", "http://a_b.example.com/"),
    ("http://0x7f.example.com/", "http://0x7f.example.com/"),
    ("http://localhost.example.com/", "http://localhost.example.com/"),
    ("http://example.com/ä%20b", "http://example.com/%C3%A4%20b"),
    ("http://example.com/\u0645\u06cc\u200c\u062e",  # a joiner is no trick
     "http://example.com/%D9%85%DB%8C%E2%80%8C%D8%AE"),
])
def test_a_public_address_is_asked_for_in_ascii(url, asked):
    assert check_url(url).url == asked
    assert check_url(asked).url == asked


def test_a_target_is_taken_apart():
    assert check_url("https://a.example:81/x?y") == Target(
        "https", "a.example", 81, "/x?y")


@pytest.mark.parametrize(("address", "public"), [
    ("1.1.1.1", True), ("2a00:1450:4001::200e", True),
    ("64:ff9b::101:101", True),
    ("127.0.0.1", False), ("::ffff:1.1.1.1", False), ("2002:101:101::", False),
    ("fe80::1%eth0", False), ("2a00::1%1", False),
    ("example.com", False), ("", False), ("1.1", False),
    ("/var/run/docker.sock", False),
])
def test_an_address_is_public_or_not(address, public):
    assert is_public(address) is public


def test_a_refusal_names_no_password_or_path():
    with pytest.raises(DeniedError) as caught:
        check_url("http://me:hunter2@10.0.0.1/secret")
    assert "hunter2" not in caught.value.message

    with pytest.raises(DeniedError) as caught:
        check_url("http://10.0.0.1/secret")
    assert "secret" not in caught.value.message


@given(st.text(max_size=60))
def test_any_text_is_a_target_or_refused(text):
    for url in (text, f"http://{text}/", f"https://example.com/{text}"):
        try:
            target = check_url(url)
        except DeniedError:
            continue
        assert target.url.isascii()
        assert check_url(target.url) == target
