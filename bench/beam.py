"""Recall from long chats with an assistant, beside plain BM25, in one run.

    python bench/beam.py DIRECTORY [--size 100K] [--chats N] [--minilm]
        [--json]

DIRECTORY is a checkout (or `git --git-dir` repository, bare) of BEAM
(github.com/mohammadtavakoli78/BEAM; it names no licence: it is measured,
never shipped). Each message of a chat is a memory, with its role as sender
and its day; a question's evidence are the messages that it names. The table
shows the mean share of a question's evidence among the first ten, over all
nine abilities, over the six that ask for single statements, and for each,
with the share of contradictions of which both statements are there ("both"),
and CPU milliseconds a question:

    fts5   SQLite's own BM25 (unicode61), the words of a question with OR
    claw   the Python API as it comes; with --minilm by meaning as well
"""

import argparse
import hashlib
import json
import re
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from recall import LOCAL, opened

from claw.core.memory import (
    CONVERSATION,
    EmbedsMemories,
    MemoryEntry,
    RestoresMemories,
)

SIX = ("contradiction_resolution", "information_extraction",
       "knowledge_update", "multi_session_reasoning",
       "preference_following", "temporal_reasoning")
LIMIT = 10
_MARK = re.compile(r"\s*->->.*$", re.DOTALL)  # which plan a message is of
Search = Callable[[str], list[str]]


class Asked(NamedTuple):
    """A question, its ability, and the messages that answer it."""

    text: str
    ability: str
    evidence: frozenset[str]


class Talk(NamedTuple):
    """One chat."""

    messages: list[MemoryEntry]
    questions: list[Asked]


def read_file(directory: Path, path: str) -> bytes | None:
    """A file of the checkout or the repository; None where it is not."""
    if (directory / "chats").is_dir():
        file = directory / path
        return file.read_bytes() if file.is_file() else None
    done = subprocess.run(
        ["git", "--git-dir", str(directory), "show", f"HEAD:{path}"],
        capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def read_talks(directory: Path, size: str, most: int
               ) -> tuple[list[Talk], str]:
    """The chats of a size, and the hash of what was read."""
    talks: list[Talk] = []
    digest = hashlib.sha256()
    for number in range(1, most + 1):
        base = f"chats/{size}/{number}"
        chat = (read_file(directory, f"{base}/chat_trunecated.json")
                or read_file(directory, f"{base}/chat.json"))
        asked = read_file(
            directory, f"{base}/probing_questions/probing_questions.json")
        if chat is None or asked is None:
            break
        digest.update(chat + asked)
        talks.append(Talk(read_messages(json.loads(chat)),
                          read_questions(json.loads(asked))))
    if not talks:
        raise SystemExit(f"no chats of size {size} in {directory}")
    return talks, digest.hexdigest()[:16]


def read_messages(chat: Any) -> list[MemoryEntry]:
    found: list[MemoryEntry] = []
    at = datetime(2024, 1, 1)
    for batch in chat:
        for message in (one for turn in batch["turns"] for one in turn):
            if message.get("time_anchor"):
                at = datetime.strptime(message["time_anchor"], "%B-%d-%Y")
            at += timedelta(seconds=30)
            said = at.isoformat() + "Z"
            found.append(MemoryEntry(
                "", f"message_{message['id']}",
                _MARK.sub("", message["content"]), CONVERSATION, said, said,
                f"batch {batch['batch_number']}",
                sender=None if message["role"] == "user" else "assistant"))
    return found


def read_questions(asked: Any) -> list[Asked]:
    return [Asked(one["question"], ability, frozenset(
        f"message_{number}" for number in flat(one["source_chat_ids"])))
        for ability, questions in asked.items() for one in questions
        if flat(one.get("source_chat_ids"))]


def flat(ids: Any) -> list[int]:
    """Numbers, however they are nested."""
    if isinstance(ids, dict):
        ids = list(ids.values())
    if isinstance(ids, list):
        return [number for one in ids for number in flat(one)]
    return [] if ids is None else [ids]


@contextmanager
def through_fts5(talk: Talk) -> Iterator[Search]:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(key UNINDEXED, content)")
    db.executemany("INSERT INTO t VALUES (?, ?)",
                   ((one.key, one.content) for one in talk.messages))

    def search(question: str) -> list[str]:
        match = " OR ".join(f'"{word}"' for word in
                            re.findall(r"\w+", question))
        return [key for (key,) in db.execute(
            "SELECT key FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?",
            (match, LIMIT))]
    yield search
    db.close()


def through_claw(settings: str) -> Callable[[Talk], Any]:
    @contextmanager
    def open_(talk: Talk) -> Iterator[Search]:
        with opened(settings) as memory:
            assert isinstance(memory, RestoresMemories)
            memory.restore(talk.messages, overwrite=True)
            if isinstance(memory, EmbedsMemories) and memory.embedder:
                memory.embed_missing(lambda _: None)
            yield lambda question: [
                found.key for found in memory.recall(question, LIMIT)]
    return open_


def measure(talks: Sequence[Talk], open_: Callable[[Talk], Any]
            ) -> dict[str, float]:
    """R@10 by ability, over all and over the six, and ms a question."""
    shares: dict[str, list[float]] = {}
    spent = 0.0
    for talk in talks:
        with open_(talk) as search:
            for asked in talk.questions:
                begun = time.process_time()
                found = search(asked.text)
                spent += time.process_time() - begun
                shares.setdefault(asked.ability, []).append(
                    len(asked.evidence.intersection(found))
                    / len(asked.evidence))
    every = [share for one in shares.values() for share in one]
    return {"all": statistics.fmean(every), "six": statistics.fmean(
        share for name in SIX for share in shares[name]),
        "both": statistics.fmean(share == 1 for share in shares[SIX[0]]),
        **{name: statistics.fmean(one) for name, one in shares.items()},
        "ms": 1000 * spent / len(every)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--size", default="100K")
    parser.add_argument("--chats", type=int, default=1_000)
    parser.add_argument("--minilm", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    talks, digest = read_talks(options.directory, options.size,
                               options.chats)
    ways = {"fts5": through_fts5, "claw": through_claw("")}
    if options.minilm:
        ways["claw-minilm"] = through_claw(LOCAL)
    rows = {name: measure(talks, way) for name, way in ways.items()}
    if options.json:
        print(json.dumps({"size": options.size, "sha256": digest, **rows}))
        return
    print(f"BEAM {options.size}: {len(talks)} chats, "
          f"{sum(len(talk.questions) for talk in talks)} questions, "
          f"data {digest}")
    print(f"{'':26}" + "".join(f"{name:>12}" for name in rows))
    for name in next(iter(rows.values())):
        print(f"{name:26}" + "".join(
            f"{row[name]:12.3f}" for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
