"""The fake's previews of answers, and what a phone shows."""

import httpx
import pytest

from claw.testing.fake_telegram import FakeTelegram


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def platform(clock):
    with FakeTelegram(clock=clock) as server:
        server.add_chat(-5)
        yield server
    assert server.problems == []


@pytest.fixture
def api(platform):
    """api(method, **parameters): the parsed answer."""
    with httpx.Client(timeout=10) as client:
        yield lambda method, **params: client.post(
            f"{platform.url}/bot{platform.token}/{method}",
            json=params).json()


def draft(api, text="hi", chat_id=1001, **params):
    return api("sendMessageDraft", chat_id=chat_id, text=text,
               **{"draft_id": 7, **params})


def texts(platform):
    return [shown.text for shown in platform.drafts(1001)]


@pytest.mark.parametrize(("params", "text"), [
    ({"chat_id": -5}, "private"), ({"chat_id": 9}, "chat not found"),
    ({"draft_id": 0}, "non-zero"), ({"draft_id": None}, "non-zero"),
    ({"draft_id": "x"}, "invalid draft_id"),
    ({"text": "🦀" * 2049}, "too long"),
    ({"message_thread_id": 4}, "thread not found")])
def test_what_telegram_has_no_preview_of(platform, api, params, text):
    answer = draft(api, **params)

    assert (answer["ok"], answer["error_code"]) == (False, 400)
    assert text in answer["description"]
    assert platform.drafts() == []


def test_a_preview_changes_under_its_id_and_lives_30_seconds(platform, api,
                                                             clock):
    assert draft(api, "")["result"] is True
    assert texts(platform) == ["Thinking…"]
    clock.now = 20.0
    draft(api, "🦀" * 2048)
    draft(api, "other", draft_id=8)
    clock.now = 49.9
    assert texts(platform) == ["🦀" * 2048, "other"]
    clock.now = 50.0
    assert texts(platform) == []
    assert platform.messages() == []


def test_a_message_to_the_chat_ends_its_previews(platform, api):
    draft(api)
    platform.post("from a person")
    api("sendMessage", chat_id=-5, text="elsewhere")
    assert texts(platform) == ["hi"]
    api("sendMessage", chat_id=1001, text="the answer")
    assert texts(platform) == []


def test_a_phone_shows_what_a_message_came_with(platform, api):
    quiet = api("sendMessage", chat_id=1001, text="quiet",
                disable_notification=True)
    loud = api("sendMessage", chat_id=1001, text="loud")
    for message in (quiet, loud):
        api("editMessageText", chat_id=1001, text="edited",
            message_id=message["result"]["message_id"])
    draft(api)

    assert platform.notifications(1001) == ["loud"]
