"""claw permission: allowed, listed, used and taken back."""

import json
import shlex

import pytest

from claw.testing.fake_openai import FakeOpenAI, tool_call


def test_a_permission_from_allow_to_revoke(claw, home):
    made = claw("permission", "allow", "file_write", "path=n.txt",
                "content=*")
    with FakeOpenAI([tool_call("file_write", path="n.txt", content="hi"),
                     "written"]) as server:
        done = claw("ask", "-p", f"custom:{server.url}", "-m", "m",
                    "--tools", "file_write", "go")
    listed = claw("permission", "list", "--json").json["permissions"]
    gone = claw("permission", "revoke", made.out.strip())
    refused = claw("tool", "run", "file_write",
                   '{"path": "n.txt", "content": "no"}')

    assert (made.code, done.code, gone.code, refused.code) == (0, 0, 0, 6)
    assert (home / "workspace" / "n.txt").read_text() == "hi"
    assert [(row["id"], row["tool"], row["over"]) for row in listed] == [
        (made.out.strip(), "file_write", False)]
    assert claw("permission", "list").out == ""


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["shell", "python3 x.py"], 6, "interpreters"),
    (["shell", "ls | cat"], 2, "one simple command"),
    (["shell", "curl x"], 6, "not allowed"),
    (["shell"], 2, "no command"),
    (["post", "x"], 2, "name=value"),
    (["post", "url=https://*"], 2, "host"),
    (["shell", "git push", "--for", "soon"], 2, "--for"),
    (["file_write", "path=a"], 2, "no call of file_write comes without "
     "content (for any text add: 'content=*')"),
    (["file_write"], 2, "without path and content"),
    (["file_write", "path=a", "contents=*"], 2, "no argument 'contents'"),
    (["shell", "git push", "--channel", "telegarm"], 2, "no channel"),
    (["http_reqest", "url=https://example.com/"], 2,
     'did you mean "http_request"?')])
def test_what_can_not_be_allowed(claw, home, arguments, code, said):
    done = claw("permission", "allow", *arguments)

    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert not (home / "config.toml").exists()


def test_what_is_not_there_is_not_taken_back(claw):
    assert claw("permission", "revoke", "nothing").code == 1
    assert claw("permission", "revoke").code == 2


def test_show_says_what_the_agent_may_do_here_and_in_a_channel(claw, home):
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        '[autonomy.channels.telegram]\nlevel = "readonly"\n'
        'excluded_tools = ["web_fetch"]\nmax_cost_per_turn_cents = 5\n')
    (home / "config.toml").chmod(0o600)

    own = claw("permission", "show", "--json").json
    there = claw("permission", "show", "--channel", "telegram", "--json").json
    lines = claw("permission", "show", "--channel", "telegram").out

    assert own["level"] == "supervised"
    assert "web_fetch" in own["runs_unasked"]
    assert {"shell", "file_write"} <= {*own["asks"]}
    assert there["asks"] == []
    assert "file_write" in there["refused"]
    assert "web_fetch" in there["not_offered"]
    assert there["own"]["max_cost_per_turn_cents"] == 5
    assert "autonomy.channels.telegram.level\treadonly" in lines


def test_show_tells_the_policy_of_a_job(claw):
    made = claw("tool", "run", "cron_add", "--yes", json.dumps({
        "schedule": {"kind": "every", "every_ms": 3_600_000},
        "prompt": "look", "policy": {"tools": ["file_read", "shell"]}}))

    told = claw("permission", "show", "--json", "--job",
                json.loads(made.out)["id"]).json

    assert told["runs_unasked"] == ["file_read"]
    assert told["refused"] == ["shell"]
    assert told["asks"] == []
    assert claw("permission", "show", "--job", "none").code == 1


def test_a_policy_for_no_channel_is_an_error(claw, home):
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        '[autonomy.channels.telegarm]\nlevel = "readonly"\n')
    (home / "config.toml").chmod(0o600)

    shown = claw("permission", "show")
    checked = claw("config", "check")

    assert (shown.code, checked.code) == (3, 3)
    assert "no such channel" in shown.err
    assert "no such channel" in checked.out + checked.err
    assert claw("permission", "show", "--channel", "nowhere").code in (2, 3)


def test_what_nobody_allowed_is_listed_by_the_log(claw):
    with FakeOpenAI([tool_call("file_write", path="a.txt", content="x"),
                     "I've written the file a.txt."]) as server:
        asked = claw("ask", "-p", f"custom:{server.url}", "-m", "m",
                     "--tools", "file_write", "--json", "go")
    listed = claw("log", "list", "--refused")
    shown = claw("log", "show", "-l")

    assert asked.code == 6
    assert asked.json["text"] == "I've written the file a.txt."
    assert [(one["tool"], one["expired"], one["allow"])
            for one in asked.json["refused"]] == [
        ("file_write", False,
         "claw permission allow file_write path=a.txt content=x")]
    assert not asked.json["unsupported"]  # it is told of already
    assert listed.out.count("not done: file_write") == 1
    assert "not done: file_write" in shown.out


def test_the_command_that_is_told_allows_the_call(claw, home):
    def ask():
        with FakeOpenAI([tool_call("file_write", path="a b.txt",
                                   content="it's"), "ok"]) as server:
            return claw("ask", "-p", f"custom:{server.url}", "-m", "m",
                        "--tools", "file_write", "--json", "go")
    refused = ask()
    words = shlex.split(refused.json["refused"][0]["allow"])

    assert claw(*words[1:]).code == 0
    assert ask().code == 0
    assert (home / "workspace" / "a b.txt").read_text() == "it's"


def test_a_claim_that_no_call_supports_is_told_on_stderr(claw):
    with FakeOpenAI(["I've sent the mail."]) as server:
        done = claw("ask", "-p", f"custom:{server.url}", "-m", "m",
                    "--tools", "file_read", "go")

    assert (done.code, done.out) == (0, "I've sent the mail.\n")
    assert "warning: no tool call did this" in done.err


@pytest.mark.parametrize("table", [
    '[autonomy.permissions.bad]\ntool = "file_write"\nuntil = "soon"\n'
    'workspace = "/"\n',
    '[autonomy.permissions]\nbad = 7\n'])
def test_a_permission_that_could_not_be_read_could_not_be_taken_back(
        claw, home, table):
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(table)

    gone = claw("permission", "revoke", "bad")

    assert gone.code == 0
    assert claw("permission", "list").code == 0
    assert "bad" not in (home / "config.toml").read_text()
