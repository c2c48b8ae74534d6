"""[memory.policy]: read-only namespaces and quotas."""

import pytest

from claw.core.errors import DeniedError
from claw.core.memory import MemoryEntry
from claw.memory.policy import check
from claw.memory.settings import MemoryPolicySettings

AT = "2026-01-01T00:00:00Z"


@pytest.fixture
def asks(memory):
    """asks(key, category=..., namespace=..., **policy): may it be stored?"""
    memory.restore([
        MemoryEntry("", key, "text", category, AT, AT, namespace=namespace)
        for key, category, namespace in (
            ("a", "core", "default"), ("b", "core", "default"),
            ("c", "daily", "default"), ("d", "daily", "work"))],
        overwrite=True)

    def call(key, category="core", namespace="default", **policy):
        check(memory._connection, MemoryPolicySettings(**policy), key,
              category, namespace)
    return call


def test_without_limits_everything_may_be_stored(asks):
    asks("new")
    asks("new", "unheard of", "of nowhere")


def test_nothing_is_written_to_a_read_only_namespace(asks):
    with pytest.raises(DeniedError) as caught:
        asks("new", namespace="work", read_only_namespaces=("work",))

    assert caught.value.message == "namespace 'work' is read-only"
    assert caught.value.exit_code == 6
    assert "read_only_namespaces" in caught.value.hint
    asks("new", read_only_namespaces=("work",))


def test_a_memory_in_a_read_only_namespace_is_not_overwritten(asks):
    """Storing leaves the namespace of a key as it is."""
    with pytest.raises(DeniedError, match="'work' is read-only"):
        asks("d", "daily", "default", read_only_namespaces=("work",))


@pytest.mark.parametrize("most", [2, 1])
def test_a_full_category_takes_no_more(asks, most):
    with pytest.raises(DeniedError) as caught:
        asks("new", max_entries_per_category=most)

    assert caught.value.message == (
        f"category quota exceeded: 2/{most} entries")
    asks("new", max_entries_per_category=3)
    asks("new", "other", max_entries_per_category=most)


def test_a_full_namespace_takes_no_more(asks):
    with pytest.raises(DeniedError) as caught:
        asks("new", "other", max_entries_per_namespace=3)

    assert caught.value.message == "namespace quota exceeded: 3/3 entries"
    asks("new", namespace="work", max_entries_per_namespace=3)
    asks("new", max_entries_per_namespace=4)


def test_what_is_there_may_be_overwritten_when_it_is_full(asks):
    asks("a", max_entries_per_category=2, max_entries_per_namespace=3)
    asks("d", "daily", max_entries_per_namespace=1)


def test_a_memory_that_changes_its_category_needs_a_place_there(asks):
    with pytest.raises(DeniedError, match="category quota exceeded: 2/2"):
        asks("a", "daily", max_entries_per_category=2)
    asks("a", "other", max_entries_per_category=2)


def test_rows_of_before_namespaces_are_in_the_default_one(memory, asks):
    memory._connection.execute("UPDATE memories SET namespace = NULL")

    with pytest.raises(DeniedError, match="namespace quota exceeded: 4/4"):
        asks("new", max_entries_per_namespace=4)
    with pytest.raises(DeniedError, match="'default' is read-only"):
        asks("a", read_only_namespaces=("default",))
