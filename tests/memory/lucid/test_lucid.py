"""The bridge to the command `lucid`, with a small script in its place."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from claw.core.errors import StorageError
from claw.core.memory import (
    ChecksMemory,
    ExplainsRecall,
    Explanation,
    Filters,
    ForgetsMany,
    MemoryEntry,
    PagesMemories,
    RecallsFiltered,
    RestoresMemories,
    Source,
    StoresSource,
)
from claw.memory.lucid.backend import LucidMemory
from claw.memory.lucid.command import (
    LucidSettings,
    LucidTool,
    argument,
    settings_from,
)
from claw.memory.lucid.output import choose_type, memories, merge_foreign, rows
from claw.memory.settings import MemorySettings

PATIENT = 20_000  # milliseconds; a busy machine is no failure
CONTEXT = """\
loading model... \x1b[32mok\x1b[0m
- [decision] not between the tags
<lucid-context>
Some heading
- [decision] Use token refresh middleware
- [context] Working in src/auth.rs
- [bug] The tea is cold
- no label
</lucid-context>
- [learning] not between the tags either
"""


class Tool:
    """The script that stands in for `lucid`, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "bin" / "lucid"
        self.log = folder / "calls"
        self.path.parent.mkdir()
        self.answers("cat <<'END'\n" + CONTEXT + "END")

    def answers(self, script: str) -> None:
        fresh = self.path.with_name("new")
        fresh.write_text(
            "#!/bin/sh\n"
            f"{{ printf '%s\\036' \"$@\"; printf '\\035'; }} >> {self.log}\n"
            f"{script}\n", "utf-8", errors="surrogateescape")
        fresh.chmod(0o755)
        fresh.replace(self.path)

    def calls(self) -> list[list[str]]:
        if not self.log.exists():
            return []
        text = self.log.read_bytes().decode()
        return [call.split("\x1e")[:-1] for call in text.split("\x1d")[:-1]]


@pytest.fixture
def tool(tmp_path, monkeypatch) -> Tool:
    made = Tool(tmp_path)
    monkeypatch.setenv("CLAW_LUCID_CMD", str(made.path))
    for name in ("RECALL", "STORE"):
        monkeypatch.setenv(f"CLAW_LUCID_{name}_TIMEOUT_MS", str(PATIENT))
    return made


@pytest.fixture
def open_lucid(tmp_path) -> Iterator[Callable[..., LucidMemory]]:
    opened: list[LucidMemory] = []

    def call(**options: object) -> LucidMemory:
        opened.append(LucidMemory.open(tmp_path / "w", MemorySettings(),
                                       **options))
        return opened[-1]

    yield call
    for memory in opened:
        memory.close()
    until_idle()


@pytest.fixture
def memory(tool, open_lucid) -> LucidMemory:
    return open_lucid()


def until_idle() -> None:
    """What was to be stored has been."""
    for thread in threading.enumerate():
        if thread.name == "lucid store":
            thread.join(PATIENT / 1000)


def texts(found: list[MemoryEntry]) -> list[str]:
    return [one.content for one in found]


def fill(memory: LucidMemory, number: int) -> None:
    for place in range(number):
        memory.store(f"k{place}", f"green tea {place}")
    until_idle()


# Store

@pytest.mark.parametrize(("category", "type_"), [
    ("core", "decision"), ("daily", "context"),
    ("conversation", "conversation"), ("Recipes", "learning")])
def test_what_is_stored_is_handed_over(memory, tool, tmp_path, category,
                                       type_):
    memory.store_from("tea", "green\nand hot", category, "s1",
                      Source("ann", "m1"))
    until_idle()

    assert choose_type(category) == type_
    assert tool.calls() == [["store", "tea: green\nand hot",
                             f"--type={type_}",
                             f"--project={tmp_path / 'w'}"]]
    assert memory.get("tea").sender == "ann"


def test_storing_does_not_wait_for_the_tool(memory, tool):
    tool.answers("exec sleep 3")
    begin = time.monotonic()
    memory.store("tea", "green")
    took = time.monotonic() - begin

    assert memory.get("tea").content == "green"
    assert took < 2.5


def test_what_sqlite_refuses_is_not_handed_over(tool, open_lucid):
    memory = open_lucid(readonly=True)
    with pytest.raises(StorageError):
        memory.store("tea", "green")
    until_idle()

    assert tool.calls() == []


def test_a_command_that_ends_at_once_has_handed_it_over(tool, tmp_path):
    tool.answers("sleep 0.2\necho done >> " + str(tool.log))
    code = ("import sys; from pathlib import Path\n"
            "from claw.memory.lucid.backend import LucidMemory\n"
            "from claw.memory.settings import MemorySettings\n"
            "m = LucidMemory.open(Path(sys.argv[1]), MemorySettings())\n"
            "m.store('tea', 'green'); m.close()\n")
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "w")],
                   check=True, timeout=60)

    assert tool.log.read_text().endswith("done\n")


def test_a_command_waits_no_longer_than_the_limit(
        tool, tmp_path, monkeypatch, open_lucid):
    monkeypatch.setenv("CLAW_LUCID_STORE_TIMEOUT_MS", "50")
    tool.answers("exec sleep 60")
    memory = open_lucid()
    for number in range(100):
        memory.store(f"k{number}", "text")
    begin = time.monotonic()
    memory.close()
    until_idle()

    assert time.monotonic() - begin < 30


def test_a_failed_store_lets_the_tool_rest(memory, tool):
    tool.answers("exit 1")
    fill(memory, 1)

    assert texts(memory.recall("green tea")) == ["green tea 0"]
    assert [call[0] for call in tool.calls()] == ["store"]


# Recall

def test_where_little_is_found_the_tool_is_asked(memory, tool, tmp_path):
    fill(memory, 2)
    found = memory.recall("green tea", 4)

    assert tool.calls()[-1] == ["context", "green tea", "--budget=200",
                                f"--project={tmp_path / 'w'}"]
    by_key = {one.key: one for one in found}
    assert [*by_key].index("lucid_0") < [*by_key].index("lucid_1")
    assert {*by_key} == {"k0", "k1", "lucid_0", "lucid_1"}
    row = by_key["lucid_1"]
    assert (row.id, row.content, row.category, row.session_id, row.sender,
            row.score) == ("lucid:1", "Working in src/auth.rs",
                           "conversation", None, "lucid", 0.95)
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_ours_keep_their_scores_and_their_room(memory, tool):
    memory.store("far", "one cold morning the tea was green and rather weak")
    until_idle()
    question = "which coffee or tea"
    alone = memory.recall(question, 1)
    found = memory.recall(question, 2)

    assert texts(alone) == [memory.get("far").content]
    assert {one.key: one.score for one in found} == {
        "far": alone[0].score, "lucid_0": 1.0}


def test_where_enough_is_found_it_is_not_asked(memory, tool):
    fill(memory, 3)

    assert len(memory.recall("green tea", 5)) == 3
    assert len(memory.recall("green tea 1", 1)) == 1
    assert memory.recall("green tea", 0) == []
    assert {call[0] for call in tool.calls()} == {"store"}


@pytest.mark.parametrize("narrow", [
    {"session_id": "s1"}, {"since": "2020-01-01"}, {"until": "2099-01-01"}])
def test_it_is_not_asked_what_it_cannot_know(memory, tool, narrow):
    assert memory.recall("tea", 5, **narrow) == []
    assert tool.calls() == []


@pytest.mark.parametrize("query", ["", " \n", "*"])
def test_it_is_not_asked_for_the_newest(memory, tool, query):
    assert memory.recall(query) == []
    assert tool.calls() == []


def test_of_its_rows_only_the_category_asked_for(memory):
    found = memory.recall_filtered("auth", 5, Filters("core"))

    assert texts(found) == ["Use token refresh middleware"]


def test_its_rows_are_explained(memory):
    (entry, why), *_ = memory.explain("auth", 5, Filters())

    assert (why.key, why.score, why.parts["method"], why.parts["label"]) == (
        entry.key, entry.score, "lucid", "decision")


@pytest.mark.parametrize("query", ["-x", "--project=/etc", "--", "-"])
def test_a_query_is_never_an_option(memory, tool, query):
    memory.recall(query)

    assert tool.calls()[0][1] == f" {query}"


def test_its_input_is_no_terminal_and_it_sees_no_secret(
        tool, monkeypatch, open_lucid):
    monkeypatch.setenv("CLAW_API_KEY", "canary-1")
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "canary-2")
    monkeypatch.setenv("LUCID_TOKEN", "its own")
    tool.answers("echo '<lucid-context>'; cat; env | sed 's/^/- [env] /'")
    found = texts(open_lucid().recall("tea", 500))

    assert "LUCID_TOKEN=its own" in found
    assert not any("canary" in text for text in found)


# Faults

@pytest.mark.parametrize("script", [
    "echo '<lucid-context>'; echo '- [bug] x'; exit 1",
    "exec sleep 60",
    "sleep 60 & exit 0",                  # its child holds the pipe
    "trap '' TERM INT HUP; sleep 60",
    "yes '- [decision] again and again'",  # without end
    "kill -9 $$",
])
def test_a_fault_is_silent_and_lets_it_rest(tool, monkeypatch, open_lucid,
                                            script):
    slow = "sleep" in script
    monkeypatch.setenv("CLAW_LUCID_RECALL_TIMEOUT_MS",
                       "100" if slow else str(PATIENT))
    memory = open_lucid()
    fill(memory, 1)
    tool.answers(f"echo $$ > {tool.log}.pid\n{script}")
    begin = time.monotonic()

    assert texts(memory.recall("tea")) == ["green tea 0"]
    assert time.monotonic() - begin < (5 if slow else 20)
    asked = len(tool.calls())
    assert texts(memory.recall("tea")) == ["green tea 0"]
    assert len(tool.calls()) == asked
    group = Path(f"{tool.log}.pid")
    if group.exists():
        assert is_gone(int(group.read_text()))


def is_gone(group: int) -> bool:
    """Whether no process of the group runs on."""
    for _ in range(100):
        # An orphan is dead at once, but listed until init has seen it.
        stats = [stat_of(one).rpartition(")")[2].split()
                 for one in Path("/proc").glob("[0-9]*/stat")]
        if not any(int(stat[2]) == group and stat[0] != "Z"
                   for stat in stats if stat):
            return True
        time.sleep(0.02)
    return False


def stat_of(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.parametrize("command", ["no-such-command-here", "/", "a\0b"])
def test_a_missing_command_is_silent(monkeypatch, tmp_path, command):
    settings = LucidSettings(cmd=command)
    tool = LucidTool(settings, tmp_path, {})

    assert tool.context("tea") is None
    assert tool.is_resting()


def test_it_rests_for_fifteen_seconds(tmp_path):
    now = [100.0]
    tool = LucidTool(LucidSettings(cmd="/nowhere"), tmp_path, {},
                     clock=lambda: now[0])
    tool.context("tea")

    now[0] += 14.9
    assert tool.is_resting()
    now[0] += 0.2
    assert not tool.is_resting()


def test_silence_is_no_fault(memory, tool):
    tool.answers("exit 0")
    assert memory.recall("tea") == []

    tool.answers("echo '<lucid-context>'; echo '- [bug] cold'")
    assert texts(memory.recall("tea")) == ["cold"]


def test_bytes_that_are_no_text_are_shown_as_marks(memory, tool):
    tool.answers("printf '<lucid-context>\\n- [bug] caf\\351\\n'")

    assert texts(memory.recall("tea")) == ["caf\ufffd"]


# Its output

@pytest.mark.parametrize(("label", "category"), [
    ("decision", "core"), (" Learning ", "core"), ("SOLUTION", "core"),
    ("context", "conversation"), ("conversation", "conversation"),
    ("bug", "daily"), ("visual memory", "visual"), ("recipe", "recipe"),
    ("", "custom")])
def test_labels_become_categories(label, category):
    output = f"<lucid-context>\n- [{label}] text\n</lucid-context>"
    (entry, _), = memories(output.encode(), "2026-01-01T00:00:00.000000Z")

    assert entry.category == category


def test_noise_around_the_rows_is_ignored():
    assert rows(CONTEXT.encode()) == [
        ("decision", "Use token refresh middleware"),
        ("context", "Working in src/auth.rs"), ("bug", "The tea is cold")]
    assert rows(b"- [bug] no tags") == []
    assert rows(b"</lucid-context>- [bug] x<lucid-context>") == []


def test_escape_codes_do_not_reach_the_terminal():
    assert rows(b"<lucid-context>\n- [bug] a\x1b[31mb\x07\n") == [
        ("bug", "a [31mb")]


def test_scores_fall_by_a_twentieth_to_a_tenth():
    output = b"<lucid-context>\n" + b"".join(
        b"- [bug] %d\n" % number for number in range(30))
    scores = [entry.score for entry, _ in memories(output, "t")]

    assert scores[:3] == [1.0, 0.95, 0.9]
    assert scores[18:] == [pytest.approx(0.1)] * 12
    assert min(scores) >= 0.1


def test_what_we_have_is_not_shown_twice():
    def one(key: str, content: str, score: float
            ) -> tuple[MemoryEntry, Explanation]:
        return (MemoryEntry(key, key, content, "core", "t", "t",
                            score=score), Explanation(key, score, {}))

    found = merge_foreign([one("Tea", "Green and hot", 0.4)], [
        one("TEA", "green AND hot", 1.0), one("lucid_0", "tea: GREEN", 0.9),
        one("lucid_1", "tea:  green and\nhot", 0.9),
        one("lucid_2", "green and hot", 0.9),
        one("lucid_3", "TEA: green", 0.8)], 5)

    assert [entry.content for entry, _ in found] == [
        "tea: GREEN", "Green and hot"]


# Settings and arguments

def test_settings_come_from_the_environment():
    notes: list[str] = []
    found = settings_from({
        "ZEROCLAW_LUCID_CMD": "reference", "CLAW_LUCID_CMD": "/opt/lucid ",
        "ZEROCLAW_LUCID_BUDGET": "300", "CLAW_LUCID_BUDGET": "",
        "ZEROCLAW_LUCID_RECALL_TIMEOUT_MS": "1",
        "CLAW_LUCID_STORE_TIMEOUT_MS": "1",
        "CLAW_LUCID_LOCAL_HIT_THRESHOLD": "0",
        "CLAW_LUCID_FAILURE_COOLDOWN_MS": "9" * 50,
    }, notes.append)

    assert found == LucidSettings(
        cmd="/opt/lucid", budget=300, recall_timeout_ms=20,
        store_timeout_ms=50, local_hit_threshold=1,
        failure_cooldown_ms=600_000)
    assert notes == []


def test_a_setting_that_is_no_number_is_told():
    notes: list[str] = []
    found = settings_from({"CLAW_LUCID_BUDGET": "many"}, notes.append)

    assert found == LucidSettings()
    assert notes == ["environment CLAW_LUCID_BUDGET: no number: 'many'; "
                     "200 is used"]


@pytest.mark.parametrize(("text", "expected"), [
    ("tea", "tea"), ("-x", " -x"), ("a\0b", "a b"), ("\ud800", "\ufffd"),
    ("猫" * 100_000, "猫" * 33_333)])
def test_any_text_is_an_argument(text, expected):
    assert argument(text) == expected


def test_it_can_do_what_sqlite_can(memory):
    for protocol in (StoresSource, RecallsFiltered, ExplainsRecall,
                     PagesMemories, RestoresMemories, ForgetsMany,
                     ChecksMemory):
        assert isinstance(memory, protocol)
    assert memory.name == "lucid"
