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
