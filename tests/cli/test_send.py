"""claw send: one message out."""

import json

import pytest

from claw.testing.fake_telegram import FakeTelegram

TOKEN = "1234567:CANARY-token-of-a-bot-that-nobody-may-see"


@pytest.fixture
def platform(home):
    with FakeTelegram(TOKEN) as fake:
        home.mkdir(mode=0o700)
        config = home / "config.toml"
        config.write_text(
            f'[channels_config.telegram]\nbot_token = "{TOKEN}"\n'
            f'api_base_url = "{fake.url}"\n')
        config.chmod(0o600)
        yield fake


def test_words_become_a_message_whose_id_is_printed(claw, platform):
    done = claw("send", "telegram:1001", "the", "backup", "is done ✅")

    assert done.code == 0
    assert platform.answers() == ["the backup is done ✅"]
    assert done.out == f"{platform.messages()[0].message_id}\n"


def test_piped_text_goes_out_and_json_tells_of_it(claw, platform):
    done = claw("send", "telegram:1001", "--json", stdin="line 1\nline 2\n")

    assert platform.answers() == ["line 1\nline 2"]
    assert done.json["state"] == "sent"
    assert done.json["message_ids"] == [
        str(platform.messages()[0].message_id)]
    assert done.json["source"].startswith("send:")


def test_files_go_along_from_wherever_they_are(claw, platform, tmp_path,
                                               home):
    for folder, text in (("a", "all is well"), ("b", "all is lost")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "report.txt").write_text(text)
    done = claw("send", "telegram:1001", "-f", "a/report.txt", "-f",
                "b/report.txt", "see here")

    assert done.code == 0
    assert "see here" in platform.answers()
    assert [platform.file(m.file_id) for m in platform.messages()
            if m.file_id] == [b"all is well", b"all is lost"]
    assert list((home / "workspace" / "outgoing").iterdir()) == []


def test_a_file_that_can_not_go_now_is_kept_until_it_does(claw, platform,
                                                          tmp_path, home):
    path = tmp_path / "report.txt"
    path.write_text("all is well")
    platform.fault("sendDocument", "429", retry_after=60)
    assert claw("send", "telegram:1001", "-f", str(path), "--timeout",
                "0.2").code == 5
    path.unlink()
    kept, = (home / "workspace" / "outgoing").rglob("report.txt")
    assert kept.read_text() == "all is well"


def test_a_failure_that_comes_again_is_said_once_and_counted(claw, home):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(
        "[channels_config.webhook]\nsecret = \"" + "0123456789abcdef" * 2
        + '"\nsend_url = "http://127.0.0.1:9/refused"\n')
    (home / "config.toml").chmod(0o600)
    done = claw("send", "webhook:bob", "hi", "--timeout", "4")

    lines = done.err.splitlines()
    assert (done.code, done.out) == (5, "")
    assert len([line for line in lines if "refused" in line]) == 1
    assert "claw: it was tried" in done.err


def test_the_reason_is_not_said_twice(claw, platform):
    done = claw("send", "telegram:999999", "x")

    assert done.err.count("chat not found") == 1


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (("send", "telegram:1001"), 2, "nothing to send"),
    (("send", "telegram:1001", "   "), 2, "nothing to send"),
    (("send", "telegram", "x"), 2, "is no target"),
    (("send", "telegram:", "x"), 2, "e.g. telegram:12345"),
    (("send", "nobody", "x"), 2, "e.g. telegram:12345"),
    (("send", "webhook:1", "x"), 3, "not configured"),
    (("send", "telegran:1", "x"), 2, 'did you mean "telegram"'),
    (("send", "telegram:1001", "-f", "absent.png"), 2, "is no file"),
    (("send", "telegram:999999", "x"), 1, "trying again does not help"),
])
def test_what_can_not_be_sent_says_why(claw, platform, arguments, code,
                                       said):
    done = claw(*arguments)
    assert done.code == code
    assert said in done.err
    assert "CANARY" not in done.out + done.err


def test_what_is_not_out_in_time_stays_queued(claw, platform):
    platform.fault("sendMessage", "429", retry_after=60)
    done = claw("send", "telegram:1001", "later", "--timeout", "0.2",
                "--json")

    assert done.code == 5
    assert done.json["error"]["kind"] == "unavailable"
    waiting = claw("queue", "list", "--json").json["outbox"]
    assert [row["text"] for row in waiting] == ["later"]
    assert "CANARY" not in json.dumps(waiting) + done.err
