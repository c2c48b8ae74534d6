"""Changing config.toml: values, comments, safety."""

import multiprocessing
import os
import stat
import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claw.config.display import find_open_secrets
from claw.config.edit import set_value, unset_value
from claw.config.environment import parse_value
from claw.config.keys import join_key, split_key
from claw.config.known import real_path
from claw.config.places import locate
from claw.config.secrets import read_key, seal
from claw.config.store import lock_settings
from claw.config.tree import load
from claw.core.errors import (
    ConfigError,
    FaultError,
    NotFoundError,
    StorageError,
    UsageError,
)

FILE = """\
# my settings
default_model = "m"   # the model

[memory]   # how it remembers
# which store
backend = "sqlite" # fast
# the end of memory

[model_providers.a]
base_url = "http://a"

[agent]
compact_context = true

[model_providers.b]
base_url = "http://b"
"""


def allow(before, after, path):
    """A validator for rooms that take anything."""


def change(places, dotted, value, validate=allow):
    return set_value(places, split_key(dotted), value, validate)


def variable_text(places):
    return places.config_file.read_bytes().decode()


@pytest.mark.parametrize(("dotted", "text", "value"), [
    ("memory.backend", "none", "none"),
    ("memory.auto_save", "false", False),
    ("memory.purge_after_days", "7", 7),
    ("memory.vector_weight", "0.5", 0.5),
    ("memory.default_namespace", '"7"', "7"),
    ("memory.default_namespace", "a = b # c", "a = b # c"),
    ("memory.default_namespace", "", ""),
    ("memory.default_namespace", "two\nlines", "two\nlines"),
    ("memory.default_namespace", "2024-01-01", "2024-01-01"),
    ("autonomy.allowed_commands", '["git"]', ["git"]),
    ("memory.qdrant.url", "http://q", "http://q"),
    ('model_providers."my.host".base_url', "http://c", "http://c"),
    ("model_providers.b.name", "B", "B"),
    ("model_routes.0.hint", "fast", "fast"),
    ("default_provider", "p", "p"),
    ("cost.prices.gpt", "{ input = 1.0 }", {"input": 1.0}),
    ("model", "other", "other"),
])
def test_set_then_load_gives_the_value(write, dotted, text, value):
    places = write(FILE)
    path = real_path(split_key(dotted))
    said = change(places, dotted, text)
    tree = load(places, {})

    assert tree.get(path) == value
    assert type(tree.get(path)) is type(value)
    assert tree.warnings == []
    assert said.raw == tree.raw
    assert said.line(path) == tree.line(path)


def test_comments_and_order_survive(write):
    places = write(FILE)
    change(places, "memory.backend", "none")
    change(places, "default_model", "n")

    assert variable_text(places) == FILE.replace('"sqlite"', '"none"').replace(
        '"m"', '"n"')


def test_new_keys_go_into_their_table_and_new_tables_stand_apart(write):
    places = write(FILE)
    change(places, "agent.parallel_tools", "true")
    change(places, "locale", "ko")
    change(places, "memory.qdrant.url", "u")
    change(places, "pacing.step_timeout_secs", "5")

    assert variable_text(places) == """\
# my settings
default_model = "m"   # the model
locale = "ko"

[memory]   # how it remembers
# which store
backend = "sqlite" # fast
# the end of memory

[memory.qdrant]
url = "u"

[model_providers.a]
base_url = "http://a"

[agent]
compact_context = true
parallel_tools = true

[model_providers.b]
base_url = "http://b"

[pacing]
step_timeout_secs = 5
"""


def test_the_alias_in_the_file_is_changed_where_it_stands(write):
    places = write('model = "a" # mine\n')

    assert change(places, "default_model", "b").raw == {"default_model": "b"}
    assert variable_text(places) == 'model = "b" # mine\n'


def test_line_ends_and_byte_order_mark_stay(write):
    places = write(b"\xef\xbb\xbf# a\r\n[memory]\r\nbackend = 'x'\r\n")
    change(places, "memory.backend", "y")
    change(places, "agent.parallel_tools", "true")

    data = places.config_file.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf# a\r\n[memory]\r\nbackend = ")
    assert data.count(b"\n") == data.count(b"\r\n")
    assert load(places, {}).get("memory.backend") == "y"


def test_first_setting_makes_a_private_home(places):
    old = os.umask(0)
    try:
        change(places, "memory.backend", "none")
    finally:
        os.umask(old)

    assert stat.S_IMODE(places.home.stat().st_mode) == 0o700
    assert stat.S_IMODE(places.config_file.stat().st_mode) == 0o600
    assert not (places.home / "config.toml.bak").exists()


def test_a_byte_copy_is_kept_before_every_write(write):
    places = write(FILE)
    backup = places.home / "config.toml.bak"
    change(places, "memory.backend", "none")

    assert backup.read_bytes() == FILE.encode()
    before = places.config_file.read_bytes()
    unset_value(places, ("default_model",))
    assert backup.read_bytes() == before
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_a_wide_open_file_is_closed_by_the_next_write(write):
    places = write(FILE)
    places.config_file.chmod(0o644)
    change(places, "memory.backend", "none")

    assert stat.S_IMODE(places.config_file.stat().st_mode) == 0o600


def test_no_drafts_stay_behind(write):
    places = write(FILE)
    change(places, "memory.backend", "none")
    change(places, "api_key", "sk-1")

    assert sorted(os.listdir(places.home)) == [
        ".config.lock", ".secret_key", "config.history", "config.toml",
        "config.toml.bak"]


def test_a_linked_file_stays_a_link(write, tmp_path):
    places = write("")
    places.config_file.unlink()
    target = tmp_path / "dotfiles" / "claw.toml"
    target.parent.mkdir()
    target.write_text(FILE)
    places.config_file.symlink_to(target)
    change(places, "memory.backend", "none")

    assert places.config_file.is_symlink()
    assert '"none"' in target.read_text()


@pytest.mark.parametrize("name", [
    "config.toml", "config.toml.bak", ".secret_key", ".config.lock"])
@pytest.mark.parametrize("inside", ["", "settings"])
def test_a_link_to_settings_in_the_workspace_is_refused(tmp_path, name,
                                                        inside):
    """A command could have made it."""
    workspace = tmp_path / "ws"
    home = workspace / inside
    home.mkdir(parents=True)
    target = tmp_path / "id_rsa"
    target.write_text("[memory]\n")
    (home / name).symlink_to(target)
    places = locate(str(home), str(workspace), env={})

    for work in (lambda: load(places, {}),
                 lambda: change(places, "memory.backend", "none")):
        with pytest.raises(StorageError, match="is a link"):
            work()
    assert target.read_text() == "[memory]\n"


def test_setting_the_same_value_writes_nothing(write):
    places = write(FILE)
    change(places, "memory.backend", "sqlite")

    assert not (places.home / "config.toml.bak").exists()


@pytest.mark.parametrize(("dotted", "left"), [
    ("memory.backend", "# the end of memory"),
    ("model_providers.a", "[model_providers.b]"),
    ("default_model", "[memory]"),
])
def test_unset(write, dotted, left):
    places = write(FILE)
    unset_value(places, split_key(dotted))
    tree = load(places, {})

    assert not tree.has(dotted)
    assert left in variable_text(places)
    assert "# my settings" in variable_text(places)


def test_unset_removes_both_spellings(write):
    places = write('model = "a"\ndefault_model = "b"\n')
    unset_value(places, ("model",))

    assert variable_text(places) == ""


def test_unset_what_is_not_set(write, places):
    with pytest.raises(NotFoundError):
        unset_value(places, ("memory", "backend"))
    assert not places.home.exists()

    write(FILE)
    with pytest.raises(NotFoundError):
        unset_value(places, ("memory", "auto_save"))


def test_entries_of_an_array_by_number(write):
    places = write("")
    change(places, "model_routes.0.hint", "fast")
    change(places, "model_routes.0.model", "m")
    change(places, "model_routes.1.hint", "deep")

    assert load(places, {}).get("model_routes") == [
        {"hint": "fast", "model": "m"}, {"hint": "deep"}]
    with pytest.raises(UsageError, match="no such entry"):
        change(places, "model_routes.5.hint", "x")

    unset_value(places, ("model_routes", "0"))
    assert load(places, {}).get("model_routes") == [{"hint": "deep"}]


@pytest.mark.parametrize(("dotted", "value"), [
    ("memory", "x"), ("memory", "{ backend = 'x' }"), ("gateway", "1"),
    ("", "x"), ("memory.backend.deeper", "x"),
])
def test_names_that_cannot_take_a_value(write, dotted, value):
    places = write(FILE)

    with pytest.raises(UsageError):
        change(places, dotted, value)
    assert variable_text(places) == FILE


def test_the_validator_sees_both_trees_and_its_no_stops_everything(write):
    places = write(FILE)
    seen = []

    def refuse(before, after, path):
        seen.append((before.get(path), after.get(path)))
        raise after.wrong(path, "expected something else", "a hint")

    with pytest.raises(UsageError) as caught:
        change(places, "memory.backend", "5", refuse)

    assert caught.value.message == "memory.backend: expected something else"
    assert caught.value.hint == "a hint"
    assert seen == [("sqlite", 5), ("sqlite", "5")]
    assert variable_text(places) == FILE


def test_digits_become_text_where_the_room_wants_text(write):
    places = write(FILE)

    def wants_text(before, after, path):
        if not isinstance(after.get(path), str):
            raise after.wrong(path, "expected text")

    change(places, "default_model", "4", wants_text)

    assert load(places, {}).get("default_model") == "4"


def test_secrets_are_stored_encrypted(write):
    places = write(FILE)
    change(places, "api_key", "sk-열쇠")
    change(places, "channels_config.telegram.bot_token", "12345")
    change(places, "reliability.api_keys", '["a", "b"]')
    change(places, "channels_config.email", '{ password = "p" }')
    text, tree = variable_text(places), load(places, {})

    assert tree.get("api_key") == "sk-열쇠"
    assert tree.get("channels_config.telegram.bot_token") == "12345"
    assert tree.get("reliability.api_keys") == ["a", "b"]
    assert tree.get("channels_config.email.password") == "p"
    assert text.count("enc2:") == 5
    assert find_open_secrets(tree.raw) == []


def test_secrets_stay_plain_when_told_so(write):
    places = write("[secrets]\nencrypt = false\n")
    change(places, "api_key", "sk-1")

    assert 'api_key = "sk-1"' in variable_text(places)
    assert not places.key_file.exists()


def test_an_empty_secret_needs_no_key(places):
    change(places, "api_key", "")

    assert load(places, {}).get("api_key") == ""
    assert not places.key_file.exists()


def test_a_lost_key_is_never_made_anew_while_values_need_it(write):
    places = write('api_key = "enc2:' + "00" * 40 + '"\n')

    with pytest.raises(ConfigError, match=r"\.secret_key is missing"):
        change(places, "web_search.brave_api_key", "k")
    assert not places.key_file.exists()


def test_a_lost_secret_can_be_set_anew(write):
    places = write('api_key = "enc2:' + "00" * 40 + '"\n')
    change(places, "api_key", "new")

    assert load(places, {}).get("api_key") == "new"


def test_an_encrypted_value_is_taken_over_only_if_it_opens(write):
    places = write(FILE)
    change(places, "api_key", "first")
    good = seal("second", read_key(places.key_file))
    change(places, "api_key", good)

    assert load(places, {}).get("api_key") == "second"
    with pytest.raises(UsageError, match="wrong key"):
        change(places, "api_key", "enc2:" + "00" * 40)


def test_a_broken_file_is_not_touched(write):
    places = write("[memory\n")

    with pytest.raises(ConfigError, match=r"config\.toml:1:"):
        change(places, "memory.backend", "none")
    assert variable_text(places) == "[memory\n"


def test_what_the_environment_says_is_not_written(write, monkeypatch):
    places = write(FILE)
    monkeypatch.setenv("CLAW_AGENT__PARALLEL_TOOLS", "true")
    change(places, "memory.backend", "none")

    assert "parallel" not in variable_text(places)


def test_lone_surrogates_are_refused(write):
    places = write(FILE)

    with pytest.raises(UsageError, match="lone surrogate"):
        change(places, "memory.default_namespace", "a\ud800")
    assert variable_text(places) == FILE


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1,
                max_size=8)
VALUES = st.recursive(
    st.booleans() | st.integers(-2**62, 2**62)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(NAMES, inner, max_size=3), max_leaves=5)


@given(st.lists(st.tuples(
    st.sampled_from([("extra_headers",), ("agents",), ("model_routes", "0"),
                     ("cost", "prices"), (), ("memory",), ("a", "b", "c")]),
    NAMES, VALUES), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_under_any_name_comes_back(tmp_path, changes):
    home = tmp_path / "h"
    places = locate(str(home), env={})
    home.mkdir(exist_ok=True)
    places.config_file.write_text("[secrets]\nencrypt = false\n" + FILE
                                  .partition("\n\n")[2])
    expected = {}
    for table, name, value in changes:
        path = (*table, name)
        try:
            set_value(places, path, value, allow)
        except UsageError:
            continue  # a table stands there, or a value above
        expected = {kept: v for kept, v in expected.items()
                    if kept[:len(path)] != path}
        expected[path] = (parse_value(value) if isinstance(value, str)
                          else value)

    tree = load(places, {})
    for path, value in expected.items():
        assert tree.node_or(path) == value, join_key(path)
    assert "# how it remembers" in variable_text(places)
    assert "# the end of memory" in variable_text(places)


def _set_many(home, name):
    places = locate(home, env={})
    for number in range(10):
        set_value(places, ("agents", f"{name}{number}", "model"), name,
                  allow)


def test_what_a_killed_writer_left_is_swept_away(write):
    places = write(FILE)
    for name in ("config.toml", "config.toml.bak"):
        (places.home / f".{name}.0123456789ab.tmp").write_text("x")

    set_value(places, ("memory", "backend"), "none", allow)
    assert not list(places.home.glob(".*.tmp"))


def test_two_processes_writing_at_once_lose_nothing(write):
    places = write(FILE)
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_set_many,
                               args=(str(places.home), name))
               for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert [w.exitcode for w in writers] == [0, 0]
    assert sorted(load(places, {}).names("agents")) == sorted(
        f"{name}{number}" for name in "ab" for number in range(10))
    assert "# how it remembers" in variable_text(places)


def test_a_writer_that_never_ends_is_named(write):
    places = write(FILE)
    waits = []

    with (lock_settings(places),
          pytest.raises(StorageError, match="another proc"),
          lock_settings(places, patience_s=1, sleep=waits.append)):
        pass

    assert sum(waits) == pytest.approx(1)


def _refused(home, results):
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    places = locate(home, env={})
    try:
        set_value(places, ("memory", "backend"), "none", allow)
    except StorageError as error:
        results.put(error.message)
    else:
        results.put("written")


def test_a_read_only_folder(write):
    places = write(FILE)
    places.home.chmod(0o555)
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    parents = [p for p in places.home.parents if p.stat().st_uid
               == os.getuid() and str(p) != "/"]
    modes = [p.stat().st_mode for p in parents]
    try:
        for parent in parents:
            parent.chmod(0o755)
        writer = context.Process(target=_refused,
                                 args=(str(places.home), results))
        writer.start()
        writer.join()
        message = results.get()
    finally:
        for parent, mode in zip(parents, modes, strict=True):
            parent.chmod(stat.S_IMODE(mode))
        places.home.chmod(0o700)

    assert "cannot be written: Permission denied" in message
    assert variable_text(places) == FILE


@pytest.mark.parametrize("text", [
    "a.b.c = 1\na.b.d = 2\n",
    "[a]\nb = {c = 1}\n",
    "[a.b]\nc = 1\n[x]\n[a.e]\n",
    "[[a.list]]\nx = 1\n[a.list.sub]\ny = 1\n",
    "a = {b = {c = 1}}\n",
    "[a]\n[a.b] # here\n",
])
def test_every_way_to_write_tables_can_be_changed(write, text):
    places = write(text)
    change(places, "a.b.c", "9")

    assert load(places, {}).get("a.b.c") == 9
    meant = tomllib.loads(text)
    meant.setdefault("a", {}).setdefault("b", {})["c"] = 9
    assert tomllib.loads(variable_text(places)) == meant


@pytest.mark.parametrize(("text", "dotted", "left"), [
    ("a.x = 1\n[b]\n", "a.x", {"b": {}}),
    ("[a]\nx.y = 1\n[b]\n[a.z]\nq = 1\n", "a.x.y",
     {"a": {"z": {"q": 1}}, "b": {}}),
    ("x = nan\ny = 1\n[a]\nz = 1\n", "y", None),
])
def test_unset_of_keys_written_with_dots(write, text, dotted, left):
    places = write(text)
    unset_value(places, split_key(dotted))

    assert left is None or tomllib.loads(variable_text(places)) == left
    assert not load(places, {}).has(dotted)


def test_a_text_that_would_say_something_else_is_not_written(
        write, monkeypatch):
    places = write(FILE)
    monkeypatch.setattr("tomlkit.dumps", lambda document: "a = 1\n")

    with pytest.raises(FaultError) as caught:
        change(places, "memory.backend", "none")

    assert "claw config edit" in caught.value.hint
    assert variable_text(places) == FILE
