"""The owner's lists of hosts."""

import pytest

from claw.core.errors import DeniedError
from claw.security.hosts import HostRules, read_host


@pytest.mark.parametrize(("entry", "host"), [
    ("example.com", "example.com"), (" Example.COM. ", "example.com"),
    (".example.com", "example.com"), ("*.example.com", "example.com"),
    ("https://example.com:8443/a?b", "example.com"),
    ("example.com:80", "example.com"), ("*", "*"), ("[::1]:80", "::1"),
    ("fd00::1", "fd00::1"), ("müller.example", "xn--mller-kva.example"),
    ("192.168.1.5", "192.168.1.5")])
def test_an_entry_however_it_is_written(entry, host):
    assert read_host(entry) == host


@pytest.mark.parametrize("entry", ["a b", "a@b", "a\\b", "a%62c"])
def test_an_entry_that_is_no_host_is_an_error(entry):
    with pytest.raises(ValueError, match="is no host"):
        read_host(entry)


@pytest.mark.parametrize(("private", "url", "allowed"), [
    (("127.0.0.1",), "http://127.0.0.1:80/", True),
    (("::1",), "http://[::1]/", True),
    (("fd00::5",), "http://[fd00::5]/", True),
    (("nas",), "http://nas/", True),
    (("nas",), "http://disk.nas/", True),
    (("nas",), "http://other/", False),
    (("*",), "http://10.0.0.1/", True),
    (("*",), "http://100.64.1.1/", True),
    (("*",), "http://2130706433/", False),
    (("*",), "http://0x7f.1/", False),
    (("*",), "http://169.254.169.254/", False),
    (("*",), "http://100.100.100.200/", False),
    (("*",), "http://[fd00:ec2::254]/", False),
    (("*",), "http://[fe80::1]/", False),
    (("*",), "http://0.0.0.0/", False),
    (("*",), "http://224.0.0.1/", False),
    ((), "http://127.0.0.1/", False),
])
def test_hosts_of_the_own_network(private, url, allowed):
    rules = HostRules("web_fetch", private=private)
    if allowed:
        assert rules.check(url).inside
    else:
        with pytest.raises(DeniedError):
            rules.check(url)


def test_what_is_refused_names_the_setting():
    with pytest.raises(DeniedError, match=r"web_fetch\.allowed_private_h"):
        HostRules("web_fetch").check("http://nas/")


def test_a_host_that_may_be_inside_may_not_lead_to_a_clouds_metadata():
    target = HostRules("x", private=("nas",)).check("http://nas/")
    assert target.allows("192.168.1.5")
    assert not target.allows("169.254.169.254")
    assert not HostRules("x").check("http://a.example/").allows("10.0.0.1")
