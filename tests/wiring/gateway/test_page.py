"""The page over HTTP: its files, signing in, and what it reads."""

import asyncio
import json
import re
import time
from html import unescape
from importlib.resources import files

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.gateway.page.words import list_words
from claw.storage.ledger_tables import TABLES, VERSION, local_day
from claw.storage.sqlite import connect, make_tables
from claw.wiring.memory import open_backend
from tests.wiring.gateway.page_scene import (
    PAGE,
    serving,
    signed_in,
    write_config,
)

STATIC = files("claw.gateway.page") / "static"
QUESTIONS = ("status", "queue", "spending", "memory", "conflicts")
ACTIONS = ("doctor",)


def run(scene, home, act, **settings):
    async def go():
        async with scene(home, **settings) as browser:
            return await act(browser)
    return asyncio.run(go())


# -- the files

def test_the_page_lets_nothing_in_from_outside(tmp_path):
    async def act(browser):
        return [await browser.get(path) for path in
                ("/", "/page/app.js", "/page/style.css", "/page/icon.svg")]

    for answer in run(serving, tmp_path, act):
        policy = answer.headers["content-security-policy"]
        assert answer.status_code == 200
        assert policy.startswith("default-src 'none'; script-src 'self'; ")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_no_script_no_style_and_no_address_stands_in_the_html():
    html = (STATIC / "index.html").read_text("utf-8")

    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|style=",
                         html)
    for path in STATIC.iterdir():
        text = path.read_text("utf-8").replace(
            "http://www.w3.org/2000/svg", "")
        assert "://" not in text, path.name
        assert not re.search(r"innerHTML|insertAdjacent|document\.write|"
                             r"\beval\b", text), path.name


def test_each_word_of_the_script_is_in_the_table():
    text = "".join(path.read_text("utf-8") for path in STATIC.iterdir())

    assert set(re.findall(r'\bt\(\s*"(\w+)"', text)) <= set(list_words())


def test_the_words_go_to_the_script_whole(tmp_path):
    async def act(browser):
        return await browser.get("/")

    html = run(serving, tmp_path, act).text
    found = re.search(r'data-words="([^"]*)"', html)

    assert json.loads(unescape(found[1])) == list_words()


def test_a_file_that_did_not_change_is_not_sent_again(tmp_path):
    async def act(browser):
        first = await browser.get("/page/app.js")
        return await browser.get("/page/app.js", headers={
            "If-None-Match": first.headers["etag"]})

    again = run(serving, tmp_path, act)

    assert (again.status_code, again.content) == (304, b"")


# -- signing in

def test_a_key_of_the_owners_becomes_a_cookie_no_script_can_read(tmp_path):
    async def act(browser):
        token = browser.keys.add("me", "owner")
        made = await browser.post("/page/login", json={"token": token},
                                  headers=PAGE)
        return token, made, (await browser.get("/page/session")).json()

    token, made, session = run(serving, tmp_path, act)
    cookie = made.headers["set-cookie"]

    assert made.json() == {"name": "me"}
    assert cookie.startswith(f"claw_key_42617={token}; HttpOnly; ")
    assert "SameSite=strict" in cookie
    assert "Path=/page;" in cookie
    assert "Secure" not in cookie
    assert token not in made.text
    assert session == {"signed_in": True}


def test_behind_https_the_cookie_never_goes_out_in_the_clear(tmp_path):
    async def act(browser):
        return await browser.post(
            "/page/login", json={"token": browser.keys.add("me", "owner")},
            headers={**PAGE, "Host": "claw.example.org",
                     "X-Forwarded-Proto": "https"})

    made = run(serving, tmp_path, act,
               public_url="https://claw.example.org")

    assert made.status_code == 200
    assert "; Secure" in made.headers["set-cookie"]


def test_a_code_of_the_terminal_signs_one_browser_in(tmp_path):
    async def act(browser):
        code = browser.keys.add_code(8, 60, 3, "browser", "owner")
        paired = await browser.post("/pair",
                                    headers={"X-Pairing-Code": code})
        browser.headers.update(PAGE)
        await browser.post("/page/login",
                           json={"token": paired.json()["token"]})
        return await browser.get("/page/api/status"), await browser.post(
            "/pair", headers={"X-Pairing-Code": code})

    status, again = run(serving, tmp_path, act)

    assert status.status_code == 200
    assert again.status_code == 403


@pytest.mark.parametrize(("sees", "status"), [
    (None, 403), ("telegram:7", 403), ("owner", 200)])
def test_only_a_key_that_sees_what_the_owner_sees_signs_in(
        tmp_path, sees, status):
    async def act(browser):
        token = browser.keys.add("k", sees)
        made = await browser.post("/page/login", json={"token": token},
                                  headers=PAGE)
        asked = await browser.get("/page/api/status", headers={
            **PAGE, "Authorization": f"Bearer {token}"})
        return made, asked

    made, asked = run(serving, tmp_path, act)

    assert made.status_code == status
    assert asked.status_code == status
    assert ("set-cookie" in made.headers) is (status == 200)


@pytest.mark.parametrize("token", [
    "", "zc_" + "0" * 64, "x" * 600, 7, None, ["a"], {"a": 1}, "\ud800"])
def test_what_is_no_key_is_refused_and_sets_no_cookie(tmp_path, token):
    async def act(browser):
        return await browser.post("/page/login", headers=PAGE,
                                  content=json.dumps({"token": token}))

    refused = run(serving, tmp_path, act)

    assert refused.status_code == 403
    assert "set-cookie" not in refused.headers


def test_a_revoked_key_ends_the_session_at_once(tmp_path):
    async def act(browser):
        before = await browser.get("/page/api/status")
        browser.keys.revoke("test")
        return before, await browser.get("/page/api/status")

    before, after = run(signed_in, tmp_path, act)

    assert (before.status_code, after.status_code) == (200, 401)


def test_signing_out_takes_the_cookie_away(tmp_path):
    async def act(browser):
        await browser.post("/page/logout")
        return await browser.get("/page/session")

    assert run(signed_in, tmp_path, act).json() == {"signed_in": False}


def test_guesses_of_keys_are_counted(tmp_path):
    async def act(browser):
        return [(await browser.post("/page/login", json={"token": "zc_x"},
                                    headers=PAGE)).status_code
                for _ in range(4)]

    found = run(serving, tmp_path, act, pair_rate_limit_per_minute=3)

    assert found == [403, 403, 403, 429]


# -- who may ask

@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_wants_the_key_and_the_header(tmp_path, name):
    path = f"/page/api/{name}"

    async def act(browser):
        good = await browser.get(path)
        del browser.headers["X-Claw-Page"]
        bare = await browser.get(path)
        browser.cookies.clear()
        stranger = await browser.get(path, headers=PAGE)
        return good, bare, stranger

    good, bare, stranger = run(signed_in, tmp_path, act)

    assert [one.status_code for one in (good, bare, stranger)] \
        == [200, 403, 401]
    assert good.headers["cache-control"] == "no-store"
    assert good.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.parametrize(("headers", "status"), [
    ({"X-Claw-Page": ""}, 403),
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "http://localhost:1"}, 403),
    ({"Origin": "null"}, 403),
    ({"Cookie": ""}, 401),
    ({}, 200),
])
def test_an_action_comes_from_the_page_or_not_at_all(
        tmp_path, name, headers, status):
    async def act(browser):
        return await browser.post(f"/page/api/{name}", json={},
                                  headers=headers)

    assert run(signed_in, tmp_path, act).status_code == status


@pytest.mark.parametrize("body", ["", "[]", "7", "{", '"a"'])
def test_an_action_takes_an_object(tmp_path, body):
    async def act(browser):
        return await browser.post("/page/api/doctor", content=body)

    assert run(signed_in, tmp_path, act).status_code == 400


# -- what it reads

def test_the_status_is_that_of_the_terminal(tmp_path):
    write_config(tmp_path, "[channels_config.telegram]\nbot_token = '1:x'\n"
                           "allowed_users = ['me']\n")

    async def act(browser):
        return (await browser.get("/page/api/status")).json()

    found = run(signed_in, tmp_path, act)
    [channel] = [one for one in found["checks"]
                 if one["group"] == "channels"]

    assert not found["ok"]
    assert found["channels"][0]["name"] == "telegram"
    assert channel["detail"] == "set up; nothing is received"
    assert any(one["hint"] == "claw listen" for one in found["checks"])


def test_no_secret_of_the_settings_reaches_the_page(tmp_path):
    secret = "12345678:AAcanary-canary-canary"
    write_config(tmp_path, "[channels_config.telegram]\n"
                           f"bot_token = '{secret}'\n")
    with open_backend(load(locate(str(tmp_path)))) as memory:
        memory.store("token", f"The token is {secret}, keep it")

    async def act(browser):
        return [(await browser.get(f"/page/api/{name}")).text
                for name in QUESTIONS]

    shown = "".join(run(signed_in, tmp_path, act))

    assert "The token is " in shown
    assert "AAcanary" not in shown


def test_spending_is_by_day_and_model(tmp_path):
    path = tmp_path / "workspace" / "state" / "ledger.db"
    path.parent.mkdir(parents=True)
    database = connect(path)
    make_tables(database, path, TABLES, VERSION)
    today, long_ago = local_day(time.time()), "2020-01-01"
    for day, model, cost in ((today, "small", 0.5), (today, "large", 2.0),
                             (long_ago, "small", 9.0)):
        database.execute(
            "INSERT INTO sums (day, origin, provider, model, calls, failed, "
            "unpriced, estimated, input_tokens, output_tokens, "
            "cached_tokens, cache_write_tokens, cost_usd) VALUES "
            "(?, 'agent', 'p', ?, 2, 0, 0, 0, 10, 5, 0, 0, ?)",
            (day, model, cost))
    database.commit()
    database.close()

    async def act(browser):
        return (await browser.get("/page/api/spending?days=7")).json()

    found = run(signed_in, tmp_path, act)

    assert found["rows"] == [
        {"day": today, "model": model, "calls": 2, "tokens": 15,
         "cost_usd": cost} for model, cost in (("large", 2.0),
                                               ("small", 0.5))]
    assert found["until"] == today
    assert found["spent"]["today_usd"] == 2.5


@pytest.mark.parametrize("days", ["0", "-1", "367", "x", "²", "1e9", "99999"])
def test_days_that_are_none_are_refused(tmp_path, days):
    async def act(browser):
        return await browser.get("/page/api/spending",
                                 params={"days": days})

    refused = run(signed_in, tmp_path, act)

    assert refused.status_code == 400
    assert "days" in refused.json()["error"]


def test_the_page_works_below_a_prefix(tmp_path):
    async def act(browser):
        token = browser.keys.add("me", "owner")
        made = await browser.post("/claw/page/login", headers=PAGE,
                                  json={"token": token})
        return made, await browser.get("/claw/"), await browser.get(
            "/claw/page/api/status", headers=PAGE)

    made, page, status = run(serving, tmp_path, act, path_prefix="/claw")

    assert "Path=/claw/page;" in made.headers["set-cookie"]
    assert 'src="page/app.js"' in page.text
    assert status.status_code == 200


def test_the_cookie_opens_nothing_but_the_page(tmp_path):
    async def act(browser):
        [cookie] = browser.cookies.jar
        return await browser.get("/metrics", headers={
            "Cookie": f"{cookie.name}={cookie.value}",
            "X-Forwarded-For": "192.0.2.1"})

    assert run(signed_in, tmp_path, act).status_code == 401
