"""Recall of claw beside the reference's algorithm, in one run.

    python bench/recall.py DIRECTORY [--sets a,b] [--only claw,reference]
        [--questions N] [--cli N] [--variants] [--by-category] [--json]
        [--cost]

DIRECTORY holds data sets as JSON:

    {"name", "groups": [{
        "docs": [{"key", "id", "text", "sess"?}],
        "queries": [{"q", "gold": [id], "cat"}]}]}

Each group is a store of its own; a document is a memory, in the order given,
and those with the same "sess" are one session. Questions of LoCoMo's
category 5 (they have no answer) and questions without gold are left out.

The table shows means over questions: the share of a question's memories
among the first 5 and 10, nDCG@10 and MRR (binary gains), and CPU
milliseconds a question. The rows:

    reference         its keyword search: every word quoted, joined with OR,
                      BM25 over key and content; LIKE where nothing is left
    reference-hybrid  with MiniLM: the best 2 x limit of each list, cosine
                      0.7, BM25 over the best 0.3, what is missing counts 0
    trigram           FTS5's trigram index over the content, any of the
                      question's threes, BM25
    claw              the Python API as it comes: open_memory, store, recall
    claw-cli          `claw memory import` and `claw memory recall --json`,
                      on a sample of the questions (--cli); CPU includes the
                      start of the process
    claw-minilm       the API with embedding_provider = "local"; the model
                      is the one of `claw memory model install`

and with --variants, the API again, the documents stored otherwise: no
session, all in one session, under category core, under keys that are words,
with the speaker as sender, and all groups of a set in one store.
"""

import argparse
import json
import math
import os
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import claw
from claw.config.places import locate
from claw.core.embedding import EmbeddingProvider
from claw.core.errors import ClawError
from claw.core.memory import (
    CONVERSATION,
    CORE,
    EmbedsMemories,
    Memory,
    MemoryEntry,
    RestoresMemories,
    Source,
    StoresSource,
)
from claw.memory.sqlite.statistics import CountsMemories

UNANSWERABLE = 5  # LoCoMo's category of questions without an answer
LIMIT = 10
Search = Callable[[str, int], list[str]]


class Doc(NamedTuple):
    """One memory of a set."""

    key: str
    id: str
    text: str
    session: str | None
    at: str | None = None  # RFC 3339


class Question(NamedTuple):
    """What is asked, and which documents answer it."""

    text: str
    gold: frozenset[str]
    category: str


class Group(NamedTuple):
    """One store."""

    docs: list[Doc]
    questions: list[Question]


class Way(NamedTuple):
    """A way to search; `clock` gives CPU seconds spent so far."""

    name: str
    open: Callable[[Group], Any]  # a context manager that gives a Search
    clock: Callable[[], float] = time.process_time
    sample: int | None = None
    one_store: bool = False


class Answer(NamedTuple):
    """What a way found for a question, and its cost in CPU ms."""

    question: Question
    found: list[str]
    ms: float


# --- data sets -----------------------------------------------------------

def read(path: Path) -> tuple[str, list[Group]]:
    """A set: its name and its groups."""
    data = json.loads(path.read_text("utf-8"))
    return data["name"], [Group(
        [Doc(doc["key"], str(doc["id"]), doc["text"],
             f"s{doc['sess']}" if "sess" in doc else None,
             read_time(doc, number))
         for number, doc in enumerate(group["docs"])],
        [Question(query["q"], frozenset(map(str, query["gold"])),
                  str(query.get("cat", "")))
         for query in group["queries"]
         if query["gold"] and query.get("cat") != UNANSWERABLE])
        for group in data["groups"]]


def read_time(doc: dict[str, Any], number: int) -> str | None:
    """When a document was said, half a minute after the one before it of
    the same talk."""
    if not doc.get("date"):
        return None
    began = datetime.strptime(doc["date"], "%I:%M %p on %d %B, %Y")
    return (began + timedelta(seconds=number)).isoformat() + "Z"


def merged(groups: Sequence[Group]) -> list[Group]:
    """All groups as one, ids and sessions kept apart."""
    docs: list[Doc] = []
    questions: list[Question] = []
    for number, group in enumerate(groups):
        mark = f"g{number}:"
        docs += [Doc(doc.key, mark + doc.id, doc.text,
                     doc.session and mark + doc.session, doc.at)
                 for doc in group.docs]
        questions += [Question(one.text, frozenset(
            mark + gold for gold in one.gold), one.category)
            for one in group.questions]
    return [Group(docs, questions)]


def sampled(groups: Sequence[Group], most: int | None) -> list[Group]:
    """At most so many questions in all, spread evenly."""
    total = sum(len(group.questions) for group in groups)
    if most is None or most >= total:
        return list(groups)
    chosen = {int(step * total / most) for step in range(most)}
    kept, number = [], 0
    for group in groups:
        count = len(group.questions)
        kept.append(Group(group.docs, [
            question for index, question in enumerate(group.questions)
            if number + index in chosen]))
        number += count
    return kept


# --- claw ----------------------------------------------------------------

def as_it_is(memory: Memory, doc: Doc, _: int) -> None:
    if doc.at is None or not isinstance(memory, RestoresMemories):
        memory.store(doc.key, doc.text, CONVERSATION, doc.session)
        return
    memory.restore([MemoryEntry("", doc.key, doc.text, CONVERSATION, doc.at,
                                doc.at, doc.session)], overwrite=True)


def without_session(memory: Memory, doc: Doc, _: int) -> None:
    memory.store(doc.key, doc.text, CONVERSATION)


def in_one_session(memory: Memory, doc: Doc, _: int) -> None:
    memory.store(doc.key, doc.text, CONVERSATION, "one")


def as_core(memory: Memory, doc: Doc, _: int) -> None:
    memory.store(doc.key, doc.text, CORE, doc.session)


def under_words(memory: Memory, doc: Doc, number: int) -> None:
    memory.store(worded_key(doc, number), doc.text, CONVERSATION, doc.session)


def with_sender(memory: Memory, doc: Doc, _: int) -> None:
    """"Ann: text" as the text of Ann."""
    name, colon, text = doc.text.partition(": ")
    spoken = bool(colon) and name.isalpha() and len(name) < 20
    if spoken and isinstance(memory, StoresSource):
        memory.store_from(doc.key, text, CONVERSATION, doc.session,
                          Source(sender=name))
    else:
        as_it_is(memory, doc, 0)


def worded_key(doc: Doc, number: int) -> str:
    """A key as a person would write it: note_12_caroline_hey_mel."""
    words = re.findall(r"\w+", doc.text.lower())[:3]
    return "_".join(["note", str(number), *words])


@contextmanager
def opened(settings: str = "") -> Iterator[Memory]:
    """A new memory with these lines of configuration."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "config.toml").write_text(f"[memory]\n{settings}\n")
        with claw.open_memory(f"{directory}/workspace", directory) as memory:
            yield memory


def through_api(store: Callable[[Memory, Doc, int], None] = as_it_is,
                settings: str = "") -> Callable[[Group], Any]:
    """The Python API; documents go in one after another."""
    @contextmanager
    def open_(group: Group) -> Iterator[Search]:
        with opened(settings) as memory:
            ids: dict[str, str] = {}
            for number, doc in enumerate(group.docs):
                store(memory, doc, number)
                ids[doc.key] = ids[worded_key(doc, number)] = doc.id
            if isinstance(memory, EmbedsMemories) and memory.embedder:
                memory.embed_missing(lambda _: None)
            yield lambda question, limit: [
                ids[entry.key] for entry in memory.recall(question, limit)]
    return open_


@contextmanager
def through_cli(group: Group) -> Iterator[Search]:
    """Processes of the command, as a script would use it."""
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "CLAW_HOME": home}
        command = [sys.executable, "-m", "claw", "memory"]
        lines = "\n".join(json.dumps({
            "key": doc.key, "content": doc.text, "category": CONVERSATION,
            "session_id": doc.session, **(
                {"created_at": doc.at} if doc.at else {})})
            for doc in group.docs)
        subprocess.run([*command, "import", "-"], input=lines, text=True,
                       env=env, check=True, capture_output=True)
        ids = {doc.key: doc.id for doc in group.docs}

        def search(question: str, limit: int) -> list[str]:
            done = subprocess.run(
                [*command, "recall", "--json", "-n", str(limit), "--",
                 question], env=env, capture_output=True, text=True,
                check=False)
            if done.returncode not in (0, 1):  # 1: nothing found
                raise SystemExit(f"claw memory recall: {done.stderr}")
            return [ids[key] for key in _keys(json.loads(done.stdout))]
        yield search


def _keys(answer: Any) -> list[str]:
    entries = answer if isinstance(answer, list) else next(
        value for value in answer.values() if isinstance(value, list))
    return [entry["key"] for entry in entries]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- the reference -------------------------------------------------------

class Reference:
    """Its search over one store; hybrid with an embedder."""

    def __init__(self, docs: Sequence[Doc],
                 embedder: EmbeddingProvider | None) -> None:
        self._docs = docs
        self._embedder = embedder
        self._rows = _unit(embedder, [doc.text for doc in docs]) \
            if embedder else None
        self._db = db = sqlite3.connect(":memory:")
        db.execute("CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT,"
                   " content TEXT)")
        db.executemany("INSERT INTO memories VALUES (?, ?, ?)", (
            (str(number), doc.key, doc.text)
            for number, doc in enumerate(docs)))
        db.execute("CREATE VIRTUAL TABLE memories_fts USING fts5("
                   "key, content, content='memories')")
        db.execute("INSERT INTO memories_fts(memories_fts)"
                   " VALUES ('rebuild')")

    def search(self, question: str, limit: int) -> list[str]:
        words = self._by_words(question, 2 * limit)
        if self._embedder is not None:
            near = self._by_meaning(question, 2 * limit)
            found = _merged(near, words) if near else [n for n, _ in words]
        else:
            found = [number for number, _ in words]
        found = found or self._like(question, limit)
        return [self._docs[number].id for number in found[:limit]]

    def _by_words(self, question: str, most: int) -> list[tuple[int, float]]:
        match = " OR ".join(f'"{word}"' for word in question.split())
        try:
            rows = self._db.execute(
                "SELECT m.id, -bm25(memories_fts) FROM memories_fts f"
                " JOIN memories m ON m.rowid = f.rowid"
                " WHERE memories_fts MATCH ? ORDER BY bm25(memories_fts)"
                " LIMIT ?", (match, most)).fetchall()
        except sqlite3.OperationalError:  # an odd quote: no hits
            return []
        return [(int(number), score) for number, score in rows]

    def _by_meaning(self, question: str, most: int
                    ) -> list[tuple[int, float]]:
        assert self._embedder is not None
        scores = self._rows @ _unit(self._embedder, [question])[0]
        best = (-scores).argsort(kind="stable")[:most]
        return [(int(n), float(scores[n])) for n in best if scores[n] > 0]

    def _like(self, question: str, limit: int) -> list[int]:
        some = question.split()[:8]
        if not some:
            return []
        test = " OR ".join(["content LIKE ? OR key LIKE ?"] * len(some))
        values = [f"%{word}%" for word in some for _ in range(2)]
        return [int(number) for (number,) in self._db.execute(
            f"SELECT id FROM memories WHERE {test} ORDER BY rowid DESC"
            " LIMIT ?", [*values, limit])]


def _merged(near: Sequence[tuple[int, float]],
            words: Sequence[tuple[int, float]]) -> list[int]:
    """0.7 of the cosine + 0.3 of BM25 over the best; missing counts 0."""
    top = max((score for _, score in words), default=0.0)
    scores: dict[int, float] = {n: 0.7 * score for n, score in near}
    for number, score in words:
        scores[number] = scores.get(number, 0.0) + 0.3 * score / (
            top if top > 1e-7 else 1.0)
    return sorted(scores, key=lambda number: (-scores[number], number))


_VECTORS: dict[str, Any] = {}


def _unit(embedder: EmbeddingProvider, texts: Sequence[str]) -> Any:
    """Vectors of length 1, each text computed once in a run."""
    import numpy  # only where there is a model

    missing = sorted({text for text in texts if text not in _VECTORS},
                     key=len)
    for start in range(0, len(missing), 64):
        batch = missing[start:start + 64]
        for text, vector in zip(batch, embedder.embed(batch), strict=True):
            row = numpy.asarray(vector, dtype=numpy.float32)
            _VECTORS[text] = row / (float(numpy.linalg.norm(row)) or 1.0)
    return numpy.stack([_VECTORS[text] for text in texts])


def reference(embedder: EmbeddingProvider | None = None
              ) -> Callable[[Group], Any]:
    """The reference's search as a way; the model runs at each question."""
    @contextmanager
    def open_(group: Group) -> Iterator[Search]:
        store = Reference(group.docs, embedder)
        for question in group.questions:
            _VECTORS.pop(question.text, None)
        yield store.search
        store._db.close()
    return open_


# --- trigrams ------------------------------------------------------------

def build_trigrams(docs: Sequence[Doc]) -> sqlite3.Connection:
    """The documents in a trigram index of FTS5."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE f USING fts5(t, tokenize='trigram')")
    for number, doc in enumerate(docs):
        db.execute("INSERT INTO f(rowid, t) VALUES (?, ?)",
                   (number, doc.text))
    db.commit()  # till then the index is in no table
    return db


@contextmanager
def through_trigrams(group: Group) -> Iterator[Search]:
    """A plain trigram index, as it is often recommended."""
    db = build_trigrams(group.docs)

    def search(question: str, limit: int) -> list[str]:
        threes = dict.fromkeys(question[at:at + 3].replace('"', '""')
                               for at in range(len(question) - 2))
        match = " OR ".join(f'"{three}"' for three in threes)
        return [group.docs[rid].id for (rid,) in db.execute(
            "SELECT rowid FROM f WHERE f MATCH ? ORDER BY bm25(f) LIMIT ?",
            (match, limit))]
    yield search
    db.close()


def measure_cost(path: Path) -> Iterator[dict[str, Any]]:
    """Bytes of the word index, and CPU ms to store a document, with a
    trigram index beside it."""
    name, groups = read(path)
    [group] = merged(groups)
    begun = time.process_time()
    db = build_trigrams(group.docs)
    spent = time.process_time() - begun
    held = db.execute("SELECT sum(length(block)) + (SELECT sum(length("
                      "CAST(c0 AS BLOB))) FROM f_content) FROM f_data"
                      ).fetchone()[0]
    yield {"set": name, "search": "trigram", "index_bytes": held,
           "store_ms": 1000 * spent / len(group.docs)}
    with opened() as memory:
        begun = time.process_time()
        for number, doc in enumerate(group.docs):
            memory.store(f"{number}:{doc.key}", doc.text, CONVERSATION,
                         doc.session)
        spent = time.process_time() - begun
        assert isinstance(memory, CountsMemories)
        yield {"set": name, "search": "claw",
               "index_bytes": memory.statistics().bytes["index"],
               "store_ms": 1000 * spent / len(group.docs)}


# --- measuring -----------------------------------------------------------

def asked(way: Way, groups: Sequence[Group]) -> list[Answer]:
    """Every question to its store."""
    answers = []
    for group in groups:
        if not group.questions:
            continue
        with way.open(group) as search:
            for question in group.questions:
                begun = way.clock()
                found = search(question.text, LIMIT)
                answers.append(Answer(question, found,
                                      1000 * (way.clock() - begun)))
    return answers


def metrics(answer: Answer) -> tuple[float, float, float, float]:
    """R@5, R@10, nDCG@10, reciprocal rank."""
    gold = answer.question.gold
    ranks = [rank for rank, found in enumerate(answer.found[:LIMIT])
             if found in gold]
    gain = sum(1 / math.log2(rank + 2) for rank in ranks)
    best = sum(1 / math.log2(rank + 2)
               for rank in range(min(LIMIT, len(gold))))
    return (sum(rank < 5 for rank in ranks) / len(gold),
            len(ranks) / len(gold), gain / best,
            1 / (ranks[0] + 1) if ranks else 0.0)


def row(set_: str, search: str, category: str,
        answers: Sequence[Answer]) -> dict[str, Any]:
    """One line of the table."""
    r5, r10, ndcg, mrr = (statistics.fmean(column) for column in zip(
        *map(metrics, answers), strict=True))
    return {"set": set_, "search": search, "category": category,
            "questions": len(answers), "R@5": r5, "R@10": r10,
            "nDCG@10": ndcg, "MRR": mrr,
            "ms": statistics.fmean(answer.ms for answer in answers)}


def shown(line: dict[str, Any]) -> str:
    return (f"{line['set']:12} {line['search']:17} {line['category']:4} "
            f"{line['questions']:5} {line['R@5']:6.3f} {line['R@10']:6.3f} "
            f"{line['nDCG@10']:7.3f} {line['MRR']:6.3f} {line['ms']:8.2f}")


HEADER = (f"{'set':12} {'search':17} {'cat':4} {'asked':>5} {'R@5':>6} "
          f"{'R@10':>6} {'nDCG@10':>7} {'MRR':>6} {'CPU ms':>8}")


def ways(options: argparse.Namespace,
         embedder: EmbeddingProvider | None) -> list[Way]:
    """What is measured."""
    found = [Way("reference", reference()), Way("trigram", through_trigrams),
             Way("claw", through_api())]
    if options.cli:
        found.append(Way("claw-cli", through_cli, _children, options.cli))
    if embedder is not None:
        found += [
            Way("reference-hybrid", reference(embedder)),
            Way("claw-minilm", through_api(settings=LOCAL))]
    variants = [
        Way("no-session", through_api(without_session)),
        Way("one-session", through_api(in_one_session)),
        Way("core", through_api(as_core)),
        Way("text-keys", through_api(under_words)),
        Way("sender", through_api(with_sender)),
        Way("one-brain", through_api(), one_store=True),
        Way("one-brain-ref", reference(), one_store=True)]
    if embedder is not None:
        variants.append(Way("one-brain-minilm", through_api(settings=LOCAL),
                            one_store=True))
    if options.only:
        return [way for way in found + variants
                if way.name in options.only.split(",")]
    return found + variants if options.variants else found


LOCAL = 'embedding_provider = "local"'


@contextmanager
def minilm(wanted: bool) -> Iterator[EmbeddingProvider | None]:
    """The local model where it is installed, else None."""
    with ExitStack() as stack:
        found: EmbeddingProvider | None = None
        if wanted:
            try:
                memory = stack.enter_context(opened(LOCAL))
                if isinstance(memory, EmbedsMemories) and memory.embedder:
                    memory.embedder.embed_one("is it there?")
                    found = memory.embedder
            except (ClawError, ImportError) as error:
                print(f"without MiniLM: {error}", file=sys.stderr)
        yield found


def measured(path: Path, options: argparse.Namespace,
             embedder: EmbeddingProvider | None) -> Iterator[dict[str, Any]]:
    """The lines of one set."""
    name, groups = read(path)
    groups = sampled(groups, options.questions)
    kept: dict[Question, list[str]] = {}
    for way in ways(options, embedder):
        own = merged(groups) if way.one_store else groups
        if way.one_store and len(groups) == 1:
            continue
        answers = asked(way, sampled(own, way.sample))
        if not answers:
            continue
        yield row(name, way.name, "", answers)
        if way.name == "claw":
            kept = {one.question: one.found for one in answers}
        if way.name == "claw-cli" and kept:
            again = [Answer(one.question, kept[one.question], 0)
                     for one in answers]
            yield row(name, "  the same by API", "", again)
        if options.by_category:
            for category in sorted({one.question.category
                                    for one in answers}):
                yield row(name, way.name, category, [
                    one for one in answers
                    if one.question.category == category])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--sets", default="",
                        help="only files whose name holds one of these")
    parser.add_argument("--only", default="", help="only these rows")
    parser.add_argument("--questions", type=int, default=None,
                        help="at most so many of each set")
    parser.add_argument("--cli", type=int, default=25, metavar="N",
                        help="questions of each set for the command; 0: none")
    parser.add_argument("--no-minilm", action="store_true")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--by-category", action="store_true")
    parser.add_argument("--json", action="store_true",
                        help="one JSON object a line")
    parser.add_argument("--cost", action="store_true",
                        help="bytes of the index and CPU of storing instead")
    options = parser.parse_args()
    # The memories of this bench have homes of their own, without models.
    os.environ.setdefault("CLAW_MODELS", str(locate().home / "models"))
    if options.cost:
        for path in sorted(options.directory.glob("*.json")):
            if any(part in path.name for part in options.sets.split(",")):
                for line in measure_cost(path):
                    print(json.dumps(line), flush=True)
        return
    if not options.json:
        print(HEADER)
    with minilm(not options.no_minilm) as embedder:
        for path in sorted(options.directory.glob("*.json")):
            if any(part in path.name for part in options.sets.split(",")):
                for line in measured(path, options, embedder):
                    print(json.dumps(line) if options.json else shown(line),
                          flush=True)


if __name__ == "__main__":
    main()
