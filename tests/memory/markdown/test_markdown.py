"""Memory in Markdown files: what stands in them and what is read back."""

import multiprocessing
import os
import resource
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from claw.core.errors import StorageError, UsageError
from claw.core.memory import (
    ClosesMemory,
    Filters,
    ForgetsMany,
    MemoryEntry,
    Source,
    StoresSource,
)
from claw.memory.markdown import files as markdown_files
from claw.memory.markdown import format as markdown_format
from claw.memory.markdown.backend import MarkdownMemory
from claw.memory.markdown.format import entry, parse
from claw.memory.settings import MemorySettings
from claw.text.segment import clean

MORNING = "2026-02-19T09:30:00.000001Z"


class Clock:
    """Every reading is a second later."""

    def __init__(self, start: str = MORNING) -> None:
        self.time = datetime.fromisoformat(start)

    def __call__(self) -> str:
        text = self.time.isoformat(timespec="microseconds")
        self.time += timedelta(seconds=1)
        return text.replace("+00:00", "Z")


@pytest.fixture
def memory(tmp_path: Path) -> MarkdownMemory:
    return MarkdownMemory(tmp_path, clock=Clock())


def daily(workspace: Path) -> Path:
    """The file of the morning's day, wherever the test runs."""
    day = datetime.fromisoformat(MORNING).astimezone().date()
    return workspace / "memory" / f"{day}.md"


def keys(found: list[MemoryEntry]) -> list[str]:
    return [one.key for one in found]


# What stands in the files

def test_a_person_reads_headings_keys_and_texts(memory, tmp_path):
    memory.store("colour", "Mina likes green")
    memory.store("언어", "민아는 한국어를 말합니다")
    memory.store("walk", "in the park\n\nwith the dog", "daily")

    assert (tmp_path / "MEMORY.md").read_text("utf-8") == (
        "# Long-Term Memory\n"
        "\n"
        "- **colour**: Mina likes green"
        ' <!-- claw {"at": "2026-02-19T09:30:00.000001Z"} -->\n'
        "\n"
        "- **언어**: 민아는 한국어를 말합니다"
        ' <!-- claw {"at": "2026-02-19T09:30:01.000001Z"} -->\n')
    assert daily(tmp_path).read_text("utf-8") == (
        f"# Daily Log — {daily(tmp_path).stem}\n"
        "\n"
        "- **walk**: in the park\n"
        "\n"
        "  with the dog"
        ' <!-- claw {"at": "2026-02-19T09:30:02.000001Z"} -->\n')


def test_every_other_category_stands_in_the_file_of_the_day(
        memory, tmp_path):
    for category in ("daily", "conversation", "Recipes", ""):
        memory.store(f"k{category}", "text", category)

    assert not (tmp_path / "MEMORY.md").exists()
    for category in ("daily", "conversation", "Recipes", ""):
        assert keys(memory.list(category)) == [f"k{category}"]


def test_a_lasting_fact_of_a_session_stays_out_of_the_owners_prompt(
        memory, tmp_path):
    memory.store("mine", "canary", "core", "s1")
    memory.store("common", "tea", "core")
    memory.store("mine", "canary again", "core", "s1")

    assert "canary" not in (tmp_path / "MEMORY.md").read_text()
    text = (tmp_path / "memory" / "SESSIONS.md").read_text()
    assert text.startswith("# Long-Term Memory of Sessions\n\n- **mine**: ")
    assert '"category"' not in text
    assert {*keys(memory.list("core", "s1"))} == {"mine", "common"}
    assert memory.get("mine").created_at == MORNING


def test_times_written_by_hand_count_with_their_offset(memory, tmp_path):
    (tmp_path / "MEMORY.md").write_text(
        "- **utc**: a note"
        ' <!-- claw {"at": "2026-03-01T00:00:00Z"} -->\n'
        "- **tokyo**: a note"
        ' <!-- claw {"at": "2026-03-01T08:30+09:00"} -->\n')

    assert keys(memory.recall("", 5)) == ["utc", "tokyo"]
    assert keys(memory.recall("note", 5, until="2026-02-28T23:30Z")) == [
        "tokyo"]
    assert keys(memory.recall_filtered("note", 5, Filters(
        as_of="2026-02-28T23:45Z"))) == ["tokyo"]


def test_the_comment_holds_what_the_place_does_not_say(memory, tmp_path):
    memory.store_from("k", "text", "conversation", "telegram:--7>",
                      Source("ann", "telegram:7:1"))
    found = memory.get("k")

    assert '-\\u002d7\\u003e", "sender": "ann"' in daily(
        tmp_path).read_text("utf-8")
    assert (found.category, found.session_id, found.sender, found.source,
            found.created_at) == ("conversation", "telegram:--7>", "ann",
                                  "telegram:7:1", MORNING)


def test_no_line_ends_in_a_blank(memory, tmp_path):
    memory.store("k ", " a \n\n \nb\t\n")

    text = (tmp_path / "MEMORY.md").read_text("utf-8")
    assert [line for line in text.split("\n") if line != line.rstrip()] == []
    assert memory.get("k ").content == " a \n\n \nb\t\n"


@pytest.mark.parametrize("content", [
    "", "\n", "\n\n", " ", "  \n  ", "a\n", "\na", "a\n\n\nb", "\r", "a\r\nb",
    "- **x**: inside", "a\n- **x**: inside\nb", "# heading\n## another",
    'x <!-- claw {"at": "2020-01-01"} -->', "<!-- claw ", " -->",
    "a\n  <!-- claw {} -->\n  b", "&#32;", "&amp;", "&amp;#32;", "&", "&#;",
    "\0\x01\x1b\x7f\x85\u2028\u2029", "\u3000", "a\u3000\n\u3000", "\t\tx\t",
    "**bold**: x", "```\ncode\n```", "---", "\ufeffx", "x" * 100_000,
    "我的猫\n名字是咪咪", "👩‍👩‍👧\n🎉", "a\\\nb", "{}", "\\n",
])
def test_any_text_is_one_entry_and_reads_back(memory, content):
    for key in ("k", content or "e"):
        memory.store(key, content, "daily", "s1")

        assert memory.get(key).content == content
        assert memory.get(key).session_id == "s1"
    assert memory.count() == len({"k", content or "e"})


TEXTS = st.text(st.one_of(
    st.characters(), st.sampled_from("\n\r\t &#;<>!-*:0123456789 claw{}")))


@settings(max_examples=300, deadline=None,
          suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(TEXTS.filter(bool), TEXTS, TEXTS), max_size=4))
@example([("a", "- **b**: c\n  <!-- claw {} -->", "--><!--"), ("a", "", "")])
def test_entries_of_any_text_stand_side_by_side(given):
    given = [tuple(map(clean, one)) for one in given]
    data = "# h\n" + "".join("\n" + entry(key, text, {"session": session})
                             for key, text, session in given)
    lines = [(0, line.encode()) for line in data.split("\n")]

    assert [(one.key, one.content, one.facts["session"])
            for one in parse(lines)] == given


@settings(max_examples=100, deadline=None)
@example(b"", b"\xef\xbb\xbf")
@given(st.binary(), st.binary())
def test_no_bytes_of_others_break_the_reading(tmp_path_factory, first, last):
    workspace = tmp_path_factory.mktemp("w")
    (workspace / "MEMORY.md").write_bytes(first)
    memory = MarkdownMemory(workspace)
    memory.store_from("ours", "some text", "core", None, Source("ann"))
    with open(workspace / "MEMORY.md", "ab") as file:
        file.write(last)

    assert memory.get("ours").sender == "ann"
    assert len(memory.list()) == memory.count()
    assert len([*memory.entries()]) == memory.count()
    assert (workspace / "MEMORY.md").read_bytes().startswith(first)


def test_lone_halves_of_a_surrogate_pair_become_a_mark(memory):
    memory.store("k", "a\ud800b", "core", "\udfff")

    assert memory.get("k").content == "a\ufffdb"
    assert memory.get("k").session_id == "\ufffd"


# What holds

def test_a_later_entry_takes_the_place_of_an_earlier_one(memory, tmp_path):
    memory.store("tea", "green", "core", "s1")
    before = (tmp_path / "memory" / "SESSIONS.md").read_bytes()
    memory.store("tea", "black", "core", "s2")
    found = memory.get("tea")

    assert (tmp_path / "memory" / "SESSIONS.md").read_bytes().startswith(
        before)
    assert keys(memory.list()) == ["tea"]
    assert memory.recall("green") == []
    assert (found.content, found.created_at, found.session_id) == (
        "black", MORNING, "s2")
    assert found.updated_at > MORNING


def test_the_last_word_counts_across_files(memory):
    memory.store("tea", "green", "daily")
    memory.store("tea", "black", "core")
    assert memory.get("tea").content == "black"

    memory.store("tea", "white", "daily")
    assert memory.get("tea").content == "white"
    assert memory.count() == 1


def test_what_was_known_then(memory):
    memory.store("tea", "green")
    memory.store("tea", "black")

    found = memory.recall_filtered("", 5, Filters(as_of=MORNING))
    assert [one.content for one in found] == ["green"]


def test_a_bad_moment_is_told_by_its_own_name(memory):
    with pytest.raises(UsageError, match="as_of: 'then' is not a time"):
        memory.recall_filtered("", 5, Filters(as_of="then"))


def test_a_merge_by_git_keeps_the_newest_not_the_lowest(tmp_path):
    MarkdownMemory(tmp_path, clock=Clock("2026-03-02T00:00:00.000000Z")
                   ).store("tea", "newer")
    MarkdownMemory(tmp_path, clock=Clock("2026-03-01T00:00:00.000000Z")
                   ).store("tea", "older")

    assert MarkdownMemory(tmp_path).get("tea").content == "newer"


def test_nothing_is_forgotten_and_it_says_what_to_do(memory, tmp_path):
    memory.store("tea", "green")

    assert memory.forget("tea") is False
    assert memory.get("tea") is not None
    assert not isinstance(memory, ForgetsMany)
    assert "line 3 of " + str(tmp_path / "MEMORY.md") in memory.why_kept(
        "tea")
    assert memory.why_kept("coffee") is None


def test_lines_deleted_by_hand_are_forgotten(memory, tmp_path):
    memory.store("tea", "green")
    memory.store("milk", "cold")
    file = tmp_path / "MEMORY.md"
    kept = [line for line in file.read_text().splitlines(keepends=True)
            if "tea" not in line]
    file.write_text("".join(kept))

    assert memory.get("tea") is None
    assert keys(memory.list()) == ["milk"]


def test_imported_memories_keep_ids_and_times(memory, tmp_path):
    given = MemoryEntry(
        "id-1", "k", "text", "daily", "2020-01-01T12:00:00.000001Z",
        "2021-01-01T12:00:00.000000Z", "s1", None, "ann", "ns", 0.5,
        "id-2", "telegram:1")
    memory.store("k", "newer text")

    assert memory.restore([given], overwrite=False) == 0
    assert memory.restore([given], overwrite=True) == 1
    assert memory.get("k") == given
    assert memory.list() == []  # superseded
    assert (tmp_path / "memory" / "2020-01-01.md").exists()


def test_of_a_bad_bulk_nothing_is_written(memory, tmp_path):
    good = MemoryEntry("", "k", "text", "core", "", "")
    bad = MemoryEntry("", "k", "text", "daily", "yesterday", "")

    with pytest.raises(UsageError, match="yesterday"):
        memory.restore([good, bad], overwrite=True)
    assert [*tmp_path.iterdir()] == []


# Lines by hand

HAND = """\
\ufeff# Long-Term Memory

Mina was born in Busan.\r
- likes green tea
* **cat**: 咪咪
- **AT&amp;T**: a &#32; company

## People
"""


def test_lines_written_by_hand_are_memories(memory, tmp_path):
    (tmp_path / "MEMORY.md").write_text(HAND, "utf-8", newline="")
    memory.store("tea", "green")

    assert {one.key: one.content for one in memory.list()} == {
        "MEMORY:3": "Mina was born in Busan.",
        "MEMORY:4": "likes green tea", "cat": "咪咪",
        "AT&amp;T": "a &#32; company", "tea": "green"}
    assert memory.get("MEMORY:4").content == "likes green tea"
    assert memory.get("MEMORY:4").id == "MEMORY:4"
    assert memory.get("MEMORY:4").session_id is None
    assert memory.get("MEMORY:4").category == "core"
    assert (tmp_path / "MEMORY.md").read_bytes().startswith(HAND.encode())


def test_the_reference_files_are_read(memory, tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-01-05.md").write_text(
        "# Daily Log — 2026-01-05\n\n- **user_msg_1**: first\nsecond line\n")

    found = {one.key: one for one in memory.list()}
    assert found["user_msg_1"].content == "first"
    assert found["2026-01-05:4"].content == "second line"
    assert found["user_msg_1"].category == "daily"
    assert keys(memory.recall("", since="2026-01-04", until="2026-01-06")
                ) == ["2026-01-05:4", "user_msg_1"]
    assert memory.recall("", since="2026-01-07") == []


def test_a_correction_by_hand_at_the_end_counts(memory, tmp_path):
    memory.store("tea", "green")
    with open(tmp_path / "MEMORY.md", "a") as file:
        file.write("- **tea**: oolong")  # and no line end
    assert memory.get("tea").content == "oolong"

    memory.store("milk", "cold")
    assert memory.get("tea").content == "oolong"
    assert memory.get("milk").content == "cold"


def test_text_added_behind_or_under_an_entry_is_not_lost(memory, tmp_path):
    memory.store("tea", "green", "core", "s1")
    with open(tmp_path / "memory" / "SESSIONS.md", "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b" with milk\n  and honey\n")

    assert memory.get("tea").content == "green with milk"
    assert memory.get("tea").session_id == "s1"
    assert memory.get("SESSIONS:4").content == "and honey"


def test_windows_line_ends_change_nothing(memory, tmp_path):
    memory.store("k", "one\n\n  two\r\n", "core", "s1")
    file = tmp_path / "memory" / "SESSIONS.md"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))

    assert memory.get("k").content == "one\n\n  two\r\n"
    assert memory.get("k").session_id == "s1"


def test_bytes_that_are_no_text_are_shown_as_marks(memory, tmp_path):
    (tmp_path / "MEMORY.md").write_bytes(b"caf\xe9 au lait\n")
    memory.store("k", "text")

    assert memory.get("MEMORY:1").content == "caf\ufffd au lait"
    assert memory.get("k").content == "text"


# Sessions

def test_a_session_sees_its_own_and_the_common(memory, tmp_path):
    (tmp_path / "MEMORY.md").write_text("tea by hand\n")
    memory.store("mine", "tea\nwith milk", "conversation", "s1")
    memory.store("theirs", "tea\nwith sugar", "conversation", "s2")

    for query in ("tea", ""):
        assert {*keys(memory.recall(query, 9, "s1"))} == {"mine", "MEMORY:1"}
    assert {*keys(memory.list(session_id="s2"))} == {"theirs", "MEMORY:1"}


@pytest.mark.parametrize("damage", [
    (b'"session"', b'"session'), (b"} -->", b""), (b"  with", b"with"),
    (b"- **mine**", b"mine"), (b"{", b"["),
])
def test_a_damaged_entry_shows_its_scope_to_nobody(memory, tmp_path, damage):
    memory.store("mine", "tea\n  with canary", "conversation", "s1")
    file = daily(tmp_path)
    file.write_bytes(file.read_bytes().replace(*damage))

    assert memory.recall("canary", session_id="s2") == []
    assert memory.recall("canary") != []


def test_an_entry_cut_short_by_a_kill_shows_its_scope_to_nobody(
        memory, tmp_path):
    memory.store("mine", "canary " * 2000, "core", "s1")
    file = tmp_path / "memory" / "SESSIONS.md"
    os.truncate(file, 8192)

    assert memory.recall("canary", session_id="s2") == []
    memory.store("next", "tea", "core", "s2")
    assert memory.recall("canary", session_id="s2") == []
    assert keys(memory.recall("canary")) == ["mine"]
    assert keys(memory.recall("tea", session_id="s2")) == ["next"]


# Recall

@pytest.mark.parametrize(("query", "score"), [
    ("Mina", 1.0),
    ("MINA GREEN", 1.0),
    ("mina coffee", 0.5),
    ("what does Mina like?", 1.0),
    ("colour", 1.0),  # the key counts too
    ("coffee", None),
    ("coffee milk sugar Mina", 0.25),
])
def test_a_score_is_the_share_of_words_contained(memory, query, score):
    memory.store("colour", "Mina likes green")
    found = memory.recall(query)

    assert [one.score for one in found] == ([] if score is None else [score])


@pytest.mark.parametrize("query", [
    "猫", "我的猫叫什么名字", "咪咪", "名字", "猫の名前は", "고양이",
    "고양이 이름이 뭐야", "الشاي", "CAFÉ", "🎉"])
def test_words_of_any_script_find_their_memory(memory, query):
    memory.store("zh", "我的猫名字是咪咪")
    memory.store("ja", "猫の名前はタマです")
    memory.store("ko", "고양이 이름은 나비입니다")
    memory.store("ar", "يحب الشاي الأخضر")
    memory.store("fr", "un cafe noir 🎉")

    assert memory.recall(query), query


def test_what_holds_more_words_comes_first_then_what_is_newer(memory):
    for number in range(6):
        memory.store(f"tea{number}", "green tea")
    memory.store("both", "tea with milk")

    assert keys(memory.recall("tea milk", 3)) == ["both", "tea5", "tea4"]


def test_scores_are_explained(memory):
    memory.store("colour", "Mina likes green")
    (_, why), = memory.explain("Mina coffee", 5, Filters())

    assert (why.score, why.parts["matched"], why.parts["missed"]) == (
        0.5, "mina", "coffee")


@pytest.mark.parametrize("bounds", [
    {"since": "soon"}, {"until": ""}, {"since": "2026-13-01"},
    {"since": "2026-02-02", "until": "2026-02-01"}])
def test_a_bad_time_bound_is_an_error(memory, bounds):
    for query in ("tea", ""):
        with pytest.raises(UsageError):
            memory.recall(query, **bounds)


# Files and processes

def _write(workspace: Path, number: int) -> None:
    memory = MarkdownMemory(workspace)
    for turn in range(40):
        memory.store(f"k{number}-{turn}", f"line\nof {number} " * 400,
                     "core", f"s{number}")


def test_eight_processes_at_once_lose_nothing(tmp_path):
    spawn = multiprocessing.get_context("fork")
    writers = [spawn.Process(target=_write, args=(tmp_path, number))
               for number in range(8)]
    for writer in writers:
        writer.start()
    reader = MarkdownMemory(tmp_path)
    while any(writer.is_alive() for writer in writers):
        # Nobody meets half of an entry.
        assert all(one.session_id == f"s{one.key[1]}"
                   for one in reader.list())
    for writer in writers:
        writer.join()

    assert [writer.exitcode for writer in writers] == [0] * 8
    assert {one.key for one in reader.list()} == {
        f"k{number}-{turn}" for number in range(8) for turn in range(40)}


def test_a_file_put_in_place_of_the_locked_one_gets_the_entry(
        memory, tmp_path, monkeypatch):
    memory.store("first", "text")
    file = tmp_path / "MEMORY.md"
    checked_out = tmp_path / "new"
    checked_out.write_bytes(file.read_bytes())
    wait = markdown_files.fcntl.flock

    def flock(number: int, how: int) -> None:
        if checked_out.exists():
            os.replace(checked_out, file)
        wait(number, how)

    monkeypatch.setattr(markdown_files.fcntl, "flock", flock)
    memory.store("second", "text")

    assert keys(memory.list()) == ["second", "first"]


def test_on_a_full_disk_the_file_is_as_it_was(memory, tmp_path):
    memory.store("first", "text")
    file = tmp_path / "MEMORY.md"
    before = file.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
    try:
        with pytest.raises(StorageError, match="not written"):
            memory.store("second", "x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert file.read_bytes() == before
    memory.store("third", "text")
    assert keys(memory.list()) == ["third", "first"]


def test_reading_creates_nothing(tmp_path):
    workspace = tmp_path / "none"
    memory = MarkdownMemory.open(workspace, MemorySettings(), readonly=True)

    assert (memory.list(), memory.recall("tea"), memory.get("k"),
            memory.count(), memory.health_check()) == ([], [], None, 0, True)
    with pytest.raises(StorageError, match="reading only"):
        memory.store("k", "text")
    assert not workspace.exists()


def _link(path: Path) -> None:
    path.symlink_to(path.parent.parent / "secret")


def _device(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("make", [_link, _device, Path.mkdir])
def test_only_ordinary_files_are_touched(tmp_path, make: Callable):
    secret = tmp_path / "secret"
    secret.write_text("root: x\n")
    workspace = tmp_path / "w"
    workspace.mkdir()
    make(workspace / "MEMORY.md")
    memory = MarkdownMemory(workspace)

    assert memory.health_check() is False
    for work in (lambda: memory.store("k", "text"), memory.list):
        with pytest.raises(StorageError, match=r"MEMORY\.md"):
            work()
    assert secret.read_text() == "root: x\n"


def test_a_folder_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / "memory").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StorageError, match="link"):
        MarkdownMemory(workspace).store("k", "text", "daily")
    assert [*(tmp_path / "elsewhere").iterdir()] == []


def test_a_huge_file_of_others_is_streamed(tmp_path, monkeypatch):
    monkeypatch.setattr(markdown_files, "MAX_BYTES", 4096)
    with open(tmp_path / "MEMORY.md", "wb") as file:
        file.write(b"x" * 1_000_000 + b"\n")
        for number in range(5_000):
            file.write(b"- **open**: %d\n  more\n" % number)
    memory = MarkdownMemory(tmp_path)
    memory.store("k", "tea")

    assert memory.get("k").content == "tea"
    assert memory.get("MEMORY:1").content == "x" * 4096
    assert memory.get("open").content == "4999"
    assert memory.count() == 1 + 5_000 + 2


def test_an_open_entry_is_not_collected_without_end():
    lines = [(0, b"- **k**: x")] + [(0, b"  " + b"y" * 998)] * 20_000
    most = 0

    for one in parse(iter(lines)):
        most = max(most, len(one.content))
    assert most < 1000


def test_a_text_too_long_for_a_line_that_is_read_is_refused(
        memory, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="too long"):
        memory.store("k", "x" * markdown_format.MAX_BYTES)
    assert [*tmp_path.iterdir()] == []


def test_it_says_what_it_can():
    memory = MarkdownMemory(Path())

    assert isinstance(memory, StoresSource)
    assert not isinstance(memory, ClosesMemory)
