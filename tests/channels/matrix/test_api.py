"""Answers of a server, read without trust."""

import asyncio
import json

import httpx
import pytest

from claw.channels.matrix.api import (
    LONGEST_S,
    MatrixApi,
    cut_deep,
    is_address,
    make_path,
    parse_mxc,
    read_body,
    read_wait_s,
)
from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    RequestRefusedError,
)
from claw.net.http import Answer
from claw.testing.fake_matrix import ROOM


def answer(content, **headers):
    return Answer(200, headers, content)


def test_what_is_nested_too_deep_stops_nothing_beside_it():
    deep = b"[" * 50_000 + b"]" * 50_000
    body = read_body(answer(b'{"a": 1, "b": %s, "c": "x]}[{"}' % deep))

    assert body["a"] == 1
    assert body["c"] == "x]}[{"
    assert isinstance(body["b"], list)


@pytest.mark.parametrize("text", [
    '{"a": [[1], [2]], "b": "\\\\\\"[[["}', '[]', '{}', '"[["', '[[[]]]'])
def test_what_is_flat_stays(text):
    assert json.loads(cut_deep(text.encode(), 4)) == json.loads(text)


@pytest.mark.parametrize("text", [
    '[[[[1], 2], 3], {"a": {"b": {"c": [4]}}}]', '[[[[[[]]]]]]'])
def test_what_is_deep_is_null(text):
    assert "[4]" not in json.dumps(json.loads(cut_deep(text.encode(), 3)))


@pytest.mark.parametrize("content", [
    b"", b"[]", b"<html>", b"\xff", b"{", b"null", b"[" * 99_999])
def test_what_is_no_object_is_none(content):
    assert read_body(answer(content)) is None


def test_halves_of_characters_are_mended():
    body = read_body(answer(b'{"a": "x\\ud83dy", "b": "\\ud83d\\udc4b"}'))

    assert body == {"a": "x\ufffdy", "b": "👋"}


@pytest.mark.parametrize(("wait", "seconds"), [
    (1500, 1.5), (0, 0), (10**15, None), (10**9, LONGEST_S), ("x", None),
    (True, None), (-1, None)])
def test_how_long_to_wait(wait, seconds):
    assert read_wait_s(answer(b""), {"retry_after_ms": wait}) == seconds


def test_paths_are_encoded():
    assert make_path("/x", "!a/b:c", "\ud83d?#%", query={
        "a": None, "b": "&="}) == "/x/%21a%2Fb%3Ac/%3F%3F%23%25?b=%26%3D"


@pytest.mark.parametrize("address", [
    "", "mxc://", "mxc://a", "mxc:///b", "http://a/b", "mxc://../b",
    "mxc://a/../../account/whoami", "mxc://a/b%2f"])
def test_what_is_no_file_is_refused(address):
    with pytest.raises(RequestRefusedError):
        parse_mxc(address)


@pytest.mark.parametrize(("url", "fits"), [
    ("https://a.example", True), ("http://[::1]:8008", True),
    ("a.example", False), ("https://", False), ("https://a/?x=1", False),
    ("http://[", False), ("ftp://a", False)])
def test_addresses_of_servers(url, fits):
    assert is_address(url) is fits


@pytest.mark.parametrize(("given", "error", "words"), [
    ({"homeserver": "matrix.org"}, ConfigError, "homeserver"),
    ({"homeserver": ""}, ConfigError, "homeserver"),
    ({"access_token": ""}, AuthError, "no access token"),
    ({"access_token": "a\nb"}, AuthError, "characters"),
])
def test_settings_that_can_not_work_are_told(account, given, error, words):
    with pytest.raises(error, match=words) as caught:
        account.sends("hello", ROOM, given=given)

    assert "claw config set channels_config.matrix." in caught.value.hint


def test_a_password_in_the_address_is_not_told(account, platform):
    url = platform.url.replace("http://", "http://me:hunter2@")
    platform.fault("*", "html", None, status=404)
    with pytest.raises(Exception, match="no Matrix homeserver") as caught:
        account.sends("hello", ROOM, given={"homeserver": url})

    assert "hunter2" not in repr(caught.value)


@pytest.mark.parametrize(("target", "comes"), [
    ("https://bucket.example/file?X-Amz-Signature=abcdefgh", True),
    ("http://bucket.example/file", False), ("https://", False), ("", False)])
def test_media_that_lies_elsewhere_is_fetched_without_the_token(
        target, comes):
    seen = []

    def answer(request):
        seen.append((request.url.host, request.headers.get("authorization")))
        return httpx.Response(200, content=b"it") \
            if request.url.host == "bucket.example" else httpx.Response(
                307, headers={"Location": target})

    async def work():
        api = MatrixApi("https://hs.example", "a-token-of-the-test",
                        log=lambda *_, **__: None,
                        transport=httpx.MockTransport(answer))
        try:
            return await api.download("mxc://hs.example/abc")
        finally:
            await api.aclose()

    if comes:
        assert asyncio.run(work()) == b"it"
        assert seen == [("hs.example", "Bearer a-token-of-the-test"),
                        ("bucket.example", None)]
    else:
        with pytest.raises(ClawError):
            asyncio.run(work())
        assert {host for host, _ in seen} == {"hs.example"}
