"""http_request against a real server."""

import asyncio

import pytest

from claw.security.approval import ApprovalManager
from claw.tools.web.request import HttpRequest
from claw.tools.web.settings import HttpRequestSettings


def requester(web, near=True, **settings):
    settings = {"enabled": True, "allowed_domains": ["site.test"],
                **settings}
    return HttpRequest(web.deps(near=near), HttpRequestSettings(**settings))


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH",
                                    "OPTIONS"])
def test_a_request_arrives_as_it_was_said(web, method):
    site = web.Site(web.answer('{"ok": true}', "Content-Type: application/"
                               "json", "X-Id: 7", "Set-Cookie: sid=S3CRET"))
    result = web.call(requester(web), site, "/api?q=tea", method=method,
                      headers={"X-Mine": "1", "Accept": "a/b"},
                      body="größe")

    sent = site.requests[0]
    assert sent.startswith(f"{method} /api?q=tea HTTP/1.1\r\n")
    assert "\r\nx-mine: 1\r\n" in sent.lower()
    assert "\r\naccept: a/b\r\n" in sent.lower()
    assert sent.endswith("\r\n\r\ngröße")
    assert result.success
    assert result.output.startswith("Status: 200 OK\nHeaders:\n")
    assert "  x-id: 7\n" in result.output
    assert result.output.endswith('\n\n{"ok": true}')
    assert "S3CRET" not in result.output


def test_head_has_no_body(web):
    site = web.Site(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
    result = web.call(requester(web), site, method="HEAD")
    assert result.output.startswith("Status: 200 OK")


def test_redirects_are_told_and_not_followed(web):
    site = web.Site(web.moved("http://127.0.0.1/x"))
    result = web.call(requester(web), site)

    assert result.success
    assert "Status: 302 Moved" in result.output
    assert "  location: http://127.0.0.1/x" in result.output
    assert len(site.requests) == 1


def test_an_error_of_the_server_is_a_failure_with_its_body(web):
    result = web.call(requester(web), web.Site(web.answer(
        "no such row", status="404 Not Found")))
    assert result.error == "HTTP 404"
    assert result.output.endswith("no such row")


def test_a_long_body_is_cut(web):
    result = web.call(requester(web, max_response_size=100), web.Site(
        web.answer("x" * 5000)))
    assert result.output.count("x") < 200
    assert "max_response_size" in result.output


def test_bytes_are_told_and_not_shown(web):
    result = web.call(requester(web), web.Site(web.answer(
        b"\x7fELF" + bytes(50), "Content-Type: application/x")))
    assert result.output.endswith("[a program (ELF), 54 bytes, not shown]")


@pytest.mark.parametrize(("headers", "word"), [
    ({"Host": "evil.test"}, "can't be set"),
    ({"content-length": "5"}, "can't be set"),
    ({"Transfer-Encoding": "chunked"}, "can't be set"),
    ({"X": "a\r\nEvil: 1"}, "no header can"),
    ({"X": "a\0"}, "no header can"),
    ({"X": "ü"}, "no header can"),
    ({"X": ["a"]}, "no header can"),
    ({"X": "a" * 10_000}, "no header can"),
    ({"a b": "c"}, "no header's name"),
    ({"": "c"}, "no header's name"),
    ({f"h{n}": "" for n in range(60)}, "at most"),
])
def test_headers_that_no_request_has_are_refused(web, headers, word):
    site = web.Site(web.answer("x"))
    result = web.call(requester(web), site, headers=headers)

    assert word in result.error
    assert site.requests == []


@pytest.mark.parametrize(("settings", "word"), [
    ({"enabled": False}, "http_request.enabled true"),
    ({"allowed_domains": []}, "names no host"),
    ({"allowed_domains": ["other.test"]}, "names other.test"),
])
def test_only_what_the_owner_allows_is_asked(web, settings, word):
    site = web.Site(web.answer("x"))
    result = web.call(requester(web, **settings), site)

    assert word in result.error
    assert site.requests == []


def test_private_hosts_need_the_setting(web):
    site = web.Site(web.answer("mine"))
    refused = web.call(requester(web, near=False, allowed_domains=["*"]),
                       site, host="127.0.0.1")
    allowed = web.call(requester(web, near=False, allow_private_hosts=True,
                                 allowed_domains=["127.0.0.1"]),
                       site, host="127.0.0.1")

    assert "no public address" in refused.error
    assert allowed.output.endswith("mine")
    assert len(site.requests) == 1


class Watches:
    """An approver that keeps what it was shown."""

    def __init__(self):
        self.seen = []

    async def approve(self, request):
        self.seen.append(request)
        return "no"


def test_it_always_asks_and_shows_no_key(web):
    tool, watches = requester(web), Watches()
    manager = ApprovalManager(tool._policy, watches, interactive=True)
    args = {"url": "https://site.test/?api_key=Q" + "1" * 20,
            "headers": {"Authorization": "Bearer S3CRETVALUE",
                        "X-Api-Key": "S3CRETVALUE", "Accept": "text/html"},
            "body": '{"password": "S3CRETVALUE", "a": 1}'}
    said = asyncio.run(manager.gate(tool, args, web.turn))

    shown = watches.seen[0].summary + manager.audit[0].arguments_summary
    assert said == "Denied by user."
    assert "S3CRET" not in shown
    assert "1" * 20 not in shown
    assert "Bear*[REDACTED]" in shown
    assert "text/html" in shown
    assert "site.test" in shown


def test_other_keys_make_another_approval(web):
    """What is shown is not what a yes is bound to."""
    tool, watches = requester(web), Watches()
    manager = ApprovalManager(tool._policy, watches, interactive=True)
    for key in ("Bearer aaaa", "Bearer bbbb"):
        asyncio.run(manager.gate(tool, {
            "url": "https://site.test/",
            "headers": {"Authorization": key}}, web.turn))

    first, second = watches.seen
    assert first.summary == second.summary
    assert first.key != second.key


@pytest.mark.parametrize("args", [
    {}, {"headers": None}, {"headers": [1]}, {"headers": "x"},
    {"headers": {1: 2}}, {"url": 5, "headers": {"x": {}}}])
def test_hiding_takes_arguments_of_any_kind(web, args):
    assert set(requester(web).hide(args)) == set(args)
