"""claw permission: allowed, listed, used and taken back."""

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
    (["http_reqest", "url=https://example.com/"], 3,
     'did you mean "http_request"?')])
def test_what_can_not_be_allowed(claw, home, arguments, code, said):
    done = claw("permission", "allow", *arguments)

    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert not (home / "config.toml").exists()


def test_what_is_not_there_is_not_taken_back(claw):
    assert claw("permission", "revoke", "nothing").code == 1
    assert claw("permission", "revoke").code == 2


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
