"""Vectors in brain.db: exact, found by their signs, seen by everyone."""

import contextlib
import math
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claw.memory.search import vectors as vector_math
from claw.memory.sqlite import rows, schema
from claw.memory.sqlite.vectors import index as vector_index
from claw.memory.sqlite.vectors import rows as vectors
from claw.memory.sqlite.vectors import shards as vector_shards
from claw.memory.sqlite.vectors.check import check_vectors, repair_vectors
from claw.storage.sqlite import connect, write

DIMENSIONS = 70  # not a whole number of words, nor of bytes
NOW = "2026-11-20T12:00:00Z"
ROUNDS = settings(max_examples=60, deadline=None, suppress_health_check=[
    HealthCheck.function_scoped_fixture])


@pytest.fixture
def brain(tmp_path):
    """An open brain.db with its tables."""
    with contextlib.closing(connect(tmp_path / "brain.db")) as connection:
        with write(connection, "brain.db"):
            schema.ensure(connection)
        yield connection


@pytest.fixture
def by_signs(monkeypatch):
    """Small stores are searched as large ones are."""
    monkeypatch.setattr(vector_index, "EXACT", 0)


def fresh():
    """A brain in memory, for tests that need many."""
    connection = connect(":memory:")
    connection.execute("BEGIN")
    schema.ensure(connection)
    connection.execute("COMMIT")
    return contextlib.closing(connection)


def remember(connection, *rids):
    connection.executemany(
        "INSERT OR IGNORE INTO memories (rid, id, key, content, created_at,"
        " updated_at) VALUES (?1, ?1, 'key-' || ?1, 'text ' || ?1, ?2, ?2)",
        [(rid, NOW) for rid in rids])


def fill(connection, made, first=1, name="m"):
    """Memories with these vectors, from row `first` on; the model."""
    with write(connection, "brain.db"):
        model = vectors.model_id(connection, name, made.shape[1],
                                 create=True)
        remember(connection, *range(first, first + len(made)))
        assert vectors.put(connection, model,
                           enumerate(made, first)) == len(made)
    return model


def themes(count, dimensions=DIMENSIONS, seed=5):
    """Vectors in clusters, as embeddings of sentences lie."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((50, dimensions))
    made = centres[rng.integers(0, 50, count)] + 0.5 * rng.standard_normal(
        (count, dimensions))
    return made.astype("<f4")


def cosine(one, other):
    """By the book, in Python's own numbers."""
    lengths = math.sqrt(math.fsum(x * x for x in one)) * math.sqrt(
        math.fsum(x * x for x in other))
    dot = math.fsum(x * y for x, y in zip(one, other, strict=True))
    return dot / lengths if lengths else 0.0


def brute(made, query, first=1):
    """(row id, cosine), best first."""
    found = [(rid, cosine(row.tolist(), query.tolist()))
             for rid, row in enumerate(made, first)]
    return sorted(found, key=lambda hit: (-hit[1], hit[0]))


def search(connection, model, query, pool=10, allowed=None):
    return vectors.VectorIndex().search(connection, model, query, pool,
                                        allowed)


def held(connection, model, rid):
    """The signs in the shard, as the bytes of one slot."""
    bits = connection.execute(
        "SELECT bits FROM vector_shards WHERE model = ? AND shard = ?",
        (model, rid >> 12)).fetchone()[0]
    width = len(bits) // 4096
    return bits[(rid & 4095) * width:][:width]


numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


@ROUNDS
@given(st.integers(1, 130).flatmap(lambda d: st.tuples(
    st.lists(numbers, min_size=d, max_size=d),
    st.lists(st.lists(numbers, min_size=d, max_size=d), max_size=5))))
def test_cosines_are_exact_for_any_finite_numbers(given_):
    query, others = given_
    with fresh() as connection:
        model = vectors.model_id(connection, "m", len(query), create=True)
        remember(connection, *range(len(others)))
        vectors.put(connection, model, enumerate(others))

        found = vectors.VectorIndex().cosines(
            connection, model, query, [*range(len(others)), 99])

        assert found.keys() == set(range(len(others)))
        for rid, other in enumerate(others):
            assert found[rid] == pytest.approx(cosine(query, other),
                                               abs=1e-6)
            assert -1.0 <= found[rid] <= 1.0


changes = st.lists(st.tuples(
    st.sampled_from(["put", "put", "put", "forget", "supersede", "other",
                     "rebuild", "search", "undone"]),
    st.integers(0, 7)), max_size=30)


@ROUNDS
@given(changes, st.integers(0, 2**32))
def test_search_follows_every_kind_of_change(by_signs, done, seed):
    rng = np.random.default_rng(seed)
    places = [1, 2, 4095, 4096, 8191, 9000, 2**40, -1]
    live: dict[int, np.ndarray] = {}
    query = rng.standard_normal(DIMENSIONS)
    index = vectors.VectorIndex()
    with fresh() as connection:
        model = vectors.model_id(connection, "m", DIMENSIONS, create=True)
        second = vectors.model_id(connection, "n", 8, create=True)
        for what, number in done:
            rid = places[number]
            if what == "put":
                remember(connection, rid)
                live[rid] = rng.standard_normal(DIMENSIONS).astype("<f4")
                vectors.put(connection, model, [(rid, live[rid])])
            elif what == "forget":
                rows.delete(connection, "rid = ?", [rid], now=None)
                live.pop(rid, None)
            elif what == "supersede":
                rows.unindex(connection, "= ?", (rid,))
                live.pop(rid, None)
            elif what == "other":
                remember(connection, rid)
                vectors.put(connection, second, [(rid, [1.0] * 8)])
                live.pop(rid, None)
            elif what == "rebuild":
                connection.execute("DELETE FROM vector_shards")
                repair_vectors(connection)
            elif what == "undone":
                connection.execute("BEGIN")
                vectors.put(connection, model, [
                    (place, rng.standard_normal(DIMENSIONS))
                    for place in live])
                index.search(connection, model, query, 10)
                connection.execute("ROLLBACK")
            elif what == "search":
                index.search(connection, model, query, 10)

        found = index.search(connection, model, query, 10)

        expected = sorted(((rid, cosine(row.tolist(), query.tolist()))
                           for rid, row in live.items()),
                          key=lambda hit: -hit[1])
        assert [rid for rid, _ in found.hits] == [rid for rid, _ in expected]
        assert [score for _, score in found.hits] == pytest.approx(
            [score for _, score in expected], abs=1e-6)
        assert all(finding.ok for finding in check_vectors(connection))


def test_the_ten_best_of_many_are_found_by_their_signs(brain):
    made = themes(6_000, 192)
    model = fill(brain, made)
    index = vectors.VectorIndex()
    found = 0
    for query in themes(30, 192)[:30] + 0.3 * themes(30, 192, seed=9):
        query = query.astype("<f4")
        exact = np.argsort(-(made @ query / np.linalg.norm(made, axis=1)))
        hits = index.search(brain, model, query, 200).hits
        found += len({rid for rid, _ in hits[:10]}
                     & {int(row) + 1 for row in exact[:10]})
        assert len(hits) == 200
        assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    assert found >= 0.98 * 300


def test_a_small_store_is_compared_whole(brain):
    made = themes(300)
    model = fill(brain, made)
    brain.execute("DELETE FROM vector_shards")  # not even looked at
    query = themes(1, seed=8)[0]

    found = search(brain, model, query)

    expected = brute(made, query)
    assert [rid for rid, _ in found.hits] == [r for r, _ in expected[:10]]
    assert found.mean == pytest.approx(
        sum(score for _, score in expected) / 300, abs=1e-6)


def test_the_mean_of_a_large_store_is_estimated(brain):
    made = themes(5_000) + 1.0
    model = fill(brain, made, first=100_000)
    query = made[7]

    found = search(brain, model, query)

    true = np.mean(made @ query / np.linalg.norm(made, axis=1)
                   / np.linalg.norm(query))
    assert found.mean == pytest.approx(true, abs=0.05)
    assert true > 0.4
    assert search(brain, model, query).mean == found.mean


def test_the_mean_is_estimated_where_row_ids_lie_far_apart(brain, by_signs):
    made = themes(200) + 1.0
    with write(brain, "brain.db"):
        model = vectors.model_id(brain, "m", DIMENSIONS, create=True)
        rids = [number * 10**12 for number in range(200)]
        remember(brain, *rids)
        vectors.put(brain, model, zip(rids, made, strict=True))
    true = np.mean(made @ made[7] / np.linalg.norm(made, axis=1)
                   / np.linalg.norm(made[7]))

    assert search(brain, model, made[7]).mean == pytest.approx(true, abs=0.05)


def test_signs_of_removed_vectors_crowd_nobody_out(brain, by_signs):
    rng = np.random.default_rng(1)
    query = rng.standard_normal(DIMENSIONS).astype("<f4")
    model = fill(brain, query + 0.01 * rng.standard_normal(
        (6_000, DIMENSIONS)))
    others = themes(450)
    fill(brain, others, first=7_000)
    with write(brain, "brain.db"):
        rows.delete(brain, "rid <= 6000", (), now=None)

    found = search(brain, model, query, pool=200)

    expected = brute(others, query, first=7_000)
    assert [rid for rid, _ in found.hits[:10]] == [
        rid for rid, _ in expected[:10]]
    assert len(found.hits) == 200


@pytest.mark.parametrize("kept", [1, 30, 600])
def test_only_allowed_rows_are_found(brain, by_signs, monkeypatch, kept):
    monkeypatch.setattr(vector_index, "EXACT", 20)
    made = themes(600)
    model = fill(brain, made, first=4_000)  # in two shards
    allowed = set(range(4_599, 4_599 - kept, -1)) | {3, 10**9}
    query = themes(1, seed=8)[0]

    found = search(brain, model, query, allowed=allowed)

    expected = [hit for hit in brute(made, query, first=4_000)
                if hit[0] in allowed]
    assert found.hits == [(rid, pytest.approx(score, abs=1e-6))
                          for rid, score in expected[:10]]
    assert found.mean == search(brain, model, query).mean
    assert search(brain, model, query, allowed=[]).hits == []


@pytest.mark.parametrize("vector", [
    [1.0] * 69, [1.0] * 71, [], [[1.0] * 70], 1.0, ["one"] * 70, None,
    [math.nan] + [1.0] * 69, [1.0] * 69 + [-math.inf], [1e39] + [1.0] * 69,
])
def test_what_is_no_vector_is_refused(brain, vector):
    model = fill(brain, themes(3))
    before = brain.execute("SELECT embedding FROM vectors").fetchall()

    with pytest.raises(ValueError, match="vector"):
        vectors.put(brain, model, [(1, vector)])
    for ask in (search, lambda *given_: vectors.VectorIndex().cosines(
            *given_, [1])):
        with pytest.raises(ValueError, match="vector"):
            ask(brain, model, vector)

    assert brain.execute("SELECT embedding FROM vectors"
                         ).fetchall() == before


def test_what_was_written_before_a_refused_vector_is_whole(brain):
    with write(brain, "brain.db"):
        model = vectors.model_id(brain, "m", 8, create=True)
        remember(brain, 1, 2)
        with pytest.raises(ValueError):
            vectors.put(brain, model, [(1, [1.0] * 8), (2, [1.0])])

    assert all(finding.ok for finding in check_vectors(brain))
    assert held(brain, model, 1)[0] == 255


def test_rows_that_are_gone_or_superseded_get_no_vector(brain):
    with write(brain, "brain.db"):
        model = vectors.model_id(brain, "m", 8, create=True)
        remember(brain, 1, 2)
        brain.execute("UPDATE memories SET superseded_by = 'x' WHERE rid = 2")

        assert vectors.put(brain, model, [
            (rid, [1.0] * 8) for rid in (1, 2, 3)]) == 1

    assert brain.execute("SELECT rid, embedding FROM vectors").fetchall() == [
        (1, struct.pack("<8f", *[1.0] * 8))]
    with pytest.raises(ValueError, match="no model 7"):
        vectors.put(brain, 7, [(1, [1.0] * 8)])


def test_one_vector_writes_some_pages_and_not_the_whole_shard(
        brain, tmp_path):
    model = fill(brain, themes(3_000, 384))
    brain.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    with write(brain, "brain.db"):
        vectors.put(brain, model, [(1_500, [-1.0] * 384)])

    assert (tmp_path / "brain.db-wal").stat().st_size < 6 * 4_200
    assert held(brain, model, 1_500) == bytes(47) + b"\x01"
    assert search(brain, model, [-1.0] * 384).hits[0] == (
        1_500, pytest.approx(1.0))


def test_many_vectors_write_each_shard_once(brain):
    model = fill(brain, themes(5_000))
    said = []
    brain.set_trace_callback(said.append)
    fill(brain, -themes(5_000))
    brain.set_trace_callback(None)

    assert len([line for line in said if line.startswith(
        ("INSERT INTO vector_shards", "UPDATE vector_shards"))]) == 2
    assert all(finding.ok for finding in check_vectors(brain))
    assert check_vectors(brain)[0].detail.startswith("5000 ")
    assert model == 1


def test_others_writes_are_seen(brain, tmp_path, by_signs):
    made = themes(100)
    model = fill(brain, made)
    index = vectors.VectorIndex()
    query = themes(1, seed=8)[0]
    for _ in range(3):
        best = index.search(brain, model, query, 10).hits[0]
    assert best[1] < 0.999

    with contextlib.closing(connect(tmp_path / "brain.db")) as other:
        fill(other, query[None, :], first=5_000)

    assert index.search(brain, model, query, 10).hits[0] == (
        5_000, pytest.approx(1.0))
    brain.execute("DELETE FROM vectors WHERE rid = 5000")
    assert index.search(brain, model, query, 10).hits[0] == best


def test_what_was_undone_is_not_remembered(brain, by_signs):
    made = themes(100)
    model = fill(brain, made)
    index = vectors.VectorIndex()
    before = index.search(brain, model, made[0], 10)

    brain.execute("BEGIN")
    vectors.put(brain, model, enumerate(-made, 1))
    assert index.search(brain, model, made[0], 10) != before
    brain.execute("ROLLBACK")

    assert index.search(brain, model, made[0], 10) == before


def test_more_are_compared_where_the_signs_tell_little(
        brain, by_signs, monkeypatch):
    monkeypatch.setattr(vector_index, "RESCORED", 60)
    rng = np.random.default_rng(2)
    made = rng.standard_normal((4_000, DIMENSIONS)).astype("<f4")
    model = fill(brain, made)
    queries = rng.standard_normal((30, DIMENSIONS)).astype("<f4")

    def found():
        total = 0
        for query in queries:
            exact = np.argsort(-(made @ query / np.linalg.norm(made, axis=1)))
            total += len({rid for rid, _ in search(
                brain, model, query).hits} & {int(r) + 1 for r in exact[:10]})
        return total

    with_more = found()
    monkeypatch.setattr(vector_index, "MORE", 1)
    assert with_more > found() + 30


def test_what_is_kept_between_searches_is_bounded(
        brain, by_signs, monkeypatch):
    made = themes(40)
    rids = [number * 4_096 for number in range(40)]
    with write(brain, "brain.db"):
        model = vectors.model_id(brain, "m", DIMENSIONS, create=True)
        remember(brain, *rids)
        vectors.put(brain, model, zip(rids, made, strict=True))
    read = []
    brain.set_trace_callback(lambda line: read.append(line)
                             if line.startswith("SELECT bits") else None)
    monkeypatch.setattr(vector_index, "CACHE_BYTES", 30 * 4_096 * 16 + 1)
    index = vectors.VectorIndex()

    counts = []
    for _ in range(4):
        read.clear()
        found = index.search(brain, model, made[7], 10)
        counts.append(len(read))
        assert found.hits[0] == (7 * 4_096, pytest.approx(1.0))

    assert counts == [40, 40, 10, 10]  # the first may be the only one


def test_models_are_never_compared_with_each_other(brain, by_signs):
    first = fill(brain, themes(20), name="first")
    second = fill(brain, themes(20)[10:], first=11, name="second")

    assert {rid for rid, _ in search(brain, first, themes(1)[0], 50).hits
            } == set(range(1, 11))
    assert {rid for rid, _ in search(brain, second, themes(1)[0], 50).hits
            } == set(range(11, 21))
    assert vectors.VectorIndex().cosines(
        brain, first, themes(1)[0], [10, 11]).keys() == {10}
    index = vectors.VectorIndex()
    for model, first_of in [(first, 1), (second, 11)] * 3:
        assert index.search(brain, model, themes(20)[first_of - 1], 1
                            ).hits == [(first_of, pytest.approx(1.0))]
    assert search(brain, 9, themes(1)[0]) == vectors.Nearby([], 0.0)
    assert vectors.VectorIndex().cosines(brain, 9, [1.0], [1]) == {}


def test_zero_vectors_score_nothing(brain, by_signs):
    model = fill(brain, np.array([[0.0] * 8, [1.0] * 8], "<f4"))

    assert search(brain, model, [1.0] * 8).hits == [
        (2, pytest.approx(1.0)), (1, 0.0)]
    assert search(brain, model, [0.0] * 8).hits == [(1, 0.0), (2, 0.0)]


@pytest.mark.parametrize("far", [1, 10**6])
def test_places_without_a_vector_are_not_looked_up(
        brain, by_signs, monkeypatch, far):
    monkeypatch.setattr(vector_index, "RESCORED", 40)
    made = -np.abs(themes(50))  # no sign is set
    with write(brain, "brain.db"):
        model = vectors.model_id(brain, "m", DIMENSIONS, create=True)
        rids = [number * far for number in range(50)]
        remember(brain, *rids)
        vectors.put(brain, model, zip(rids, made, strict=True))
    read = []
    brain.set_trace_callback(lambda line: read.append(line)
                             if "json_each" in line else None)

    found = search(brain, model, made[7], 40)

    assert len(found.hits) == 40
    assert found.hits[0] == (7 * far, pytest.approx(1.0))
    assert len(read) <= 4


def test_an_empty_store_finds_nothing(brain, by_signs):
    model = vectors.model_id(brain, "m", 8, create=True)

    assert search(brain, model, [1.0] * 8) == vectors.Nearby([], 0.0)


DAMAGE = {
    "a short vector": ("vectors", "UPDATE vectors SET embedding ="
                       " substr(embedding, 5) WHERE rid = 2"),
    "a text": ("vectors", "UPDATE vectors SET embedding ="
               " printf('%.280c', 'x') WHERE rid = 2"),
    "not a number": ("vectors", "UPDATE vectors SET embedding = CAST("
                     "x'0000c07f' || substr(embedding, 5) AS BLOB)"
                     " WHERE rid = 2"),
    "infinite": ("vectors", "UPDATE vectors SET embedding = CAST("
                 "x'0000807f' || substr(embedding, 5) AS BLOB)"
                 " WHERE rid = 2"),
    "an unknown model": ("vectors",
                         "UPDATE vectors SET model = 99 WHERE rid = 2"),
    "a removed memory": ("vectors", "DELETE FROM memories WHERE rid = 2"),
    "a superseded memory": ("vectors", "UPDATE memories SET"
                            " superseded_by = 'x' WHERE rid = 2"),
    "a lost shard": ("vector_index", "DELETE FROM vector_shards"),
    "a short shard": ("vector_index",
                      "UPDATE vector_shards SET bits = x'00'"),
    "a shard of text": ("vector_index",
                        "UPDATE vector_shards SET bits = 'nonsense'"),
    "empty signs": ("vector_index", "UPDATE vector_shards SET"
                    " bits = zeroblob(length(bits))"),
    "a shard of nothing": (None, "INSERT INTO vector_shards"
                           " (model, shard, bits) VALUES (1, 77, x'00')"),
    "a shard of nobody": (None, "INSERT INTO vector_shards"
                          " (model, shard, bits) VALUES (9, 0, x'00')"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_harmless_told_and_repaired(brain, by_signs, name):
    told, damage = DAMAGE[name]
    made = themes(50)
    model = fill(brain, made)
    brain.execute(damage)

    found = search(brain, model, made[1], 50)

    assert all(-1.0 <= score <= 1.0 for _, score in found.hits)
    assert math.isfinite(found.mean)
    assert [finding.id for finding in check_vectors(brain)
            if not finding.ok] == ([told] if told else [])
    with write(brain, "brain.db"):
        assert repair_vectors(brain) >= 1
    assert all(finding.ok for finding in check_vectors(brain))
    with write(brain, "brain.db"):
        assert repair_vectors(brain) == 0
    left = {rid for rid, _ in search(brain, model, made[1], 50).hits}
    assert left == set(range(1, 51)) - ({2} if told == "vectors" else set())


def test_looking_over_writes_nothing_and_counts_what_is_left(brain):
    fill(brain, themes(50))
    rows.delete(brain, "rid <= 5", (), now=None)
    before = brain.total_changes

    findings = check_vectors(brain)

    assert [(finding.id, finding.ok) for finding in findings] == [
        ("vectors", True), ("vector_index", True)]
    assert "5 places of vectors that are gone" in findings[1].detail
    assert brain.total_changes == before
    with write(brain, "brain.db"):
        assert repair_vectors(brain) == 1
    assert check_vectors(brain)[1].detail == "all vectors are in it"


def test_a_damaged_shard_is_made_anew_by_the_next_vector(brain, by_signs):
    made = themes(50)
    model = fill(brain, made)
    brain.execute("UPDATE vector_shards SET bits = x'01'")

    with write(brain, "brain.db"):
        vectors.put(brain, model, [(1, made[0])])

    assert all(finding.ok for finding in check_vectors(brain))
    assert len(search(brain, model, made[3], 60).hits) == 50


def test_missing_memories_come_in_order_page_by_page(brain):
    fill(brain, themes(4))
    remember(brain, *range(5, 11))
    brain.execute("UPDATE memories SET superseded_by = 'x' WHERE rid = 6")
    with write(brain, "brain.db"):
        rows.unindex(brain, "= ?", (2,))
        other = fill_model(brain, "other")
        vectors.put(brain, other, [(3, [1.0] * 8)])

    first = vectors.missing(brain, 1, 3)
    rest = vectors.missing(brain, 1, 9, after=first[-1][0])

    assert first[0] == (2, "key-2", "text 2")
    assert [row[0] for row in first + rest] == [2, 3, 5, 7, 8, 9, 10]
    assert vectors.count_missing(brain, 1) == 7
    assert vectors.count_missing(brain, other) == 8
    assert vectors.count_missing(brain, None) == 9
    assert [row[0] for row in vectors.missing(brain, None, 99)] == [
        1, 2, 3, 4, 5, 7, 8, 9, 10]


def fill_model(connection, name):
    return vectors.model_id(connection, name, 8, create=True)


def test_texts_that_changed_while_they_were_embedded_are_told_apart(brain):
    remember(brain, 1, 2, 3, 4)
    asked = vectors.missing(brain, None, 10)
    brain.execute("UPDATE memories SET content = 'new' WHERE rid = 1")
    brain.execute("DELETE FROM memories WHERE rid = 2")
    brain.execute("UPDATE memories SET superseded_by = 'x' WHERE rid = 3")

    assert vectors.unchanged(brain, asked) == {4}


def test_a_model_is_known_by_name_and_length(brain):
    assert vectors.model_id(brain, "m", 8, create=False) is None
    model = vectors.model_id(brain, "m", 8, create=True)
    remember(brain, 1)
    vectors.put(brain, model, [(1, [1.0] * 8)])

    assert vectors.model_id(brain, "m", 8, create=True) == model
    assert vectors.model_id(brain, "m", 9, create=False) is None
    assert vectors.model_id(brain, "n", 8, create=True) != model
    assert vectors.count_missing(brain, model) == 0

    assert vectors.model_id(brain, "m", 9, create=True) == model
    assert vectors.count_missing(brain, model) == 1
    assert all(finding.ok for finding in check_vectors(brain))
    for impossible in (0, -1, 10**6):
        with pytest.raises(ValueError, match="numbers"):
            vectors.model_id(brain, "x", impossible, create=True)
        assert vectors.model_id(brain, "x", impossible, create=False) is None


@ROUNDS
@given(st.integers(1, 400), st.integers(0, 2**32))
def test_distances_are_the_weighted_signs_that_differ(dimensions, seed):
    rng = np.random.default_rng(seed)
    query = rng.standard_normal(dimensions).astype("<f4")
    others = rng.standard_normal((4_096, dimensions)).astype("<f4")
    shard = vector_shards.words(vector_math.signs(others).tobytes(),
                                dimensions)
    sizes = np.abs(query)
    weights = np.clip(np.rint(sizes * (1.5 / sizes.mean())), 0, 3)

    found = vector_math.Distances(query).to(shard)

    above = others > 0
    if dimensions % 64 == 0:  # else it is a bit that stands for nothing
        above[~above.any(axis=1), -1] = True
    assert np.array_equal(found, (above != (query > 0)) @ weights)


def test_a_slot_without_a_vector_is_far_from_everything():
    empty = np.zeros((4_096, 2), np.uint64)

    for query in (*themes(5), np.zeros(DIMENSIONS, "<f4")):
        assert set(vector_math.Distances(query).to(empty)) == {
            vector_math.FAR}


def test_an_older_numpy_counts_the_same(monkeypatch):
    query, *others = themes(4_097, 130)
    shard = vector_shards.words(
        vector_math.signs(np.array(others)).tobytes(), 130)
    found = vector_math.Distances(query).to(shard)
    monkeypatch.setattr(vector_math, "_COUNT", None)

    assert np.array_equal(vector_math.Distances(query).to(shard), found)
