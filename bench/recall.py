"""Recall of claw beside the reference's keyword search, in one run.

    python bench/recall.py DIRECTORY [--questions 200]

DIRECTORY holds data sets as JSON: {"name", "groups": [{"docs": [{"key",
"id", "text"}], "queries": [{"q", "gold": [id], "cat"}]}]}; each group is a
store of its own. The table shows the mean share of a question's memories
among the first 5 and 10, and CPU milliseconds a question.
"""

import argparse
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from claw.core.memory import Filters, MemoryEntry
from claw.memory import recall, rows, schema
from claw.storage.sqlite import connect, write

Search = Callable[[str, int], list[str]]
UNANSWERABLE = 5  # a category of questions without an answer


def claw_search(docs: list[dict[str, str]]) -> Search:
    """A store of claw; texts under their keys."""
    connection = connect(":memory:")
    now = "2026-01-01T00:00:00.000000Z"
    with write(connection, ":memory:"):
        schema.ensure(connection)
        rows.restore(connection, (
            MemoryEntry(doc["id"], doc["key"], doc["text"], "core", now, now)
            for doc in docs), overwrite=True, now=now)

    def search(question: str, limit: int) -> list[str]:
        hits = recall.search(connection, question, limit, Filters())
        held = rows.by_rid(connection, [hit.rid for hit in hits])
        return [held[hit.rid].id for hit in hits]
    return search


def reference_search(docs: list[dict[str, str]]) -> Search:
    """The reference's keyword path: every word quoted, joined with OR,
    the best BM25 over key and content; else LIKE, newest first."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE memories (id TEXT PRIMARY KEY,"
                       " key TEXT, content TEXT)")
    connection.executemany("INSERT INTO memories VALUES (?, ?, ?)", (
        (doc["id"], doc["key"], doc["text"]) for doc in docs))
    connection.execute("CREATE VIRTUAL TABLE memories_fts USING fts5("
                       "key, content, content='memories')")
    connection.execute("INSERT INTO memories_fts(memories_fts)"
                       " VALUES ('rebuild')")

    def search(question: str, limit: int) -> list[str]:
        words = question.split()
        match = " OR ".join(f'"{word}"' for word in words)
        try:
            found = connection.execute(
                "SELECT m.id FROM memories_fts f JOIN memories m"
                " ON m.rowid = f.rowid WHERE memories_fts MATCH ?"
                " ORDER BY bm25(memories_fts) LIMIT ?",
                (match, 2 * limit)).fetchall()
        except sqlite3.OperationalError:
            found = []
        if not found:
            some = words[:8]
            test = " OR ".join(["content LIKE ? OR key LIKE ?"] * len(some))
            found = connection.execute(
                f"SELECT id FROM memories WHERE {test} ORDER BY rowid DESC"
                " LIMIT ?", [f"%{word}%" for word in some
                             for _ in range(2)] + [limit]).fetchall()
        return [row[0] for row in found[:limit]]
    return search


def judged(group: dict[str, Any], most: int) -> Iterator[tuple[str, set[str]]]:
    """The questions that have an answer."""
    usual = (query for query in group["queries"]
             if query["gold"] and query.get("cat") != UNANSWERABLE)
    for _, query in zip(range(most), usual, strict=False):
        yield query["q"], set(query["gold"])


def measure(make: Callable[[list[dict[str, str]]], Search],
            groups: list[dict[str, Any]], most: int
            ) -> tuple[float, float, float, int]:
    """Mean R@5, mean R@10, CPU ms a question, number of questions."""
    five: list[float] = []
    ten: list[float] = []
    spent = 0.0
    for group in groups:
        search = make(group["docs"])
        for question, gold in judged(group, most):
            begun = time.process_time()
            found = search(question, 10)
            spent += time.process_time() - begun
            five.append(len(gold.intersection(found[:5])) / len(gold))
            ten.append(len(gold.intersection(found)) / len(gold))
    count = len(ten) or 1
    return sum(five) / count, sum(ten) / count, 1000 * spent / count, len(ten)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--questions", type=int, default=200,
                        help="at most so many of each group")
    options = parser.parse_args()
    print(f"{'data set':14} {'search':10} {'R@5':>6} {'R@10':>6} {'ms':>7}")
    for path in sorted(options.directory.glob("*.json")):
        data = json.loads(path.read_text("utf-8"))
        for name, make in (("reference", reference_search),
                           ("claw", claw_search)):
            five, ten, spent, count = measure(
                make, data["groups"], options.questions)
            print(f"{data['name']:14} {name:10} {five:6.3f} {ten:6.3f} "
                  f"{spent:7.2f}  ({count} questions)")


if __name__ == "__main__":
    main()
