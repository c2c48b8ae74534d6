"""What goes from the log, and what of it stays in the file."""

from datetime import UTC, datetime

import pytest

from claw.storage.log.entry import End, Start
from claw.storage.log.query import split_query
from claw.storage.log.reader import Filters, open_reader
from claw.storage.log.removal import Which, remove_for_good
from claw.storage.log.settings import LogSettings
from claw.storage.log.writer import LogWriter, stamp

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC).timestamp()
DAY = 86_400


class Log:
    """A log.db of which a test turns the clock."""

    def __init__(self, path, **settings):
        self.path = path
        self.now = NOON
        self.writer = LogWriter(path, LogSettings(**settings),
                                now=lambda: self.now)

    def keep(self, id, prompt, answer="fine", **start):
        self.writer.begin(Start(id, "ask", prompt, **start))
        self.writer.end(id, End("answered", answer))

    def ids(self):
        with open_reader(self.path) as reader:
            return [entry.id for entry in reader.walk(Filters())]

    def search(self, words):
        with open_reader(self.path) as reader:
            found, _ = reader.search(split_query(words), Filters(), 50)
            return [entry.id for entry in found]


@pytest.fixture
def log(tmp_path):
    made = []

    def make(**settings):
        made.append(Log(tmp_path / "log.db", **settings))
        return made[-1]
    yield make
    for one in made:
        one.writer.close()


@pytest.mark.parametrize(("keep_days", "age", "kept"), [
    (30, 31 * DAY, ["new"]),
    (30, 29 * DAY, ["old", "new"]),
    (30, 30 * DAY - 1, ["old", "new"]),
    (0, 9_000 * DAY, ["old", "new"]),
    (10 ** 12, 9_000 * DAY, ["old", "new"]),
])
def test_an_entry_goes_when_it_is_older_than_the_days_to_keep(
        log, keep_days, age, kept):
    kept_log = log(keep_days=keep_days)
    kept_log.keep("old", "the lighthouse")
    kept_log.now += age
    kept_log.keep("new", "the harbour")

    assert kept_log.ids() == kept
    assert kept_log.search("lighthouse") == kept[:-1]


def test_the_oldest_go_when_the_log_is_too_large(log):
    kept = log(max_mb=1)
    for number in range(120):
        kept.now += 1
        kept.keep(f"e{number:03}", f"tree{number:03}", "leaf " * 8_000)

    ids = kept.ids()
    assert ids[-1] == "e119"
    assert ids == [f"e{n:03}" for n in range(120 - len(ids), 120)]
    assert 5 < len(ids) < 30
    assert kept.path.stat().st_size < 2 << 20
    assert kept.search("tree000") == []
    assert kept.search("tree119") == ["e119"]


def test_a_single_entry_may_be_larger_than_the_log(log):
    kept = log(max_mb=1)
    kept.keep("old", "small")
    kept.keep("big", "big", "x" * (2 << 20))
    kept.keep("next", "small again")

    assert kept.ids() == ["next"]


def test_without_a_size_nothing_goes(log):
    kept = log(max_mb=0)
    for number in range(4):
        kept.keep(f"e{number}", "q", "leaf " * 200_000)

    assert len(kept.ids()) == 4


@pytest.mark.parametrize(("which", "left"), [
    (Which(ids=("one",)), ["two", "three"]),
    (Which(ids=("one", "nothing")), ["two", "three"]),
    (Which(session="work"), ["one", "three"]),
    (Which(before=stamp(NOON + 2 * DAY)), ["three"]),
    (Which(every=True), []),
    (Which(), ["one", "two", "three"]),
])
def test_what_is_removed_is_in_no_page(log, which, left):
    kept = log()
    for id, session in (("one", None), ("two", "work"), ("three", None)):
        kept.keep(id, f"the word canary-{id}", f"answer-{id}",
                  session=session)
        kept.now += DAY
    kept.writer.close()

    assert remove_for_good(kept.path, which) == 3 - len(left)
    assert kept.ids() == left
    data = b"".join(file.read_bytes()
                    for file in kept.path.parent.glob("log.db*"))
    for id in ("one", "two", "three"):
        assert (f"canary-{id}".encode() in data) is (id in left)
        assert (f"answer-{id}".encode() in data) is (id in left)


def test_who_goes_on_from_what_is_gone_has_what_is_left(log):
    kept = log()
    kept.keep("one", "first")
    kept.keep("two", "second", parent="one")
    kept.keep("three", "third", parent="two")
    kept.writer.close()
    remove_for_good(kept.path, Which(ids=("one",)))

    with open_reader(kept.path) as reader:
        chain = reader.chain(reader.get("three"), 50)
    assert [entry.prompt for entry in chain] == ["second", "third"]
