"""What rows.py starts, with nothing but the standard library: a database,
seconds of CPU time and bytes of memory in, JSON out. It is the rows of each
table, or what is wrong."""

import json
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

_LEAST_VALUE = 1 << 20
_MOST_OUTPUT = 16 << 20


def check(path: Path, seconds: float, memory: int) -> dict[str, int] | str:
    """The rows of each table, or why it is damaged."""
    until = time.process_time() + seconds
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.set_progress_handler(
                lambda: time.process_time() > until, 10_000)
            # No value is longer than the file.
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH,
                                max(path.stat().st_size, _LEAST_VALUE))
            for pragma in ("trusted_schema=OFF", "ignore_check_constraints=1",
                           f"hard_heap_limit={memory}"):
                connection.execute(f"PRAGMA {pragma}")
            (verdict,) = connection.execute("PRAGMA quick_check(1)"
                                            ).fetchone()
            if verdict != "ok":
                return str(verdict)
            names = [name for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
                " AND sql NOT LIKE 'CREATE VIRTUAL%'"  # indexes of others
                " AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name")]
            return {name: connection.execute(
                'SELECT count(*) FROM "{}"'.format(name.replace('"', '""'))
                ).fetchone()[0] for name in names}
    except (sqlite3.Error, MemoryError) as error:
        return str(error) or "out of memory"


def main() -> None:
    path, seconds, memory = sys.argv[1:]
    found = json.dumps(check(Path(path), float(seconds), int(memory)))
    if len(found) > _MOST_OUTPUT:
        found = json.dumps("the names of its tables are too long")
    sys.stdout.write(found)


if __name__ == "__main__":
    main()
