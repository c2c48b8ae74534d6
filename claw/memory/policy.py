"""[memory.policy]: what may be stored where, and how much of it.

Asked for inside the transaction that stores, so that two writers can't
both take the last place.
"""

import sqlite3

from claw.core.errors import DeniedError
from claw.memory.settings import MemoryPolicySettings

_CATEGORY = "memories.category = ?"
# The reference leaves it empty in rows of before it had namespaces.
_NAMESPACE = "coalesce(memories.namespace, 'default') = ?"


def check(connection: sqlite3.Connection, policy: MemoryPolicySettings,
          key: str, category: str, namespace: str) -> None:
    """Whether a memory may be stored under `key`. Raises DeniedError.

    A key that exists keeps its namespace, which must not be read-only
    either; it takes a new place only in a category that it was not in.
    """
    held = connection.execute(
        "SELECT category, coalesce(namespace, 'default') FROM memories"
        " WHERE key = ?", (key,)).fetchone()
    namespace = held[1] if held is not None else namespace
    if namespace in policy.read_only_namespaces:
        raise DeniedError(
            f"namespace {namespace!r} is read-only",
            hint="take it out of memory.policy.read_only_namespaces")
    if held is None:
        _check_room(connection, "namespace", _NAMESPACE, namespace,
                    policy.max_entries_per_namespace)
    if held is None or held[0] != category:
        _check_room(connection, "category", _CATEGORY, category,
                    policy.max_entries_per_category)


def _check_room(connection: sqlite3.Connection, what: str, condition: str,
                name: str, most: int) -> None:
    """`most` 0: no limit. Counting ends there, so that a small limit
    costs little in a large store."""
    if not most:
        return
    found = connection.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM memories WHERE {condition}"
        " LIMIT ?)", (name, most)).fetchone()[0]
    if found < most:
        return
    count = connection.execute(
        f"SELECT count(*) FROM memories WHERE {condition}",
        (name,)).fetchone()[0]
    raise DeniedError(
        f"{what} quota exceeded: {count}/{most} entries",
        hint=f"forget some of {name!r}, or raise "
             f"memory.policy.max_entries_per_{what}")
