"""The memory in PostgreSQL, as far as it goes without a server."""

import importlib
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.core.errors import (
    AuthError,
    ConfigError,
    StorageError,
    UnavailableError,
    UsageError,
)
from claw.core.memory import MemoryDeps
from claw.memory.postgres import escape, settings, words
from claw.memory.search.ranking import split_pieces, split_terms
from claw.memory.settings import MemorySettings

URL = "postgresql://claw:canary@db.example:5433/notes"


# Settings


def test_the_reference_s_table_is_read():
    found = settings.decode({
        "provider": "postgres", "db_url": f" {URL} ", "schema": "agent",
        "table": "_Memories2", "connect_timeout_secs": 15,
        "pgvector_enabled": True, "pgvector_dimensions": 1536})

    assert (found.db_url, found.schema, found.table, found.timeout_s) == (
        URL, "agent", "_Memories2", 15)
    assert found.pgvector_enabled is True


def test_defaults_are_those_of_the_reference():
    found = settings.decode({"db_url": URL, "not_ours": {"a": 1}})

    assert (found.schema, found.table, found.pgvector_enabled,
            found.pgvector_dimensions) == ("public", "memories", False, 1536)


@pytest.mark.parametrize("alias", ["dbURL", "database_url", "databaseUrl"])
def test_the_address_has_other_names(alias):
    assert settings.decode({alias: URL, "db_url": " "}).db_url == URL


@pytest.mark.parametrize(("given", "seconds"), [
    (None, 10), (1, 1), (300, 300), (10**30, 300)])
def test_the_wait_for_the_server_has_a_cap(given, seconds):
    assert settings.decode({"db_url": URL, "connect_timeout_secs": given}
                           ).timeout_s == seconds


@pytest.mark.parametrize("storage", [
    {}, {"db_url": ""}, {"db_url": " \n"}, {"db_url": None, "dbURL": ""}])
def test_a_missing_address_says_how_to_set_it(storage):
    with pytest.raises(ConfigError) as caught:
        settings.decode(storage)

    assert caught.value.message.startswith(
        "storage.provider.config.db_url is not set")
    assert "claw config set storage.provider.config.db_url" \
        in caught.value.hint


@pytest.mark.parametrize(("key", "value", "wanted"), [
    ("db_url", 5, "text"), ("dbURL", ["canary"], "text"),
    ("schema", True, "text"), ("table", {"a": 1}, "text"),
    ("connect_timeout_secs", "canary", "a whole number from 1"),
    ("connect_timeout_secs", 0, "a whole number from 1"),
    ("pgvector_enabled", "yes", "true or false"),
    ("pgvector_dimensions", -1, "a whole number from 1"),
    ("schema", "\ud800", "must"),
])
def test_a_wrong_value_is_an_error_that_names_its_key(key, value, wanted):
    with pytest.raises(ConfigError) as caught:
        settings.decode({"db_url": URL, key: value} if key != "dbURL"
                        else {key: value})

    assert caught.value.message.startswith(f"storage.provider.config.{key} ")
    assert wanted in caught.value.message
    caught.value.message.encode()


@pytest.mark.each(("name", "problem"), [
    ("1st", "must start with a letter or an underscore"),
    ("", "must start with"), ("-", "must start with"),
    ("épée", "must start with"), ("my table", "can only contain"),
    ('a"; DROP TABLE b; --', "can only contain"), ("a.b", "can only contain"),
    ("aé", "can only contain"), ("a\n", "can only contain"),
    ("a" * 64, "must not have more than 63"),
])
@pytest.mark.each("key", ["schema", "table"])
def test_names_of_the_table_are_plain_words(key, name, problem):
    with pytest.raises(ConfigError) as caught:
        settings.decode({"db_url": URL, key: name})

    assert caught.value.message.startswith(
        f"storage.provider.config.{key} {problem}")


# Texts


@given(st.text(st.one_of(st.characters(codec="utf-8"),
                         st.sampled_from("\0\U0010fffd01"))))
def test_any_text_comes_back_from_its_escape(text):
    stored = escape.escape(text)

    assert "\0" not in stored
    assert escape.unescape(stored) == text


@given(st.text(st.sampled_from("\0\U0010fffd01a")),
       st.text(st.sampled_from("\0\U0010fffd01a")))
def test_the_start_of_a_text_is_the_start_of_its_escape(start, rest):
    assert escape.escape(start + rest).startswith(escape.escape(start))


def test_what_others_stored_is_read_as_it_stands():
    assert escape.unescape("a\U0010fffdz\U0010fffd") == "a\U0010fffdz" \
        "\U0010fffd"
    assert escape.escape("\ud83c\udf89 \ud800") == "🎉 \ufffd"


# Words


def test_places_of_words_are_kept_within_postgresql_s_limits():
    text = words.vector_text("key", "tea and cake " * 30_000)
    found = dict(part.rsplit(":", 1) for part in text.split(" "))

    assert set(found) == {"'key'", "'tea'", "'and'", "'cake'"}
    assert all(len(places.split(",")) <= 255
               and all(int(place) <= 16_383 for place in places.split(","))
               for places in found.values())


def test_of_a_text_that_is_too_large_the_first_words_are_indexed():
    text = words.vector_text("k", " ".join(f"w{n}x" for n in range(200_000)))

    assert "'w0x':2" in text
    assert "'w199999x'" not in text


@given(st.text())
def test_no_query_breaks_out_of_its_terms(query):
    for term in split_terms(query):
        inner = words.write_query(term).replace("''", "").replace("\\\\", "")
        assert inner.count("'") % 2 == 0
        assert "\0" not in inner


def test_a_term_has_all_its_forms():
    [birthday] = split_terms("birthday")
    [pair, *_] = split_terms("咪咪")
    [prefix] = split_terms("mount*")

    assert "'birth' <-> 'day'" in words.write_query(birthday)
    assert words.write_query(pair) == "('咪咪')"
    assert words.write_query(prefix, pair) == "('mount':*) | ('咪咪')"


def test_a_skeleton_has_its_words_in_their_places():
    assert words.skeleton([("tea", [1, 4]), ("cake", [5])], 6) == (
        "tea   tea cake ")
    assert words.skeleton([], 3) == "  "
    assert words.skeleton([], 10**9).count(" ") < 20_000


def test_pieces_are_what_is_written_without_what_carries_no_topic():
    assert split_pieces("where is the 🎉 of 'Mina'?") == ["🎉", "Mina"]
    assert len(split_pieces("a1 a2 a3 a4 a5 a6 a7 a8 a9")) == 8
    assert split_pieces(" \0 ") != [""]


# Scores, errors and opening: here the library is needed.

WITHOUT = """
import sys
sys.modules["psycopg"] = None
from claw.core.errors import MissingPartError
from claw.memory import REGISTRY
from claw.memory.postgres.settings import PostgresSettings
try:
    REGISTRY.load("postgres")
except MissingPartError as error:
    print(error.message, "|", error.hint)
"""


def test_without_its_library_the_backend_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", WITHOUT], check=False,
                          capture_output=True, text=True)

    assert done.stderr == ""
    assert done.stdout.startswith("memory backend 'postgres' needs psycopg, "
                                  "which is not installed | ")
    assert "postgres" in done.stdout.partition("|")[2]
    assert "pip install 'claw[" not in done.stdout


@pytest.fixture
def errors():
    pytest.importorskip("psycopg")
    return importlib.import_module("claw.memory.postgres.errors")


@pytest.fixture
def own_recall():
    pytest.importorskip("psycopg_pool")
    return importlib.import_module("claw.memory.postgres.recall")


@pytest.fixture
def vectors():
    pytest.importorskip("psycopg_pool")
    return importlib.import_module("claw.memory.postgres.vectors")


@pytest.fixture
def backend():
    pytest.importorskip("psycopg_pool")
    return importlib.import_module(
        "claw.memory.postgres.backend").PostgresMemory


@pytest.mark.parametrize(("state", "kind", "words_"), [
    ("28P01", AuthError, "refused the user 'ann'"),
    ("28000", AuthError, "refused the user 'ann'"),
    ("3D000", ConfigError, "no database 'notes'"),
    ("08006", UnavailableError, "connection was lost"),
    ("40P01", UnavailableError, "others wrote"),
    ("42501", ConfigError, "may not do this: why s***t"),
    ("42P01", StorageError, "public.memories is gone"),
    ("53100", StorageError, "disk of PostgreSQL at db:1 is full"),
    ("53300", UnavailableError, "too many connections"),
    ("54000", UsageError, "too large"),
    ("57014", UnavailableError, "took too long"),
    ("57P01", UnavailableError, "going down"),
    ("25006", StorageError, "can only be read"),
    ("XX001", StorageError, "is damaged"),
    ("99999", StorageError, "db:1: why s***t"),
    (None, UnavailableError, "can't be reached: why s***t"),
])
def test_what_the_server_says_is_told_in_our_words(
        errors, state, kind, words_):
    psycopg = pytest.importorskip("psycopg")
    place = errors.Place("db:1", "ann", "notes", "public.memories", "ecre")
    error = psycopg.OperationalError("why secret\nand more")
    error.sqlstate = state

    found = errors.translate(error, place)
    assert type(found).__mro__[:-1].count(kind) == 1
    assert words_ in found.message
    assert "{" not in f"{found.message}{found.hint}"


@pytest.mark.parametrize(("said", "kind"), [
    ('connection failed: connection to server at "h", port 1 failed: FATAL:'
     '  password authentication failed for user "ann"', AuthError),
    ('FATAL:  database "notes" does not exist', ConfigError),
    ("FATAL:  sorry, too many clients already", UnavailableError),
    ("fe_sendauth: no password supplied", AuthError),
])
def test_a_refused_connection_has_no_state_but_words(errors, said, kind):
    psycopg = pytest.importorskip("psycopg")
    place = errors.Place("h:1", "ann", "notes", "t")

    assert type(errors.translate(psycopg.OperationalError(said), place)
                ) is kind


def test_the_password_is_hidden_however_it_is_written(errors):
    place = errors.Place("h:1", "u", "d", "t", "p@ss/word")

    assert place.hidden("p@ss/word, p%40ss%2Fword, p%40ss/word\n x") == (
        "***, ***, *** x")


@pytest.mark.parametrize("url", [
    "postgresql+asyncpg://claw:canary@h/d", "postgresql://u:can%ary@h/d",
    "canary", "mysql://claw:canary@h/d?x=y", "postgresql://h/?canary=1",
    "host=h password='canary", "postgresql://u:canary\ud800@h/d"])
def test_what_is_no_address_is_refused_without_showing_it(backend, url):
    with pytest.raises(ConfigError) as caught:
        backend.open(Path("x"), MemorySettings(),
                     deps=MemoryDeps(None, {"db_url": url}))

    error = caught.value
    assert error.message.startswith("storage.provider.config.db_url")
    assert "ary" not in f"{error.message} {error.hint} {error.__cause__}"
    assert error.__suppress_context__ or error.__context__ is None


def test_opening_waits_for_no_server(backend):
    memory = backend.open(
        Path("x"), MemorySettings(), deps=MemoryDeps(
            None, {"db_url": "postgresql://u:canary@127.0.0.1:1/d"}))
    try:
        assert memory.name == "postgres"
        assert memory.health_check() is False
        with pytest.raises(UnavailableError) as caught:
            memory.recall("tea")
    finally:
        memory.close()

    assert "127.0.0.1:1 can't be reached" in caught.value.message
    assert "Connection refused" in caught.value.message
    assert "db_url" in caught.value.hint
    assert "canary" not in f"{caught.value.message} {caught.value.hint}"


def test_a_host_without_a_name_is_told(backend):
    memory = backend.open(
        Path("x"), MemorySettings(), deps=MemoryDeps(
            None, {"db_url": "postgresql://u@no-such-host.invalid/d"}))
    try:
        with pytest.raises(UnavailableError, match="no-such-host"):
            memory.count()
    finally:
        memory.close()


def test_patterns_hold_no_signs_of_their_own(own_recall):
    assert own_recall.pattern("50%_\\") == "%50\\%\\_\\\\%"


def test_only_vectors_that_can_be_compared_are_kept(vectors):
    class Embedder:
        dimensions = 2
        model = "it's"

    space = vectors.Space("public", Embedder())

    assert space.text([1, 0.5]) == "[1,0.5]"
    assert space.is_mine == "meaning_model = 'it''s'"
    for vector in ([1.0], [1.0, math.nan], [math.inf, 0.0]):
        with pytest.raises(UnavailableError, match="can't be compared"):
            space.text(vector)
