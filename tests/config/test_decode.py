"""Tables as structs: unknown keys, wrong values, what was expected."""

import enum
from typing import Annotated, Literal

import msgspec
import pytest

from claw.config.decode import members
from claw.config.secrets import create_key, seal
from claw.config.tree import SettingError
from claw.core.errors import ConfigError


class Inner(msgspec.Struct, frozen=True, kw_only=True):
    hint: str
    priority: int = 0
    api_key: str | None = None


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Room(msgspec.Struct, frozen=True, kw_only=True):
    backend: str = "sqlite"
    auto_save: bool = True
    min_relevance_score: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.4
    purge_after_days: Annotated[int, msgspec.Meta(ge=0)] = 30
    retrieval_stages: tuple[str, ...] = ("cache",)
    own_mode: Literal["auto", "off"] = "auto"
    own_colour: Colour = Colour.RED
    own_inner: Inner | None = None
    own_list: tuple[Inner, ...] = ()
    own_map: dict[str, Inner] = {}
    own_days: dict[str, int] = {}
    own_number: int | float | str | None = None
    own_name: Annotated[str, msgspec.Meta(min_length=1)] = "x"

    def __post_init__(self) -> None:
        if self.backend == "both" and not self.auto_save:
            raise ValueError("backend both needs auto_save")
        if self.backend == "odd":
            raise ValueError("nothing works like this")


def test_defaults_without_the_table(tree_of):
    assert tree_of("").decode("memory", Room) == Room()
    assert tree_of("[memory]").decode("memory", Room) == Room()


def test_every_kind_of_value(tree_of):
    room = tree_of("""
[memory]
backend = "none"
auto_save = false
min_relevance_score = 1
purge_after_days = 7
retrieval_stages = ["a", "b"]
own_mode = "off"
own_colour = "blue"
own_inner = {hint = "i"}
own_list = [{hint = "a"}, {hint = "b", priority = 2}]
own_days = {core = 3}
[memory.own_map.x]
hint = "m"
""").decode("memory", Room)

    assert room == Room(
        backend="none", auto_save=False, min_relevance_score=1.0,
        purge_after_days=7, retrieval_stages=("a", "b"), own_mode="off",
        own_colour=Colour.BLUE, own_inner=Inner(hint="i"),
        own_list=(Inner(hint="a"), Inner(hint="b", priority=2)),
        own_map={"x": Inner(hint="m")}, own_days={"core": 3})


@pytest.mark.parametrize(("line", "problem", "hint"), [
    ("auto_save = 1", "expected true or false, got 1", "unset"),
    ('auto_save = "yes"', 'expected true or false, got "yes"', "unset"),
    ("backend = 5", "expected text, got 5", "unset"),
    ("backend = ['a']", "expected text, got a list", "unset"),
    ("backend = {a = 1}", "expected text, got a table", "unset"),
    ("backend = 1979-05-27", "expected text, got 1979-05-27", "unset"),
    ("min_relevance_score = 1.5", "expected a number from 0 to 1, got 1.5",
     "unset"),
    ("min_relevance_score = nan", "expected a number from 0 to 1, got nan",
     "unset"),
    ("purge_after_days = -1", "expected a whole number of at least 0, got "
                              "-1", "unset"),
    ("purge_after_days = 1.5", "expected a whole number of at least 0, got "
                               "1.5", "unset"),
    ("purge_after_days = true", "expected a whole number of at least 0, "
                                "got true", "unset"),
    ('retrieval_stages = "a"', 'expected a list of texts, got "a"',
     "unset"),
    ("retrieval_stages = ['a', 2]", "expected a list of texts, got a list",
     "unset"),
    ('own_mode = "Of"', 'expected one of "auto", "off", got "Of"',
     'did you mean "off"?'),
    ('own_colour = "bleu"', 'expected one of "red", "blue", got "bleu"',
     'did you mean "blue"?'),
    ("own_inner = 3", "expected a table, got 3", "unset"),
    ("own_list = 3", "expected a list of tables, got 3", "unset"),
    ("own_days = {a = 'x'}", "expected a table, got a table", "unset"),
    ("own_number = []", "expected a whole number or a number or text, got "
                        "a list", "unset"),
    ('own_name = ""', 'expected text that is not empty, got ""', "unset"),
])
def test_wrong_values_name_key_line_and_what_was_expected(
        tree_of, line, problem, hint):
    key = line.partition(" ")[0]
    tree = tree_of(f"# one\n[memory]\n{line}\n")

    with pytest.raises(ConfigError) as caught:
        tree.decode("memory", Room)

    assert caught.value.message == f"config.toml:3: memory.{key}: {problem}"
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(("text", "message"), [
    ("memory = 3", "config.toml:1: memory: expected a table, got 3"),
    ("[memory]\nown_list = [{hint = 'a'}, {priority = 1}]",
     "config.toml:2: memory.own_list.1.hint: is missing"),
    ("[memory.own_map.x]\nhint = 3",
     "config.toml:2: memory.own_map.x.hint: expected text, got 3"),
    ("[memory]\nbackend = 'both'\nauto_save = false",
     "config.toml:2: memory.backend: both needs auto_save"),
    ("[memory]\nbackend = 'odd'",
     "config.toml:1: memory: nothing works like this"),
])
def test_where_deeper_errors_stand(tree_of, text, message):
    with pytest.raises(ConfigError) as caught:
        tree_of(text).decode("memory", Room)

    assert caught.value.message == message


def test_problems_lists_them_all(tree_of):
    tree = tree_of("[memory]\nbackend = 1\nauto_save = 2\n"
                   "own_list = [{}, {hint = 3}, {hint = 'x'}]\n")

    assert sorted(e.message for e in tree.problems("memory", Room)) == [
        "config.toml:2: memory.backend: expected text, got 1",
        "config.toml:3: memory.auto_save: expected true or false, got 2",
        "config.toml:4: memory.own_list.0.hint: is missing",
        "config.toml:4: memory.own_list.1.hint: expected text, got 3",
    ]


@pytest.mark.parametrize(("text", "warning"), [
    ("\n[memory]\nbakend = 'x'",
     'config.toml:3: memory.bakend: unknown key, did you mean "backend"?'),
    ("[memory]\nzzzz = 1", "config.toml:2: memory.zzzz: unknown key"),
    ("[memory]\nown_mod = 1",
     'config.toml:2: memory.own_mod: unknown key, did you mean "own_mode"?'),
    ("[memory.own_inner]\nhint = 'a'\nprio = 1",
     "config.toml:3: memory.own_inner.prio: unknown key"),
])
def test_unknown_keys_warn_once_with_the_nearest(tree_of, text, warning):
    tree = tree_of(text)

    tree.decode("memory", Room)
    tree.decode("memory", Room)

    assert [w for w in tree.warnings if warning in w] == tree.warnings
    assert len(tree.warnings) == 1


def test_known_keys_of_the_reference_are_silent(tree_of):
    tree = tree_of("[memory]\nrerank_enabled = true\n[memory.qdrant]\n"
                   "url = 'x'")

    tree.decode("memory", Room)

    assert tree.warnings == []


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    level: str = "supervised"


@pytest.mark.parametrize(("text", "section", "message", "hint"), [
    ("[autonomy]\nlevle = 'full'", "autonomy",
     "config.toml:2: autonomy.levle: unknown key", '"level"'),
    ("[security.sandbx]\nmode = 'off'", "security.sandbox",
     "config.toml:1: security.sandbx: unknown key", '"sandbox"'),
    ("[security.sandbox]\nmdoe = 'off'", "security.resources",
     "config.toml:2: security.sandbox.mdoe: unknown key", '"mode"'),
    ("[gateway]\nrequire_paring = true", "gateway",
     "config.toml:2: gateway.require_paring: unknown key",
     '"require_pairing"'),
])
def test_unknown_keys_in_guarding_sections_are_errors(
        tree_of, text, section, message, hint):
    with pytest.raises(ConfigError) as caught:
        tree_of(text).decode(section, Guard)

    assert caught.value.message == message
    assert hint in caught.value.hint


def test_a_broken_guard_does_not_stop_other_rooms(tree_of):
    tree = tree_of("[autonomy]\nlevle = 'full'\n[memory]\nbackend = 'x'")

    assert tree.decode("memory", Room).backend == "x"


@pytest.mark.parametrize(("name", "text", "field", "value"), [
    ("CLAW_MEMORY__BACKEND", "0123", "backend", "0123"),
    ("CLAW_MEMORY__BACKEND", "1e5", "backend", "1e5"),
    ("CLAW_MEMORY__BACKEND", "true", "backend", "true"),
    ("CLAW_MEMORY__AUTO_SAVE", "0", "auto_save", False),
    ("CLAW_MEMORY__AUTO_SAVE", "On", "auto_save", True),
    ("CLAW_MEMORY__OWN_NUMBER", "1.5", "own_number", 1.5),
    ("CLAW_MEMORY__OWN_MODE", "off", "own_mode", "off"),
    ("CLAW_MEMORY__MIN_RELEVANCE_SCORE", "1", "min_relevance_score", 1.0),
])
def test_variables_are_read_as_the_field_wants(tree_of, name, text, field,
                                               value):
    room = tree_of("", {name: text}).decode("memory", Room)

    assert getattr(room, field) == value
    assert type(getattr(room, field)) is type(value)


@pytest.mark.parametrize(("name", "text", "message"), [
    ("CLAW_MEMORY__AUTO_SAVE", "maybe",
     "environment CLAW_MEMORY__AUTO_SAVE: memory.auto_save: expected true "
     'or false, got "maybe"'),
    ("CLAW_MEMORY__RETRIEVAL_STAGES", "a,b",
     "environment CLAW_MEMORY__RETRIEVAL_STAGES: memory.retrieval_stages: "
     'expected a list of texts, got "a,b"'),
])
def test_errors_name_the_variable(tree_of, name, text, message):
    with pytest.raises(ConfigError) as caught:
        tree_of("[memory]\n", {name: text}).decode("memory", Room)

    assert caught.value.message == message


def test_errors_of_flags_name_the_setting_alone(tree_of):
    with pytest.raises(ConfigError) as caught:
        tree_of("", {}, {"memory.backend": 3}).decode("memory", Room)

    assert caught.value.message == "memory.backend: expected text, got 3"


def test_a_misspelt_variable_warns(tree_of):
    tree = tree_of("", {"CLAW_MEMORY__BAKEND": "x"})
    tree.decode("memory", Room)

    assert tree.warnings == [
        "environment CLAW_MEMORY__BAKEND: memory.bakend: unknown key, did "
        'you mean "backend"?']


def test_secrets_arrive_in_the_clear_and_stay_out_of_errors(tree_of, places):
    places.home.mkdir()
    sealed = seal("sk-1", create_key(places.key_file))
    tree = tree_of(f"[memory]\nown_list = [{{hint = 'a', api_key = "
                   f"'{sealed}'}}]\n[agents]\nown_list = []\n")

    assert tree.decode("memory", Room).own_list[0].api_key == "sk-1"

    broken = tree_of("[memory.own_inner]\nhint = 'a'\napi_key = 12345678")
    with pytest.raises(ConfigError) as caught:
        broken.decode("memory", Room)
    assert "12345678" not in caught.value.message


def test_lists_and_maps_of_structs_at_the_top(tree_of):
    tree = tree_of("[[model_routes]]\nhint = 'a'\n[agents.x]\nhint = 'b'")

    assert tree.decode("model_routes", list[Inner]) == [Inner(hint="a")]
    assert tree.decode("agents", dict[str, Inner]) == {"x": Inner(hint="b")}
    assert tree.decode("nothing", list[Inner]) == []
    assert tree.decode("nothing", dict[str, Inner]) == {}


class Top(msgspec.Struct, frozen=True, kw_only=True):
    default_model: str | None = None


def test_the_top_level(tree_of):
    tree = tree_of("default_model = 'm'\ndefalt_model = 'n'\n[memory]\n")

    assert tree.decode("", Top) == Top(default_model="m")
    assert tree.warnings == [
        "config.toml:2: defalt_model: unknown key, did you mean "
        '"default_model"?']


def test_names_with_dots_and_quotes(tree_of):
    tree = tree_of('[model_providers."my.host"]\nname = "x"')

    assert tree.table(("model_providers", "my.host")) == {"name": "x"}
    assert tree.table('model_providers."my.host"') == {"name": "x"}


def test_hostile_values_are_shown_short_and_on_one_line(tree_of):
    tree = tree_of("[memory]\nown_mode = \"a\\nb\\u0007" + "x" * 500 + '"')

    with pytest.raises(ConfigError) as caught:
        tree.decode("memory", Room)

    assert "\n" not in caught.value.message
    assert "\x07" not in caught.value.message
    assert len(caught.value.message) < 200


def test_thousands_of_unknown_keys_are_counted_not_listed(tree_of):
    tree = tree_of("[memory]\n" + "".join(
        f"q{n} = 1\n" for n in range(5000)))
    tree.decode("memory", Room)

    assert len(tree.warnings) == 21
    assert tree.warnings[-1] == (
        "config.toml:22: 4,980 more unknown keys from here on")


def test_a_variable_that_is_no_text_is_a_wrong_value(tree_of):
    tree = tree_of("", {"CLAW_MEMORY__OWN_COLOUR": "zz\udcff"})

    with pytest.raises(ConfigError, match='expected one of "red", "blue"'
                       ) as caught:
        tree.decode("memory", Room)
    assert caught.value.hint.endswith("unset CLAW_MEMORY__OWN_COLOUR")


@pytest.mark.parametrize("text", [
    'own_colour = "zzz"', "min_relevance_score = 7", 'backend = "odd"',
    'purge_after_days = "x"'])
def test_every_wrong_value_of_the_file_comes_with_a_way_out(tree_of, text):
    with pytest.raises(ConfigError) as caught:
        tree_of("[memory]\n" + text).decode("memory", Room)

    assert "claw config unset memory" in caught.value.hint


@pytest.mark.parametrize(("kind", "expected"), [
    (int, (int,)),
    (int | None, (int, type(None))),
    (Annotated[int, msgspec.Meta(gt=0)], (int,)),
    (Annotated[int | str, msgspec.Meta(gt=0)], (int, str)),
    (Annotated[Inner, msgspec.Meta(title="x")] | None, (Inner, type(None))),
    (list[int] | Annotated[float, msgspec.Meta(ge=0)] | None,
     (list[int], float, type(None))),
])
def test_the_types_of_a_union_stand_bare(kind, expected):
    assert members(kind) == expected


def test_a_limited_number_of_a_variable_stays_a_number(tree_of):
    tree = tree_of("", {"CLAW_MEMORY__PURGE_AFTER_DAYS": "0123"})
    name = tree_of("", {"CLAW_MEMORY__OWN_NAME": "0123"})

    assert name.decode("memory", Room).own_name == "0123"
    with pytest.raises(SettingError, match="purge_after_days: expected"):
        tree.decode("memory", Room)
