"""What was said just before and after a memory, in the same conversation.

Only within a session, and within an hour: what lies a day apart is another
talk. Memories without a session have no neighbours.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime

from claw.memory.search.scoring import GAP_S, REACH
from claw.memory.sqlite.rows import IN_IDS, write_ids

# For each row the two before and the two after, in the order of the
# conversation; superseded ones do not count.
_BESIDE = """
SELECT m.rid, m.created_at, n.rid, n.created_at
FROM memories AS m CROSS JOIN memories AS n
WHERE m.rid {ids}
AND m.session_id IS NOT NULL AND n.rid IN (
    SELECT * FROM (SELECT rid FROM memories AS a
        WHERE a.session_id = m.session_id AND a.superseded_by IS NULL
        AND (a.created_at, a.rid) {sign} (m.created_at, m.rid)
        ORDER BY a.created_at {order}, a.rid {order} LIMIT {reach}))
ORDER BY m.rid, n.created_at {order}, n.rid {order}
"""


def neighbours(connection: sqlite3.Connection, rids: Sequence[int]
               ) -> Iterator[tuple[int, int, int]]:
    """(row, its neighbour, distance 1 or 2) for rows with a session."""
    if not rids:
        return
    wanted = write_ids(rids)
    for sign, order in ((">", "ASC"), ("<", "DESC")):
        last, distance = None, 0
        for rid, at, other, beside_at in connection.execute(_BESIDE.format(
                ids=IN_IDS, sign=sign, order=order, reach=REACH), (wanted,)):
            distance = distance + 1 if rid == last else 1
            last = rid
            if _apart_s(at, beside_at) <= GAP_S:
                yield rid, other, distance


def _apart_s(one: str, other: str) -> float:
    """Seconds between two stored times; within one hour of the clock it
    need not be known exactly."""
    if one[:13] == other[:13]:
        return 0.0
    try:
        first, second = (datetime.fromisoformat(text[:26])
                         for text in (one, other))
        return abs((first - second).total_seconds())
    except (ValueError, TypeError):
        return 0.0  # a time of another program that is none
