"""The fake Bot API, seen by a stranger's client."""

import asyncio
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime

import httpx
import pytest

from claw.testing.bot_api_spec import check
from claw.testing.fake_telegram import FakeTelegram

BOLD = {"type": "bold", "offset": 0, "length": 2}


@pytest.fixture
def platform():
    with FakeTelegram() as server:
        yield server
    assert server.problems == []


@pytest.fixture
def client():
    with httpx.Client(timeout=10) as found:
        yield found


@pytest.fixture
def api(platform, client):
    """api(method, **parameters): the parsed answer of a JSON call."""
    def call(method, **params):
        return client.post(f"{platform.url}/bot{platform.token}/{method}",
                           json=params).json()
    return call


def refused(answer, text, code=400):
    assert (answer["ok"], answer["error_code"]) == (False, code)
    assert text in answer["description"]
    return True


def ids(answer):
    return [update["update_id"] for update in answer["result"]]


def test_get_me_introduces_the_bot(platform, api):
    me = api("getMe")["result"]

    assert (me["username"], me["is_bot"]) == ("claw_test_bot", True)
    assert str(me["id"]) == platform.token.partition(":")[0]


@pytest.mark.parametrize("send", [
    lambda c, u: c.get(u, params={"chat_id": 1001, "text": "안녕 👋"}),
    lambda c, u: c.post(u, json={"chat_id": 1001, "text": "안녕 👋"}),
    lambda c, u: c.post(u, data={"chat_id": "1001", "text": "안녕 👋"}),
    lambda c, u: c.post(u, data={"chat_id": "1001", "text": "안녕 👋"},
                        files={"unused": b"1"}),
    lambda c, u: c.post(u, content=iter([b'{"chat_id": 1001, "text":',
                                         '"안녕 👋"}'.encode()]),
                        headers={"Content-Type": "application/json"}),
], ids=["query", "json", "form", "multipart", "chunked"])
def test_a_call_may_come_in_any_form(platform, client, send):
    answer = send(client,
                  f"{platform.url}/bot{platform.token}/sendMessage").json()

    message = answer["result"]
    assert (message["text"], message["chat"]["id"]) == ("안녕 👋", 1001)
    assert message["from"] == platform.bot
    assert abs(message["date"] - time.time()) < 60
    (sent,) = platform.messages()
    assert (sent.message_id, sent.text, sent.method) == (
        message["message_id"], "안녕 👋", "sendMessage")
    assert platform.calls[0].method == "sendMessage"


def test_method_names_ignore_case_and_message_ids_grow(api):
    first = api("sendmessage", chat_id=1001, text="a")["result"]
    second = api("SENDMESSAGE", chat_id=1001, text="b")["result"]

    assert second["message_id"] > first["message_id"]


@pytest.mark.parametrize(("path", "code", "text"), [
    ("/bot{token}/nope", 404, "Not Found"),
    ("/bot1:wrong/getMe", 401, "Unauthorized"),
    ("/", 404, "Not Found"),
    ("/file/bot1:wrong/x", 401, "Unauthorized"),
    ("/file/bot{token}/x", 404, "Not Found"),
])
def test_wrong_addresses_are_refused(platform, client, path, code, text):
    found = client.get(platform.url + path.format(token=platform.token))

    assert found.status_code == code
    refused(found.json(), text, code)


@pytest.mark.parametrize(("params", "text"), [
    ({"text": ""}, "message text is empty"),
    ({"text": " \n\t\u200b "}, "message text is empty"),
    ({"text": "x" * 4097}, "message is too long"),
    ({"text": "👋" * 2049}, "message is too long"),
    ({"text": "hi", "chat_id": 77}, "chat not found"),
    ({"text": "hi", "chat_id": "@nobody"}, "chat not found"),
    ({"text": "hi", "chat_id": None}, "chat_id is empty"),
    ({"text": "lone \ud83d"}, "strings must be encoded in UTF-8"),
    ({"text": "hi", "reply_parameters": {"message_id": 9}},
     "message to be replied not found"),
    ({"text": "hi", "message_thread_id": 5}, "message thread not found"),
    ({"text": "<b>x", "parse_mode": "HTML"},
     "can't parse entities: Can't find end tag"),
    ({"text": "<x>", "parse_mode": "HTML"},
     "can't parse entities: Unsupported start tag \"x\" at byte offset 0"),
    ({"text": "</b>", "parse_mode": "HTML"}, "Unexpected end tag"),
    ({"text": "<b>y</i>", "parse_mode": "HTML"}, "expected \"</b>\""),
    ({"text": "hi", "parse_mode": "Word"}, "unsupported parse_mode"),
    ({"text": "hi", "entities": [{**BOLD, "length": 3}]},
     "ends after the end of the text at UTF-16 offset 3"),
    ({"text": "hi", "entities": [{**BOLD, "offset": 5}]},
     "begins after the end of the text"),
    ({"text": "👋👋", "entities": [{**BOLD, "offset": 1}]},
     "begins in a middle of a UTF-16 symbol"),
    ({"text": "👋👋", "entities": [{**BOLD, "length": 3}]},
     "ends in a middle of a UTF-16 symbol"),
    ({"text": "hi", "entities": [{**BOLD, "offset": -1}]},
     "incorrect offset"),
    ({"text": "hi", "entities": [{"type": "shiny", "offset": 0,
                                  "length": 1}]}, "Unsupported type"),
    ({"text": "hi", "entities": [{"type": "bold", "offset": "0",
                                  "length": 1}]}, "must be of type Number"),
    ({"text": "hi", "entities": "[{"}, "can't parse entities"),
    ({"text": "hi", "reply_markup": {"inline_keyboard": [[
        {"text": "x", "callback_data": "é" * 33}]]}}, "BUTTON_DATA_INVALID"),
    ({"text": "hi", "reply_markup": {"inline_keyboard": [[{"text": "x"}]]}},
     "Text buttons are unallowed"),
])
def test_a_message_that_telegram_refuses(platform, client, params, text):
    body = json.dumps({"chat_id": 1001, **params})
    found = client.post(
        f"{platform.url}/bot{platform.token}/sendMessage", content=body,
        headers={"Content-Type": "application/json"})

    assert found.status_code == 400
    assert refused(found.json(), text)
    assert found.json()["description"].startswith("Bad Request: ")
    assert platform.messages() == []


def test_a_body_that_is_no_json_or_no_utf8_is_refused(platform, client):
    url = f"{platform.url}/bot{platform.token}/sendMessage"
    for raw in (b"{", b"[]", b'{"text": "\xff"}'):
        found = client.post(url, content=raw, headers={
            "Content-Type": "application/json"})
        refused(found.json(), "Bad Request")


@pytest.mark.parametrize(("text", "seen"), [
    ("  two\n ", "two"),
    ("a\tb\x00c\r\nd", "a b c\nd"),
    ("x" * 4096, "x" * 4096),
    ("👋" * 2048, "👋" * 2048),
    ("evil \u202e order", "evil  order"),
])
def test_a_text_is_shown_as_telegram_shows_it(platform, api, text, seen):
    assert api("sendMessage", chat_id=1001, text=text)["result"]["text"] \
        == seen
    assert platform.answers() == [seen]


def test_entities_move_with_the_text(platform, api):
    text = "\r 👋\r bold"
    sent = api("sendMessage", chat_id=1001, text=text, entities=[
        {"type": "bold", "offset": 6, "length": 4}])["result"]

    assert sent["text"] == "👋 bold"
    assert sent["entities"] == [{"type": "bold", "offset": 3, "length": 4}]


def test_html_becomes_text_and_entities(api):
    markup = ('<b>bo<i>th</i></b> &lt;&amp;&#128075; '
              '<a href="https://e.org/?a=1&amp;b=2">x</a>'
              '<pre><code class="language-py">1</code></pre>')
    sent = api("sendMessage", chat_id=1001, text=markup,
               parse_mode="HTML")["result"]

    assert sent["text"] == "both <&👋 x1"
    assert sent["entities"] == [
        {"type": "bold", "offset": 0, "length": 4},
        {"type": "italic", "offset": 2, "length": 2},
        {"type": "text_link", "offset": 10, "length": 1,
         "url": "https://e.org/?a=1&b=2"},
        {"type": "pre", "offset": 11, "length": 1, "language": "py"}]


def test_an_edit_changes_the_message_in_place(platform, api):
    keyboard = {"inline_keyboard": [[{"text": "Yes",
                                      "callback_data": "y"}]]}
    first = api("sendMessage", chat_id=1001, text="…",
                reply_markup=keyboard)["result"]
    number = first["message_id"]
    assert platform.answers() == ["…"]

    edited = api("editMessageText", chat_id=1001, message_id=number,
                 text="done", entities=[BOLD])["result"]

    assert (edited["message_id"], edited["text"]) == (number, "done")
    assert "reply_markup" not in edited
    (sent,) = platform.messages()
    assert (sent.text, sent.edits, sent.history) == ("done", 1,
                                                     ("…", "done"))
    assert sent.entities == (BOLD,)
    assert sent.reply_markup is None
    assert platform.answers() == ["done"]


def test_edits_that_telegram_refuses(platform, api):
    platform.post("mine")
    mine = max(number for _, number in platform._world.messages)
    number = api("sendMessage", chat_id=1001, text="x")["result"][
        "message_id"]
    where = {"chat_id": 1001, "message_id": number}

    refused(api("editMessageText", **where, text="x"),
            "message is not modified: ")
    refused(api("editMessageText", **where, text=" x "), "not modified")
    refused(api("editMessageText", **where, text=""), "text is empty")
    refused(api("editMessageText", **where, text="y" * 4097),
            "MESSAGE_TOO_LONG")
    refused(api("editMessageText", chat_id=1001, message_id=99, text="y"),
            "message to edit not found")
    refused(api("editMessageText", chat_id=1001, message_id=mine, text="y"),
            "message can't be edited")
    refused(api("editMessageText", chat_id=1001, text="y"),
            "message identifier is not specified")
    assert platform.answers() == ["x"]


def test_a_deleted_message_is_gone(platform, api):
    number = api("sendMessage", chat_id=1001, text="x")["result"][
        "message_id"]
    where = {"chat_id": 1001, "message_id": number}

    assert api("deleteMessage", **where)["result"] is True
    refused(api("deleteMessage", **where), "message to delete not found")
    refused(api("editMessageText", **where, text="y"), "to edit not found")
    assert platform.answers() == []
    assert platform.messages()[0].deleted


def test_a_keyboard_can_be_taken_away_and_pressed(platform, api):
    keyboard = {"inline_keyboard": [[{"text": "Yes",
                                      "callback_data": "y"}]]}
    number = api("sendMessage", chat_id=1001, text="sure?",
                 reply_markup=keyboard)["result"]["message_id"]
    platform.press(number, "y", username="bob")

    (update,) = api("getUpdates")["result"]
    query = update["callback_query"]
    assert (query["data"], query["from"]["username"]) == ("y", "bob")
    assert query["message"]["message_id"] == number
    assert api("answerCallbackQuery", callback_query_id=query["id"],
               text="ok")["result"] is True
    refused(api("answerCallbackQuery", callback_query_id="1"),
            "query is too old")
    assert platform.answered_queries[0]["text"] == "ok"

    where = {"chat_id": 1001, "message_id": number}
    api("editMessageReplyMarkup", **where)
    assert platform.messages()[0].reply_markup is None
    refused(api("editMessageReplyMarkup", **where), "not modified")


def test_replies_and_topics(platform, api):
    platform.post("in a topic", chat_id=-1001, message_thread_id=7,
                  is_topic_message=True)
    asked = api("getUpdates")["result"][0]["message"]
    assert asked["chat"]["type"] == "group"

    sent = api("sendMessage", chat_id=-1001, text="yes",
               message_thread_id=7, reply_parameters={
                   "message_id": asked["message_id"]})["result"]

    assert sent["reply_to_message"]["text"] == "in a topic"
    assert sent["message_thread_id"] == 7
    found = platform.messages(-1001)[0]
    assert (found.thread_id, found.reply_to) == (7, asked["message_id"])
    assert platform.messages(1001) == []
    lenient = api("sendMessage", chat_id=1001, text="hm", reply_parameters={
        "message_id": 99, "allow_sending_without_reply": True})
    assert lenient["ok"]


@pytest.mark.parametrize(("emoji", "fine"), [
    ("👀", True), ("👍", True), ("✅", False), ("⚠️", False), ("x", False)])
def test_only_telegrams_own_emoji_can_be_reactions(platform, api, emoji,
                                                   fine):
    platform.post("hello")
    number = api("getUpdates")["result"][0]["message"]["message_id"]
    answer = api("setMessageReaction", chat_id=1001, message_id=number,
                 reaction=[{"type": "emoji", "emoji": emoji}])

    assert answer["ok"] is fine
    assert platform.reactions(number) == ([emoji] if fine else [])
    if not fine:
        refused(answer, "REACTION_INVALID")
    api("setMessageReaction", chat_id=1001, message_id=number, reaction=[])
    assert platform.reactions(number) == []
    refused(api("setMessageReaction", chat_id=1001, message_id=99,
                reaction=[]), "message to react not found")


def test_small_calls(platform, api):
    assert api("sendChatAction", chat_id=1001, action="typing")["result"]
    refused(api("sendChatAction", chat_id=1001, action="dance"),
            "wrong parameter action")
    assert api("getChat", chat_id=1001)["result"]["type"] == "private"
    commands = [{"command": "new", "description": "Start over"}]
    assert api("setMyCommands", commands=commands)["result"] is True
    assert platform.commands == commands
    refused(api("setMyCommands", commands=[{"command": "new"}]),
            "description must be non-empty")


@pytest.mark.parametrize(("method", "name"), [
    ("sendPhoto", "photo"), ("sendDocument", "document"),
    ("sendVideo", "video"), ("sendAudio", "audio"), ("sendVoice", "voice")])
def test_a_file_is_uploaded_found_and_sent_again(platform, client, api,
                                                 method, name):
    data = b"\x00\r\n--x\r\n" + bytes(range(256)) * 40
    url = f"{platform.url}/bot{platform.token}/{method}"
    answer = client.post(url, data={"chat_id": 1001, "caption": "see"},
                         files={name: ("ä \"q\".bin", data, "x/y")}).json()

    message = answer["result"]
    file = message[name][-1] if name == "photo" else message[name]
    assert (message["caption"], file["file_size"]) == ("see", len(data))
    assert platform.file(file["file_id"]) == data
    place = api("getFile", file_id=file["file_id"])["result"]["file_path"]
    found = client.get(f"{platform.url}/file/bot{platform.token}/{place}")
    assert found.content == data
    assert api(method, chat_id=1001, **{name: file["file_id"]})["ok"]
    assert api(method, chat_id=1001, **{name: "https://e.org/a.png"})["ok"]
    refused(api(method, chat_id=1001, **{name: "no-such-id"}),
            "wrong file identifier/HTTP URL specified")
    refused(api(method, chat_id=1001), f"there is no {name} in the request")
    refused(api(method, chat_id=1001, **{name: file["file_id"]},
                caption="x" * 1025), "caption is too long")
    assert [s.method for s in platform.messages()] == [method] * 3


def test_a_posted_file_can_be_fetched(platform, client, api):
    file_id = platform.add_file(b"voice", "voice/note.oga")
    platform.post(None, voice={"file_id": file_id, "duration": 2})

    message = api("getUpdates")["result"][0]["message"]
    assert "text" not in message
    place = api("getFile", file_id=message["voice"]["file_id"])["result"]
    url = f"{platform.url}/file/bot{platform.token}/{place['file_path']}"
    assert client.get(url).content == b"voice"
    assert place["file_path"].endswith(".oga")
    refused(api("getFile", file_id="nope"), "wrong file_id")


def test_a_long_poll_waits_and_returns_with_the_first_update(platform, api):
    timer = threading.Timer(0.15, platform.post, ["hello"])
    begun = time.monotonic()
    timer.start()
    answer = api("getUpdates", timeout=5)
    took = time.monotonic() - begun
    timer.join()

    assert 0.1 < took < 4.5
    message = answer["result"][0]["message"]
    assert (message["text"], message["from"]["username"]) == ("hello",
                                                              "alice")
    begun = time.monotonic()
    assert api("getUpdates", timeout=1,
               offset=ids(answer)[0] + 1)["result"] == []
    assert 0.9 < time.monotonic() - begun < 20


def test_an_offset_acknowledges_and_nothing_else_does(platform, api):
    first, second, third = (platform.post(t) for t in "abc")

    assert ids(api("getUpdates", limit=2)) == [first, second]
    assert ids(api("getUpdates")) == [first, second, third]
    assert ids(api("getUpdates", offset=second)) == [second, third]
    assert platform.pending() == 2
    assert ids(api("getUpdates")) == [second, third]
    assert ids(api("getUpdates", offset=-1)) == [third]
    assert ids(api("getUpdates", offset=third + 1)) == []
    assert platform.pending() == 0


def test_allowed_updates_are_remembered(platform, api):
    api("getUpdates", allowed_updates=["message"])
    number = api("sendMessage", chat_id=1001, text="x")["result"][
        "message_id"]
    dropped = platform.press(number, "y")
    kept = platform.post("hello")

    assert ids(api("getUpdates")) == [kept]
    assert platform.dropped == [dropped]
    api("getUpdates", offset=kept + 1, allowed_updates="[]")
    assert ids(api("getUpdates")) == []
    pressed = platform.press(number, "y")
    assert ids(api("getUpdates")) == [pressed]


def test_the_older_of_two_polls_is_ended(platform, api):
    with ThreadPoolExecutor(2) as pool:
        older = pool.submit(api, "getUpdates", timeout=5)
        platform.wait_until(
            lambda: len(platform.list_calls("getUpdates")) == 1)
        newer = pool.submit(api, "getUpdates", timeout=5)
        refused(older.result(), "Conflict: terminated by other getUpdates "
                "request; make sure that only one bot instance is running",
                409)
        platform.post("hello")

        assert newer.result()["ok"]


def test_a_webhook_and_a_poll_exclude_each_other(platform, api):
    with ThreadPoolExecutor(1) as pool:
        poll = pool.submit(api, "getUpdates", timeout=5)
        platform.wait_until(lambda: platform.list_calls("getUpdates"))
        refused(api("setWebhook", url="http://plain.example"), "HTTPS URL")
        assert api("setWebhook", url="https://e.org/hook")["result"] is True
        refused(poll.result(), "terminated by setWebhook request", 409)
    platform.post("hello")

    refused(api("getUpdates"), "can't use getUpdates method while webhook "
            "is active; use deleteWebhook to delete the webhook first", 409)
    info = api("getWebhookInfo")["result"]
    assert (info["url"], info["pending_update_count"]) == (
        "https://e.org/hook", 1)
    api("deleteWebhook")
    assert len(ids(api("getUpdates"))) == 1
    api("deleteWebhook", drop_pending_updates=True)
    assert api("getUpdates")["result"] == []


def test_a_poll_whose_client_hung_up_takes_nothing(platform, api):
    with socket.create_connection(("127.0.0.1", platform.port)) as lost:
        lost.sendall(f"GET /bot{platform.token}/getUpdates?timeout=9 "
                     "HTTP/1.1\r\n\r\n".encode())
        platform.wait_until(lambda: platform.list_calls("getUpdates"))
    platform.wait_until(lambda: platform.connections == 0)
    kept = platform.post("hello")

    assert ids(api("getUpdates", timeout=5)) == [kept]


def test_repeated_updates_come_again_for_ever(platform, api):
    platform.repeat_updates = True
    first = platform.post("hello")

    assert ids(api("getUpdates", offset=first + 1)) == [first]
    assert ids(api("getUpdates", offset=first + 1)) == [first]
    platform.repeat_updates = False
    assert ids(api("getUpdates", offset=first + 1)) == []


def test_a_wedged_poll_is_never_answered(platform, client, api):
    url = f"{platform.url}/bot{platform.token}/getUpdates"
    with ThreadPoolExecutor(1) as pool, httpx.Client(timeout=0.6) as hasty:
        caught = pool.submit(hasty.get, url, params={"timeout": 20})
        platform.wait_until(lambda: platform.list_calls("getUpdates"))
        platform.wedge()
        platform.post("hello")
        with pytest.raises(httpx.ReadTimeout):
            client.get(url, timeout=0.2)
        assert api("getMe")["ok"]
        platform.unwedge()
        assert len(ids(api("getUpdates"))) == 1
        with pytest.raises(httpx.ReadTimeout):
            caught.result()


@pytest.mark.parametrize(("kind", "error", "done"), [
    ("reset", httpx.ReadError, 0),
    ("reset_after", httpx.ReadError, 1),
    ("half", httpx.RemoteProtocolError, 1),
    ("stall", httpx.ReadTimeout, 0),
])
def test_faults_of_the_wire(platform, kind, error, done):
    fault = platform.fault("sendMessage", kind)
    url = f"{platform.url}/bot{platform.token}/sendMessage"
    body = {"chat_id": 1001, "text": "x"}
    with httpx.Client(timeout=0.3) as client:
        assert client.get(url.replace("sendMessage", "getMe")).json()["ok"]
        with pytest.raises(error):
            client.post(url, json=body)
        assert len(platform.messages()) == done
        assert client.post(url, json=body).json()["ok"]

    assert fault.struck == 1
    assert len(platform.messages()) == done + 1
    assert len(platform.list_calls("sendMessage")) == 2


def test_faults_of_the_server(platform, client, api):
    platform.fault("getMe", "429", 2, retry_after=7)
    platform.fault("getMe", "status", status=502)
    platform.fault("*", "status", status=403)

    for _ in range(2):
        answer = api("getMe")
        refused(answer, "Too Many Requests: retry after 7", 429)
        assert answer["parameters"] == {"retry_after": 7}
    refused(api("getMe"), "Bad Gateway", 502)
    refused(api("getChat", chat_id=1001), "bot was blocked", 403)
    assert api("getMe")["ok"]
    platform.fault("getMe", "html", None)
    found = client.get(f"{platform.url}/bot{platform.token}/getMe")
    assert (found.status_code, found.headers["content-type"]) == (
        502, "text/html")
    platform.clear_faults()
    assert api("getMe")["ok"]
    with pytest.raises(ValueError, match="unknown kind of fault"):
        platform.fault("getMe", "gremlins")


def test_a_delay_and_a_latency_take_their_time(platform, api):
    platform.fault("sendMessage", "delay", delay_s=0.1)
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(api, "sendMessage", chat_id=1001, text="x")
        platform.wait_until(platform.answers)
        assert not late.done()
        assert late.result()["ok"]

    platform.latency_s = 0.1
    begun = time.monotonic()
    api("getMe")
    assert time.monotonic() - begun >= 0.09


def test_killed_connections_are_reset_and_new_ones_welcome(platform, api):
    with ThreadPoolExecutor(1) as pool:
        poll = pool.submit(api, "getUpdates", timeout=9)
        platform.wait_until(lambda: platform.list_calls("getUpdates"))
        assert platform.kill_connections() == 1
        with pytest.raises(httpx.ReadError):
            poll.result()
    platform.post("hello")

    assert len(ids(api("getUpdates"))) == 1


def test_the_platform_can_be_away_for_a_while(platform, api):
    first = platform.post("before")
    port = platform.port
    platform.down()
    with pytest.raises(httpx.ConnectError):
        api("getMe")
    second = platform.post("meanwhile")
    platform.up()

    assert platform.port == port
    assert ids(api("getUpdates")) == [first, second]


def test_waiting_ends_in_an_error_that_tells_what_arrived(platform, api):
    api("getMe")
    with pytest.raises(TimeoutError, match=r"1 calls.*getMe"):
        platform.wait_until(platform.answers, 0.05)

    async def wait():
        with pytest.raises(TimeoutError, match="getMe"):
            await platform.until(platform.answers, 0.05)
        return await platform.until(lambda: "yes")
    assert asyncio.run(wait()) == "yes"


def test_many_clients_at_once_lose_nothing(platform):
    def work(number):
        with httpx.Client() as client:
            for turn in range(25):
                client.post(
                    f"{platform.url}/bot{platform.token}/sendMessage",
                    json={"chat_id": 1001, "text": f"{number}.{turn}"})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    sent = platform.messages()

    assert sorted(s.text for s in sent) == sorted(
        f"{n}.{t}" for n in range(8) for t in range(25))
    assert [s.message_id for s in sent] == list(range(1, 201))


def test_a_head_has_no_body_and_every_answer_a_date(platform, client):
    url = f"{platform.url}/bot{platform.token}/getMe"
    found = client.head(url)

    assert (found.status_code, found.content) == (200, b"")
    there = parsedate_to_datetime(found.headers["date"]).timestamp()
    assert abs(there - time.time()) < 5
    assert client.get(url).json()["ok"]


def test_pipelined_and_broken_requests(platform):
    request = (f"GET /bot{platform.token}/getMe HTTP/1.1\r\nHost: x\r\n"
               "\r\n").encode()
    with socket.create_connection(("127.0.0.1", platform.port)) as stream:
        stream.settimeout(5)
        for byte in request:
            stream.sendall(bytes([byte]))
        stream.sendall(request + b"GET / HTTP/1.1\r\nConnection: close\r\n"
                       b"\r\n")
        found = b""
        while piece := stream.recv(65536):
            found += piece
    assert found.count(b"HTTP/1.1 200 OK") == 2
    assert found.count(b"HTTP/1.1 404 Not Found") == 1

    for raw in (b"hello\r\n\r\n", b"GET /\r\n\r\n", b"x" * 70_000,
                b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"zz\r\n"):
        with socket.create_connection(("127.0.0.1", platform.port)) as s:
            s.settimeout(5)
            s.sendall(raw)
            assert s.recv(65536).startswith(b"HTTP/1.1 4")


# A cut of the real document's form.
SPEC = {
    "methods": {
        "getUpdates": {"fields": [
            {"name": "offset", "types": ["Integer"], "required": False},
            {"name": "allowed_updates", "types": ["Array of String"],
             "required": False}]},
        "getMe": {},
        "sendPhoto": {"fields": [
            {"name": "photo", "types": ["InputFile", "String"],
             "required": True}]},
        "sendMessage": {"fields": [
            {"name": "chat_id", "types": ["Integer", "String"],
             "required": True},
            {"name": "text", "types": ["String"], "required": True},
            {"name": "entities", "types": ["Array of MessageEntity"],
             "required": False},
            {"name": "silent", "types": ["Boolean"], "required": False},
            {"name": "reaction", "types": ["Array of Reaction"],
             "required": False}]},
        "logOut": {},
    },
    "types": {
        "MessageEntity": {"fields": [
            {"name": "type", "types": ["String"], "required": True},
            {"name": "offset", "types": ["Integer"], "required": True}]},
        "Reaction": {"subtypes": ["ReactionEmoji", "ReactionPaid"]},
        "ReactionEmoji": {"fields": [
            {"name": "emoji", "types": ["String"], "required": True}]},
        "ReactionPaid": {"fields": [
            {"name": "stars", "types": ["Integer"], "required": True}]},
    },
}


@pytest.mark.parametrize(("method", "params", "problems"), [
    ("getMe", {}, []),
    ("noSuch", {}, ["noSuch: no such method"]),
    ("sendMessage", {"chat_id": "@x", "text": "x", "silent": True}, []),
    ("sendMessage", {"chat_id": 1}, ["sendMessage: text is missing"]),
    ("sendMessage", {"chat_id": 1, "text": "x", "reply": 1},
     ["sendMessage: unknown parameter reply"]),
    ("sendMessage", {"chat_id": 1.5, "text": "x"},
     ["sendMessage.chat_id is no Integer or String: 1.5"]),
    ("sendMessage", {"chat_id": True, "text": "x"},
     ["sendMessage.chat_id is no Integer or String: True"]),
    ("sendMessage", {"chat_id": 1, "text": 5},
     ["sendMessage.text is no String: 5"]),
    ("sendMessage", {"chat_id": 1, "text": "x", "silent": 1},
     ["sendMessage.silent is no Boolean: 1"]),
    ("sendMessage", {"chat_id": 1, "text": "x", "entities": "[]"},
     ["sendMessage.entities is no Array of MessageEntity: '[]'"]),
    ("sendMessage", {"chat_id": 1, "text": "x", "entities": [
        {"type": "b", "offset": "0", "size": 1}]},
     ["sendMessage.entities[0].offset is no Integer: '0'",
      "sendMessage.entities[0]: unknown parameter size"]),
    ("sendMessage", {"chat_id": 1, "text": "x", "reaction": [
        {"stars": 1}, {"emoji": "x"}]}, []),
    ("sendMessage", {"chat_id": 1, "text": "x", "reaction": [
        {"emoji": 7}]}, ["sendMessage.reaction[0].emoji is no String: 7"]),
    ("sendPhoto", {"photo": object()}, []),
    ("sendPhoto", {"photo": "id"}, []),
    ("sendPhoto", {"photo": 7}, ["sendPhoto.photo is no InputFile or "
                                 "String: 7"]),
])
def test_a_call_is_checked_against_the_specification(method, params,
                                                     problems):
    assert check(SPEC, method, params) == problems


@pytest.mark.parametrize(("params", "problems"), [
    ({"chat_id": "1", "text": "5", "silent": "true",
      "entities": '[{"type": "b", "offset": 0}]'}, []),
    ({"chat_id": "1", "text": "x", "silent": "maybe"},
     ["sendMessage.silent is no Boolean: 'maybe'"]),
    ({"chat_id": "1", "text": "x", "entities": "[{}]"},
     ["sendMessage.entities[0]: type is missing",
      "sendMessage.entities[0]: offset is missing"]),
])
def test_a_form_may_hold_texts(params, problems):
    assert check(SPEC, "sendMessage", params, form=True) == problems


def test_the_server_collects_what_breaks_the_specification(tmp_path, client):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(SPEC))
    with FakeTelegram(spec=path) as platform:
        base = f"{platform.url}/bot{platform.token}"
        client.post(f"{base}/sendPhoto", data={"photo": "attach://one"},
                    files={"one": b"x"})
        client.get(f"{base}/getUpdates", params={"offset": "1"})
        assert platform.problems == []
        client.post(f"{base}/sendMessage", json={
            "chat_id": 1001, "text": "x", "reply_to_message_id": 1})
        client.get(f"{base}/logOut")

    assert platform.problems == [
        "sendMessage: unknown parameter reply_to_message_id",
        "logOut: the fake does not know it"]


def test_a_fault_of_the_fake_itself_is_told(client):
    with FakeTelegram() as platform:
        platform._world.chats = None
        found = client.get(f"{platform.url}/bot{platform.token}/getChat",
                           params={"chat_id": 1})

    assert found.status_code == 500
    assert "the fake failed at getChat: TypeError" in platform.problems[0]


def test_private_chats_and_groups_share_a_counter_of_ids(platform, api):
    """And supergroups count by themselves, as there."""
    for chat in (1002, -5, -1001234567890):
        platform.add_chat(chat)

    numbers = [api("sendMessage", chat_id=chat, text="x")[
        "result"]["message_id"] for chat in
        (1001, 1002, -5, -1001234567890, 1001)]

    assert numbers == [1, 2, 3, 1, 4]
    with pytest.raises(KeyError, match="name the chat"):
        platform.remove(1)
    platform.remove(1, chat_id=1001)
    assert [m.deleted for m in platform.messages(-1001234567890)] == [False]


@pytest.mark.parametrize(("chat", "number", "answer"), [
    (1001, 1, "message is not modified"),
    (1001, 2, "message can't be edited"),
    (1002, 1, "message to edit not found"),
    (1001, 9, "message to edit not found"),
])
def test_whose_a_message_is_can_be_asked(platform, api, chat, number,
                                         answer):
    platform.add_chat(1002)
    api("sendMessage", chat_id=1001, text="ours")
    platform.post("a person's")

    said = api("editMessageReplyMarkup", chat_id=chat, message_id=number)

    assert (said["ok"], said["error_code"]) == (False, 400)
    assert answer in said["description"]
    assert platform.messages()[0].edits == 0


def test_a_server_can_lack_a_method(client):
    with FakeTelegram(lacks=("editMessageReplyMarkup",)) as platform:
        said = client.post(f"{platform.url}/bot{platform.token}/"
                           "editMessageReplyMarkup", json={"chat_id": 1001})
    assert said.status_code == 404
