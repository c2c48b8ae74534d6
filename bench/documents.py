"""Folders of documents: what indexing costs, and whether what is asked is
found.

    python bench/documents.py [SET.json] [--files N] [--minilm] [--json]

Cost: N small Markdown files (10,000), indexed by `claw memory index`, looked
through again without a change, and searched in a process of its own by
`claw memory recall --docs`; CPU seconds of the processes, the search also
as a multiple of a bare `python -c pass`, and beside a recall over as many
memories.

Recall (with SET.json, in the form of bench/recall.py): every document a
file, found by the best of its chunks; R@10 beside FTS5's own BM25 over the
whole texts, both over the same files and questions.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

WORDS = (
    "valve", "boiler", "rent", "house", "garden", "letter", "winter",
    "account", "report", "train", "paper", "signal", "station", "river",
    "window", "kitchen", "market", "school")
LIMIT = 10
CHUNKS = 40  # a file may have several among the best


def used() -> float:
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def run(home: Path, *command: str) -> tuple[str, float]:
    """What a process prints, and its CPU seconds."""
    before = used()
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True,
        check=False, env={"PATH": os.environ["PATH"], "HOME": str(home),
                          "CLAW_HOME": str(home / "claw"),
                          "CLAW_MODELS": os.environ.get("CLAW_MODELS", "")})
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return done.stdout, used() - before


def best(home: Path, *command: str, tries: int = 7) -> float:
    return min(run(home, *command)[1] for _ in range(tries))


def write_files(folder: Path, number: int) -> None:
    rng = random.Random(7)
    for index in range(number):
        place = folder / f"part{index % 100}"
        place.mkdir(parents=True, exist_ok=True)
        body = " ".join(rng.choice(WORDS) + str(rng.randrange(300))
                        * (rng.random() < 0.3) for _ in range(90))
        (place / f"note{index}.md").write_text(
            f"# Note {index}\n\n{body}\n\nIt is about topic{index}.\n")


def measure_cost(files: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        write_files(home / "notes", files)
        index = ("-m", "claw", "memory", "index", str(home / "notes"))
        _, first = run(home, *index)
        _, settled = run(home, *index)  # what was new is looked at again
        _, again = run(home, *index)
        lines = "\n".join(json.dumps({
            "key": f"k{number}", "content": path.read_text()})
            for number, path in enumerate(sorted((home / "notes").rglob(
                "*.md"))))
        (home / "lines").write_text(lines)
        run(home, "-m", "claw", "memory", "import", str(home / "lines"))
        bare = best(home, "-c", "pass")
        words = "valve12 and boiler7 in winter"
        recall = ("-m", "claw", "memory", "recall")
        docs = best(home, *recall, "--docs", "notes", words)
        memory = best(home, *recall, words)
        size = sum(path.stat().st_size for path in (
            home / "claw/workspace/memory").glob("docs-*"))
        return {"files": files, "index_s": first, "hashed_again_s": settled,
                "nothing_changed_s": again, "index_mb": size / 1e6,
                "bare_ms": 1000 * bare, "recall_docs_ms": 1000 * docs,
                "recall_docs_x_bare": docs / bare,
                "recall_memory_x_bare": memory / bare}


def share(found: Sequence[str], gold: set[str]) -> float:
    return len(gold & set(found[:LIMIT])) / len(gold)


def search_fts(docs: dict[str, str], questions: Sequence[str]
               ) -> list[list[str]]:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE t USING fts5(id UNINDEXED, x)")
    database.executemany("INSERT INTO t VALUES (?, ?)", docs.items())
    return [[row[0] for row in database.execute(
        "SELECT id FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?",
        (" OR ".join(f'"{word}"' for word in question.replace(
            '"', " ").split()), LIMIT))] for question in questions]


def measure_recall(path: Path, minilm: bool) -> dict[str, object]:
    import claw.wiring.memory.documents as documents
    from claw.config.places import locate
    from claw.config.tree import load

    data = path.read_bytes()
    scores: dict[str, list[float]] = {"fts5 bm25": [], "claw": []}
    chunks = 0
    for group in json.loads(data)["groups"]:
        docs = {str(doc["id"]): doc["text"] for doc in group["docs"]}
        asked = [(one["q"], set(map(str, one["gold"])))
                 for one in group["queries"] if one["gold"]]
        questions = [question for question, _ in asked]
        with tempfile.TemporaryDirectory() as name:
            home = Path(name)
            (home / "notes").mkdir()
            (home / "claw").mkdir()
            if minilm:
                (home / "claw/config.toml").write_text(
                    '[memory]\nembedding_provider = "local"\n')
            for id_, text in docs.items():
                (home / "notes" / f"{id_}.txt").write_text(text)
            run(home, "-m", "claw", "memory", "index", str(home / "notes"))
            tree = load(locate(str(home / "claw")))
            with documents.open_documents(tree, "notes") as store:
                chunks += store.count()
                own = [list(dict.fromkeys(
                    (entry.session_id or "").removesuffix(".txt")
                    for entry in store.recall(question, CHUNKS)))
                    for question in questions]
        for way, found in (("fts5 bm25", search_fts(docs, questions)),
                           ("claw", own)):
            scores[way] += [share(one, gold) for one, (_, gold)
                            in zip(found, asked, strict=True)]
    return {"set": path.name, "sha256": hashlib.sha256(data).hexdigest()[:16],
            "questions": len(scores["claw"]), "chunks": chunks,
            **{f"R@{LIMIT} {way}": statistics.mean(values)
               for way, values in scores.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("set", nargs="?", type=Path)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--minilm", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found: dict[str, object] = {}
    if given.set is not None:
        found |= measure_recall(given.set, given.minilm)
    if given.files:
        found |= measure_cost(given.files)
    if given.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:22} {value:.3f}" if isinstance(value, float)
              else f"{name:22} {value}")


if __name__ == "__main__":
    main()
