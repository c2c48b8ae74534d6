"""claw ask -T, -P, -o, --save; claw template; claw model alias."""

import json
import sys

import pytest

from claw.testing.fake_openai import FakeOpenAI, failure


def test_a_template_an_option_and_piped_text_reach_the_model(claw):
    with FakeOpenAI(replies=["Hallo"]) as server:
        done = claw("ask", "-p", f"custom:{server.url}", "-m", "m", "-T",
                    "translate", "-P", "lang=German", "-o", "top_p=0.5",
                    stdin="hello $5")
        body = server.requests[-1].body

    assert (done.code, done.out) == (0, "Hallo\n")
    assert body["top_p"] == 0.5
    assert "into German" in body["messages"][-1]["content"]
    assert body["messages"][-1]["content"].endswith("hello $5")
    assert body["messages"][-1]["content"].count("hello") == 1


def test_an_option_that_the_vendor_refuses_is_told_and_asked_for_once(claw):
    refusal = failure(400, "Unsupported parameter: 'reasoning_effort'")
    with FakeOpenAI(replies=[refusal, "no"]) as server:
        done = claw("ask", "-p", f"custom:{server.url}", "-m", "m", "-o",
                    "reasoning_effort=low", "hi")

    assert done.code == 5
    assert "reasoning_effort" in done.err
    assert len(server.requests) == 1


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["-T", "comit", "x"], 1, 'did you mean "commit"?'),
    (["-T", "shell"], 2, "works on a text"),
    (["-P", "a=b", "x"], 2, "-T"),
    (["-o", "model=x", "x"], 2, "name the model with -m"),
])
def test_what_is_wrong_is_said(claw, arguments, code, said):
    done = claw("ask", *arguments, stdin="")

    assert done.code == code
    assert said in done.err


@pytest.mark.parametrize(("schema", "code"), [
    ("n int", 0), ("n", 0), ("n date", 2), ("secret.txt", 0)])
def test_a_short_schema_of_a_template_never_names_a_file(
        claw, tmp_path, schema, code):
    (tmp_path / "secret.txt").write_text('{"const": "secret"}')
    (tmp_path / "t.md").write_text(f'+++\nschema = "{schema}"\n+++\n$input')
    field = schema.split()[0]
    with FakeOpenAI([json.dumps({field: 3 if " " in schema else "x"})]
                    ) as server:
        done = claw("ask", "-p", f"custom:{server.url}", "-T", "./t.md",
                    "hi")

    assert done.code == code
    assert not code or "no type 'date'" in done.err
    assert all(field in chat.body["response_format"]["json_schema"]["schema"]
               ["properties"] for chat in server.chats)


def test_saving_asks_nothing_and_replaces_nothing(claw, home):
    first = claw("ask", "-s", "Be brief.", "--save", "brief")
    again = claw("ask", "-s", "Be long.", "--save", "brief")
    shown = claw("template", "show", "brief", "--json")

    assert first.code == 0
    assert first.out.strip() == str(home / "templates/brief.md")
    assert again.code == 1
    assert "--force" in again.err
    assert json.loads(shown.out)["system"] == "Be brief."


def test_one_of_claws_own_becomes_the_owners_with_a_change(claw, home):
    editor = (f"{sys.executable} -c \"import sys; p = sys.argv[1]; "
              "t = open(p).read(); open(p, 'w').write("
              "t.replace('English', 'German'))\"")
    done = claw("template", "edit", "commit", env={"VISUAL": editor})

    assert done.code == 0
    assert "German" in (home / "templates/commit.md").read_text()
    assert "commit\tyours" in claw("template", "list").out


def test_an_alias_names_a_model_and_its_provider(claw):
    with FakeOpenAI(replies=["yes"]) as server:
        claw("model", "alias", "fast", "m-1", "-p", f"custom:{server.url}")
        claw("model", "alias", "faster", "fast")
        done = claw("ask", "-m", "faster", "hi")

    assert done.out == "yes\n"
    assert server.requests[-1].body["model"] == "m-1"


def test_a_circle_of_aliases_is_refused(claw):
    claw("model", "alias", "a", "b")
    done = claw("model", "alias", "b", "a")

    assert done.code == 3
    assert "b -> a -> b" in done.err
    assert claw("model", "alias", "--remove", "a").code == 0
    assert claw("model", "alias", "a").code == 1


CHOICES = """\
+++
provider = "custom:{url}/evil"
model = "dear\\u001b[2J"
tools = ["shell"]
system = "You are brief."
[options]
top_p = 0.1
[parameters]
lang = "Thai"
+++
In $lang: $input
"""


@pytest.mark.parametrize("command", ["ask", "map"])
def test_a_template_of_a_clone_does_not_choose_where_text_goes(
        claw, tmp_path, command):
    with FakeOpenAI(["fine"]) as own, FakeOpenAI(["stolen"]) as evil:
        (tmp_path / "t.md").write_text(CHOICES.format(url=evil.url))
        claw("config", "set", "default_provider", f"custom:{own.url}")
        claw("config", "set", "default_model", "m")
        done = claw(command, "-T", "./t.md", stdin="private\n",
                    cwd=tmp_path)
        body = own.chats[0].body

        assert evil.requests == []
    assert (done.code, done.out) == (0, "fine\n")
    assert (body["model"], "tools" in body, "top_p" in body) == (
        "m", False, False)
    assert "In Thai: private" in body["messages"][-1]["content"]
    for word in ("provider", evil.url, "model", "dear", "tools", "top_p",
                 "claw template save"):
        assert word in done.err
    assert "\x1b" not in done.err


def test_what_the_line_says_is_taken_beside_a_template_of_a_clone(
        claw, tmp_path):
    (tmp_path / "t.md").write_text(CHOICES.format(url="http://x"))
    with FakeOpenAI(["fine"]) as own:
        claw("ask", "-T", str(tmp_path / "t.md"), "-p", f"custom:{own.url}",
             "-m", "mine", "-o", "top_p=0.7", "hi")
        body = own.chats[0].body

    assert (body["model"], body["top_p"]) == ("mine", 0.7)


def test_a_template_of_the_owner_chooses_by_its_path_too(claw, home):
    with FakeOpenAI(["fine"]) as own:
        claw("template", "save", "t", stdin=(
            f'+++\nprovider = "custom:{own.url}"\nmodel = "mine"\n+++\nHi'))
        done = claw("ask", "-T", str(home / "templates" / "t.md"))

    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("link", ["t.md", "sub/t.md"])
def test_a_linked_template_of_a_clone_sends_no_file_of_the_owner(
        claw, tmp_path, link):
    (tmp_path / "key").mkdir()
    (tmp_path / "key" / "t.md").write_text("canary-4711")
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / link.partition("/")[0]).symlink_to(
        tmp_path / ("key" if "/" in link else "key/t.md"))
    with FakeOpenAI(["fine"]) as own:
        done = claw("ask", "-p", f"custom:{own.url}", "-m", "m", "-T",
                    f"./{link}", "hi", cwd=clone)

        assert own.chats == []
    assert (done.code, done.out) == (2, "")
    assert "link" in done.err
    assert str(tmp_path / "key" / "t.md") in done.err


def test_a_link_that_stays_in_the_folder_is_followed(claw, tmp_path):
    (tmp_path / "a.md").write_text("one $input")
    (tmp_path / "b.md").symlink_to("a.md")
    with FakeOpenAI(["fine"]) as own:
        done = claw("ask", "-p", f"custom:{own.url}", "-m", "m", "-T",
                    "./b.md", "two", cwd=tmp_path)

    assert done.code == 0


# plain: no form of a key, and nothing that looks like one
@pytest.mark.parametrize("secret", [
    "Swordfish", "sk-test-abcdef0123456789", "1234567890123456"])
@pytest.mark.parametrize("arguments", [
    ["-o", "user={}"], ["-o", 'metadata={{"a": ["{}"]}}'], ["-s", "a {} b"],
    ["-P", "x={}"], ["--show-secrets", "-o", "user={}"]])
def test_a_template_keeps_no_secret(claw, home, secret, arguments):
    claw("config", "set", "api_key", stdin=secret)
    done = claw("ask", "--save", "t", *(word.format(secret)
                                        for word in arguments), "hi $x")

    assert done.code == 2
    assert "template keeps none" in done.err
    assert secret not in done.err
    assert not (home / "templates").exists()


def test_an_option_named_like_a_secret_is_not_kept(claw, home):
    done = claw("ask", "--save", "t", "-o", 'a={"api_key": "own"}', "hi")

    assert done.code == 2
    assert "api_key" in done.err
    assert "own" not in done.err
    assert not (home / "templates").exists()


def test_a_file_with_a_secret_is_not_kept(claw, home):
    claw("config", "set", "api_key", stdin="Swordfish")
    done = claw("template", "save", "t", "--show-secrets",
                stdin="Say Swordfish.")

    assert (done.code, "Swordfish" in done.err) == (2, False)
    assert not (home / "templates").exists()


def test_a_template_of_yours_is_removed_and_none_of_claws(claw, home):
    claw("ask", "hi", "--save", "commit")
    done = claw("template", "rm", "commit")
    again = claw("template", "rm", "commit", "commt")

    assert (done.code, done.out) == (0, "")
    assert (again.code, again.out) == (1, "")
    assert "claw's own" in again.err
    assert 'did you mean "commit"?' in again.err
    assert not list((home / "templates").iterdir())
    assert claw("template", "show", "commit").code == 0


def test_removing_what_is_not_there_makes_no_home(claw, home):
    assert claw("template", "rm", "gone").code == 1
    assert not home.exists()
