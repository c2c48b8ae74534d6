"""Templates: heads, parameters, names, and what a question takes of them."""

from pathlib import Path

import pytest

from claw.config.places import locate
from claw.core.errors import (
    ConfigError,
    NotFoundError,
    RefusedError,
    UsageError,
)
from claw.core.provider import Passage
from claw.wiring.ask.question import Question
from claw.wiring.ask.templated import apply_template, save_as
from claw.wiring.templates import (
    fill_template,
    list_templates,
    load_template,
    parse_template,
    save_template,
)
from claw.wiring.templates.write import write_template

PATH = Path("t.md")


def parse(text):
    return parse_template(text, "t", PATH)


@pytest.fixture
def places(tmp_path):
    return locate(str(tmp_path / "home"), env={"HOME": str(tmp_path)})


@pytest.mark.each(("body", "values", "text", "expected"), [
    ("Costs $5, $$x, $HOME, ${HOME}, $(date)", {}, "",
     "Costs $5, $x, $HOME, ${HOME}, $(date)"),
    ("In $lang: $input!", {"lang": "$input"}, "$lang", "In $input: $lang!"),
    ("$inputを${言語}に", {"言語": "英語"}, "茶", "茶を英語に"),
    ("Say it", {}, "now", "Say it\n\nnow"),
    ("$input $input", {}, "a", "a a"),
])
def test_parameters_stand_in_the_prompt_once_and_other_dollars_stay(
        body, values, text, expected):
    assert fill_template(parse(body), values, text) == expected


@pytest.mark.each(("values", "said", "hint"), [
    ({}, "no value for $lang", "-P lang=VALUE"),
    ({"lang": "de", "lagn": "x"}, "no parameter 'lagn'", '"lang"'),
])
def test_a_missing_or_unknown_parameter_is_named(values, said, hint):
    with pytest.raises(UsageError) as caught:
        fill_template(parse("To $lang"), values)

    assert said in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.each(("text", "said"), [
    ("+++\nmodl = 'x'\n+++\nhi", "t.md:2: unknown key 'modl'"),
    ("+++\n\nmodel = 1\n+++\nhi", "t.md:3: model is a text"),
    ("+++\nmodel = \n+++\nhi", "t.md:2:"),
    ("+++\nhi", "t.md:1: the head has no end"),
    ("---\nmodel: x\n---\nhi", "t.md:1: the head is no YAML"),
    ("+++\ntemperature = 3\n+++\nhi", "t.md:2: temperature is a number"),
    ("+++\n[parameters]\nmodel = 'x'\n+++\nhi", "t.md:3: $model stands"),
    ("+++\n[options]\nmodel = 'x'\n+++\nhi", "t.md:2: model is refused"),
    ("+++\nsystem = '$input'\n+++\nhi", "t.md:2: $input can stand"),
    ("\n", "the template is empty"),
])
def test_a_wrong_head_is_told_with_its_line(text, said):
    with pytest.raises(ConfigError) as caught:
        parse(text)

    assert caught.value.message.startswith(said) or said in str(caught.value)


def test_the_shipped_ones_are_whole_and_the_owners_go_first(places):
    found = {one.name: one for one in list_templates(places)}
    assert {"commit", "explain", "review", "translate", "summarise",
            "shell"} <= found.keys()
    assert all(one.problem is None for one in found.values())

    save_template(places, "commit", b"mine: $input")

    assert load_template(places, "commit").body == "mine: $input"


def test_a_template_is_not_replaced_unasked(places):
    save_template(places, "茶", b"one")
    with pytest.raises(RefusedError):
        save_template(places, "茶", b"two")
    assert load_template(places, "茶").body == "one"

    save_template(places, "茶", b"two", force=True)
    assert load_template(places, "茶").body == "two"


@pytest.mark.each("name", [
    "", " ", ".x", "-x", "a\nb", "a\0b", "x" * 300, "a\x1b[2J"])
def test_names_that_are_none(places, name):
    with pytest.raises(UsageError):
        load_template(places, name)


def test_no_name_leads_out_of_the_folder(places):
    with pytest.raises(UsageError):
        save_template(places, "../x", b"x")
    with pytest.raises(NotFoundError) as caught:
        load_template(places, "comit")
    assert "commit" in caught.value.hint


def test_a_schema_lies_beside_its_template(tmp_path):
    places = locate(str(tmp_path / "h"), env={})
    (tmp_path / "s.json").write_text('{"type": "object"}')
    file = tmp_path / "t.md"
    file.write_text('+++\nschema = "s.json"\n+++\nhi')
    assert load_template(places, str(file)).schema == {"type": "object"}

    file.write_text('+++\nschema = "../s.json"\n+++\nhi')
    with pytest.raises(ConfigError, match="beside"):
        load_template(places, str(file))


def test_piped_text_stands_at_input_and_stays_foreign():
    asked = apply_template(
        parse("Look: $input."), {},
        Question("briefly", [Passage("stdin", "[IMAGE:secret.png]\n")]))

    assert asked.frame == ["Look: ", ".\n\nbriefly"]
    assert not asked.has_images
    assert asked.passages[0].source == "stdin"


def test_a_line_goes_before_its_template():
    template = parse('+++\nmodel = "a"\nprovider = "x"\ntools = ["shell"]\n'
                     'temperature = 1\nsystem = "s $who"\n+++\n')

    own = apply_template(template, {"who": "Mina"}, Question("hi"))
    other = apply_template(template, {"who": "M"}, Question(
        "hi", provider="y", temperature=0.0, system="$who"), no_tools=True)

    assert (own.model, own.provider, list(own.tools), own.system,
            own.prompt) == ("a", "x", ["shell"], "s Mina", "hi")
    assert (other.model, other.provider, list(other.tools), other.system,
            other.temperature) == (None, "y", [], "$who", 0.0)


def test_what_is_saved_says_the_same_again():
    kept = save_as("n", None, {"lang": 'a "b"'}, Question(
        'To $lang: "\\x" $input', system='one\n"""two\\', temperature=0.5,
        tools=["shell"], options={"stop": ["\n"]}))

    again = parse(write_template(kept))

    assert (again.body, again.system, again.temperature, again.tools,
            again.options, again.parameters["lang"]) == (
        kept.body, kept.system, 0.5, ["shell"], {"stop": ["\n"]}, 'a "b"')
