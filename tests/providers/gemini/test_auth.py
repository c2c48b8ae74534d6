"""The sign-in of the Gemini CLI against a real HTTP server."""

import asyncio
import json
import os
import stat
import traceback
from contextlib import contextmanager

import pytest

from claw.core.errors import (
    AuthError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import ChatMessage, ChatRequest
from claw.core.tool import ToolSpec, closed_object, string
from claw.core.value import replace
from claw.providers.catalog.vendors import Vendor
from claw.providers.connection import Connection
from claw.providers.gemini.auth import Login, login_files
from claw.providers.gemini.provider import GeminiProvider, find_login
from claw.testing.fake_gemini import (
    FakeGemini,
    Reply,
    call,
    endless,
    failure,
    html_page,
    over_quota,
    unknown_field,
)

NOW = 1_800_000_000.0
HELLO = ChatRequest([ChatMessage.user("hello")])
CLIENT = {"GEMINI_OAUTH_CLIENT_ID": "id-1",
          "GEMINI_OAUTH_CLIENT_SECRET": "canary-client"}
FRESH = {"access_token": "canary-fresh", "expires_in": 3600,
         "token_type": "Bearer"}
ROW = Vendor("gemini", "Gemini",
             "https://generativelanguage.googleapis.com", plugin="gemini")


def sign_in(home, folder=".gemini", *, token="canary-access", left_s=3600,
            **more):
    path = home / folder / "oauth_creds.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({
        "access_token": token, "refresh_token": f"canary-refresh-{folder}",
        "expiry_date": int((NOW + left_s) * 1000), "scope": "kept", **more}))
    return path


@contextmanager
def signed_in(home, replies=("hello back",), env=None, notify=None,
              **server):
    server = {"tokens": ["canary-access", "canary-fresh"], **server}
    with FakeGemini(replies, **server) as fake:
        login = Login(
            login_files(home), env or {}, clock=lambda: NOW,
            internal_url=fake.internal_url, token_url=fake.token_url,
            **({"notify": notify} if notify else {}))
        yield GeminiProvider(Connection(ROW), login), fake


def run(provider, work):
    async def go():
        try:
            return await work
        finally:
            await provider.aclose()
    return asyncio.run(go())


def chat(provider, request=HELLO, model="models/gemini-2.5-pro"):
    return run(provider, provider.chat(request, model, 0.5))


def streamed(provider, request=HELLO, model="models/gemini-2.5-pro"):
    async def go():
        return [c async for c in provider.stream_chat(request, model, 0.5)]
    return run(provider, go())[-1].response


ASKS = pytest.mark.parametrize("ask", [chat, streamed])


def paths(fake):
    return [r.path.rpartition("/")[2] for r in fake.requests]


@ASKS
def test_a_sign_in_asks_the_internal_address_in_an_envelope(ask, tmp_path):
    sign_in(tmp_path)
    with signed_in(tmp_path) as (provider, fake):
        assert ask(provider).text == "hello back"

    (request,) = fake.chats
    action = "streamGenerateContent" if ask is streamed else "generateContent"
    assert request.path == f"/v1internal:{action}"
    assert request.query == ({"alt": ["sse"]} if ask is streamed else {})
    assert request.headers["authorization"] == "Bearer canary-access"
    assert set(request.envelope) == {"model", "project", "user_prompt_id",
                                     "request"}
    assert request.envelope["model"] == "gemini-2.5-pro"
    assert request.envelope["project"] == "fake-project"
    assert request.body["contents"][0]["parts"] == [{"text": "hello"}]


@ASKS
def test_calls_come_out_of_the_envelope_too(ask, tmp_path):
    sign_in(tmp_path)
    request = replace(HELLO, tools=[ToolSpec("weather", "?", closed_object(
        city=string("c")))])
    with signed_in(tmp_path, [call("weather", city="Oslo")]) as (p, _):
        (made,) = ask(p, request).tool_calls

    assert json.loads(made.arguments) == {"city": "Oslo"}


def test_the_project_is_asked_for_once_and_seeded(tmp_path):
    sign_in(tmp_path)
    env = {"GOOGLE_CLOUD_PROJECT_ID": " mine "}
    with signed_in(tmp_path, env=env) as (provider, fake):
        async def go():
            await provider.chat(HELLO, "m", 0.5)
            return await provider.chat(HELLO, "m", 0.5)
        run(provider, go())

    assert paths(fake).count("v1internal:loadCodeAssist") == 1
    assert fake.requests[0].body["cloudaicompanionProject"] == "mine"


@pytest.mark.parametrize(("env", "sent"), [
    ({"GOOGLE_CLOUD_PROJECT": "mine"}, "mine"), ({}, None)])
def test_an_account_without_a_project_uses_the_named_one(env, sent, tmp_path):
    sign_in(tmp_path)
    with signed_in(tmp_path, env=env, project=None) as (provider, fake):
        chat(provider)

    assert fake.chats[0].envelope.get("project") == sent


# tokens

@pytest.mark.parametrize("left_s", [-5, 30])
def test_a_token_that_runs_out_is_refreshed_and_kept(left_s, tmp_path):
    path = sign_in(tmp_path, left_s=left_s)
    grant = {**FRESH, "refresh_token": "canary-next"}
    with signed_in(tmp_path, env=CLIENT,
                   grants={"canary-refresh-.gemini": grant}) as (
            provider, fake):
        chat(provider)

    assert fake.chats[0].headers["authorization"] == "Bearer canary-fresh"
    assert paths(fake).count("token") == 1
    form = fake.requests[0].raw.decode()
    assert "grant_type=refresh_token" in form
    assert "client_id=id-1&client_secret=canary-client" in form
    assert json.loads(path.read_text()) == {
        "access_token": "canary-fresh", "refresh_token": "canary-next",
        "expiry_date": int((NOW + 3600) * 1000), "scope": "kept",
        "token_type": "Bearer"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["oauth_creds.json"]


def test_the_client_may_stand_in_the_file(tmp_path):
    sign_in(tmp_path, left_s=0, client_id="id-2",
            client_secret="canary-file")
    with signed_in(tmp_path, grants={"canary-refresh-.gemini": FRESH}) as (
            provider, fake):
        chat(provider)

    assert "client_id=id-2&client_secret=canary-file" in \
        fake.requests[0].raw.decode()


def test_requests_at_once_refresh_once(tmp_path):
    sign_in(tmp_path, left_s=0)
    with signed_in(tmp_path, env=CLIENT,
                   grants={"canary-refresh-.gemini": FRESH}) as (
            provider, fake):
        async def go():
            return await asyncio.gather(*(
                provider.chat(HELLO, "m", 0.5) for _ in range(5)))
        assert len(run(provider, go())) == 5

    assert paths(fake).count("token") == 1
    assert paths(fake).count("v1internal:loadCodeAssist") == 1


def test_what_another_process_refreshed_is_taken_from_the_file(tmp_path):
    path = sign_in(tmp_path, left_s=90)
    now = [NOW]
    with FakeGemini(["fine"], tokens=["canary-access", "other"]) as fake:
        login = Login([path], {}, clock=lambda: now[0],
                      internal_url=fake.internal_url,
                      token_url=fake.token_url)
        provider = GeminiProvider(Connection(ROW), login)

        async def go():
            await provider.chat(HELLO, "m", 0.5)
            now[0] += 60
            path.write_text(json.dumps({
                "access_token": "other",
                "expiry_date": (NOW + 9000) * 1000}))
            await provider.chat(HELLO, "m", 0.5)
        run(provider, go())

    assert fake.chats[1].headers["authorization"] == "Bearer other"
    assert "token" not in paths(fake)


def test_a_refreshed_token_serves_though_it_cannot_be_kept(
        tmp_path, monkeypatch):
    heard = []

    def full(*_):
        raise OSError(28, "No space left on device")
    sign_in(tmp_path, left_s=0)
    monkeypatch.setattr("os.replace", full)
    with signed_in(tmp_path, env=CLIENT, notify=heard.append,
                   grants={"canary-refresh-.gemini": FRESH}) as (p, _):
        assert chat(p).text == "hello back"

    assert heard == ["the refreshed sign-in could not be kept in "
                     "~/.gemini/oauth_creds.json: No space left on device"]
    assert os.listdir(tmp_path / ".gemini") == ["oauth_creds.json"]


def test_a_link_to_the_file_stays_one(tmp_path):
    path = sign_in(tmp_path, left_s=0)
    real = tmp_path / "real.json"
    path.rename(real)
    path.symlink_to(real)
    with signed_in(tmp_path, env=CLIENT,
                   grants={"canary-refresh-.gemini": FRESH}) as (p, _):
        chat(p)

    assert path.is_symlink()
    assert json.loads(real.read_text())["access_token"] == "canary-fresh"


# what can't be used

@ASKS
@pytest.mark.parametrize(("content", "words"), [
    ("{not json", "holds no sign-in"), ("[]", "holds no sign-in"),
    ('{"access_token": ""}', "holds no sign-in"),
    ('{"access_token": 7}', "holds no sign-in"),
    ('{"access_token": "canary-a", "expiry_date": 1}', "has run out"),
    ('{"refresh_token": "canary-r"}', "whose it is to refresh"),
    ("[" * 100_000, "holds no sign-in"), ("\ud83d", "holds no sign-in"),
])
def test_a_file_that_is_no_use_says_so(ask, content, words, tmp_path):
    path = sign_in(tmp_path)
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    with signed_in(tmp_path) as (provider, fake), pytest.raises(
            AuthError, match=words) as caught:
        ask(provider)

    assert "~/.gemini/oauth_creds.json" in str(caught.value)
    assert "GEMINI_API_KEY" in caught.value.hint
    assert "canary" not in "".join(traceback.format_exception(caught.value))
    assert fake.chats == []


@pytest.mark.parametrize(("reply", "kind", "words"), [
    (None, AuthError, "invalid_grant"),
    (html_page(502), UnavailableError, "HTML page"),
    (failure(429, "slow"), RateLimitedError, "slow"),
    (failure(400, "no canary-refresh-.gemini"), AuthError, r"\[REDACTED\]"),
    (Reply(body="[]"), AuthError, "gave no token"),
    (Reply(body="<html>"), AuthError, "gave no token"),
])
def test_a_refresh_that_fails_names_why(reply, kind, words, tmp_path,
                                        monkeypatch):
    sign_in(tmp_path, left_s=0)
    with signed_in(tmp_path, env=CLIENT) as (provider, fake):
        if reply is not None:
            monkeypatch.setattr(fake, "_grant", lambda _: reply)
        with pytest.raises(kind, match=words) as caught:
            chat(provider)

    shown = "".join(traceback.format_exception(caught.value))
    assert "canary" not in shown


@ASKS
def test_no_error_or_repr_holds_a_token(ask, tmp_path):
    sign_in(tmp_path, client_secret="canary-file")
    body = "canary-access canary-refresh-.gemini canary-file"
    with signed_in(tmp_path, [failure(404, body)]) as (provider, _), \
            pytest.raises(RequestRefusedError) as caught:
        ask(provider)

    shown = "".join(traceback.format_exception(caught.value))
    assert "canary" not in shown + repr(provider) + repr(vars(provider))


@ASKS
def test_a_token_that_google_refuses_twice_hints_at_signing_in(ask, tmp_path):
    sign_in(tmp_path, token="canary-stale")
    with signed_in(tmp_path) as (provider, _), pytest.raises(
            AuthError) as caught:
        ask(provider)

    assert "sign in again with: gemini" in caught.value.hint
    assert "canary" not in str(caught.value)


# rotation

@ASKS
@pytest.mark.parametrize("reply", [
    over_quota(), failure(503, "busy", "UNAVAILABLE"),
    failure(403, "used up", "RESOURCE_EXHAUSTED")])
def test_an_account_over_its_limit_gives_way_to_the_next(
        ask, reply, tmp_path):
    sign_in(tmp_path, ".gemini-2", token="canary-second")
    sign_in(tmp_path)
    with signed_in(tmp_path, [reply, "from the second"], tokens=[
            "canary-access", "canary-second"]) as (provider, fake):
        assert ask(provider).text == "from the second"

    assert [r.headers["authorization"] for r in fake.chats] == [
        "Bearer canary-access", "Bearer canary-second"]
    assert paths(fake).count("v1internal:loadCodeAssist") == 2


def test_requests_at_once_give_way_together(tmp_path):
    sign_in(tmp_path)
    sign_in(tmp_path, ".gemini-2", token="canary-fresh")
    with signed_in(tmp_path, ["fine"], spent=["canary-access"]) as (
            provider, fake):
        async def go():
            return await asyncio.gather(*(
                provider.chat(HELLO, "m", 0.5) for _ in range(4)))
        assert [r.text for r in run(provider, go())] == ["fine"] * 4

    assert [r.headers["authorization"] for r in fake.chats].count(
        "Bearer canary-fresh") == 4


@ASKS
def test_it_gives_way_once(ask, tmp_path):
    sign_in(tmp_path)
    sign_in(tmp_path, ".gemini-2", token="canary-fresh")
    with signed_in(tmp_path, [over_quota()]) as (provider, fake), \
            pytest.raises(RateLimitedError) as caught:
        ask(provider)

    assert len(fake.chats) == 2
    assert caught.value.retry_after_s == 31.0


@ASKS
@pytest.mark.parametrize(("token", "replies"), [
    ("canary-access", [over_quota(), "fine"]), ("canary-stale", ["fine"])])
def test_the_only_account_is_refreshed_instead(ask, token, replies, tmp_path):
    sign_in(tmp_path, token=token)
    with signed_in(tmp_path, replies, env=CLIENT,
                   grants={"canary-refresh-.gemini": FRESH}) as (
            provider, fake):
        assert ask(provider).text == "fine"

    assert fake.chats[-1].headers["authorization"] == "Bearer canary-fresh"
    assert paths(fake).count("token") == 1


def test_a_next_account_that_is_no_use_leaves_the_first(tmp_path):
    sign_in(tmp_path)
    sign_in(tmp_path, ".gemini-2").write_text("{")
    with signed_in(tmp_path, [over_quota(), "fine"]) as (provider, fake):
        async def go():
            with pytest.raises(RateLimitedError):
                await provider.chat(HELLO, "m", 0.5)
            return await provider.chat(HELLO, "m", 0.5)
        assert run(provider, go()).text == "fine"

    assert len(fake.chats) == 2


def test_other_failures_do_not_change_the_account(tmp_path):
    sign_in(tmp_path)
    sign_in(tmp_path, ".gemini-2", token="canary-fresh")
    with signed_in(tmp_path, [failure(400, "nonsense")]) as (
            provider, fake), pytest.raises(RequestRefusedError):
        chat(provider)

    assert len(fake.chats) == 1


def test_the_internal_address_may_not_know_generation_config(tmp_path):
    sign_in(tmp_path)
    with signed_in(tmp_path, [unknown_field("generationConfig"), "fine"]
                   ) as (provider, fake):
        assert chat(provider).text == "fine"

    assert [("generationConfig" in r.body) for r in fake.chats] == [
        True, False]


# where a sign-in comes from

def test_a_key_is_taken_before_any_sign_in(tmp_path):
    sign_in(tmp_path)
    there = Connection(ROW, env={"HOME": str(tmp_path)})

    assert find_login(there) is not None
    assert find_login(replace(there, key="k")) is None


def test_a_gateway_is_not_passed_over_for_a_sign_in(tmp_path):
    sign_in(tmp_path)
    away = Connection(replace(ROW, url="https://gateway.example"),
                      env={"HOME": str(tmp_path)})
    provider = GeminiProvider.build(away)

    with pytest.raises(AuthError, match="API key not set"):
        chat(provider)


@pytest.mark.parametrize("env", [{}, {"HOME": ""}, {"HOME": "/nowhere"}])
@ASKS
def test_neither_key_nor_sign_in_says_what_to_do(ask, env):
    provider = GeminiProvider.build(Connection(ROW, env=env))

    with pytest.raises(AuthError, match="API key not set") as caught:
        ask(provider)
    assert "GEMINI_API_KEY" in caught.value.hint
    assert "config set model_providers.gemini.api_key" in caught.value.hint


def test_the_first_folder_comes_first(tmp_path):
    for name in (".gemini-b", ".gemini", ".gemini-a", ".other"):
        sign_in(tmp_path, name)

    assert [p.parent.name for p in login_files(tmp_path)] == [
        ".gemini", ".gemini-a", ".gemini-b"]


def test_a_sign_in_warms_up_and_has_no_list(tmp_path):
    sign_in(tmp_path)
    with signed_in(tmp_path) as (provider, fake):
        async def go():
            await provider.warmup()
            return await provider.models()
        assert run(provider, go()) == []

    assert paths(fake) == ["v1internal:loadCodeAssist"]


def test_a_stream_by_sign_in_that_ends_early_is_an_error_too(tmp_path):
    sign_in(tmp_path)
    with signed_in(tmp_path, [endless()]) as (provider, _), pytest.raises(
            UnavailableError, match="ended before"):
        streamed(provider)
