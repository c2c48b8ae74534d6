"""What a person reads of `memory hygiene` and `memory stats`, to the
letter. In this process: the store is not asked."""

import json

import pytest

from claw.cli.app import run
from claw.cli.commands.memory import hygiene
from claw.cli.commands.memory.stats_view import (
    Counts,
    draw_picture,
    to_document,
    to_lines,
)
from claw.memory.hygiene.report import Failure, Report
from claw.memory.sqlite.statistics import Statistics

BUSY = Failure("snapshot", "the disk is full", code=10)


@pytest.fixture
def tidied(monkeypatch, capsys, tmp_path):
    """tidied(report, "--force"): (code, stdout, stderr) of the command."""
    (tmp_path / "work").mkdir()

    def call(report, *options):
        asked = {}

        def tidy(_settings, _notify, **wanted):
            asked.update(wanted)
            return report
        monkeypatch.setattr(hygiene, "tidy", tidy)
        code = run(["--config-dir", str(tmp_path), "-w",
                    str(tmp_path / "work"), "memory", "hygiene", *options])
        assert (asked["force"], asked["dry_run"], asked["whole"]) == (
            "--force" in options, "--dry-run" in options, True)
        return code, *capsys.readouterr()
    return call


@pytest.mark.parametrize(("report", "code", "out", "err"), [
    (Report(counts={"archived_memory_files": 2, "freed_bytes": 7}), 0,
     "2 daily files archived\n7 bytes given back to the disk\n", ""),
    (Report(counts={"archived_memory_files": 0}), 0,
     "", "claw: there was nothing to do\n"),
    (Report(), 0, "", "claw: there was nothing to do\n"),
    (Report(failures=(BUSY,)), 10, "", ""),
    (Report(counts={"pruned_rows": 1}, failures=(BUSY,)), 10,
     "1 old memory of other categories removed\n", ""),
    (Report(skipped="off"), 0, "", "claw: memory.hygiene_enabled is false; "
                                   "--force runs it all the same\n"),
    (Report(skipped="not_due"), 0, "", "claw: it was done in the last 12 "
                                       "hours; --force does it again\n"),
    (Report(skipped="busy"), 5, "", "claw: error: another process is "
     "tidying this memory (try again in a moment)\n"),
    (Report(dry_run=True, counts={"pruned_rows": 3}), 0,
     "would be: 3 old memories of other categories removed\n",
     "claw: nothing was changed (--dry-run)\n"),
    (Report(dry_run=True, files=(("archived", "memory/2020-01-01.md"),)), 0,
     "", "claw: would be archived: memory/2020-01-01.md\n"
         "claw: nothing was changed (--dry-run)\n"),
    (Report(dry_run=True), 0, "", "claw: there is nothing to do\n"),
])
def test_hygiene_says_what_was_done(tidied, report, code, out, err):
    options = ["--dry-run"] if report.dry_run else []

    assert tidied(report, *options) == (code, out, err)


def test_hygiene_as_json_is_the_report(tidied):
    report = Report(counts={"pruned_rows": 3})
    code, out, err = tidied(report, "--force", "--json")

    assert (code, json.loads(out), err) == (0, report.to_json(), "")


def test_hygiene_needs_a_workspace(capsys, tmp_path):
    code = run(["--config-dir", str(tmp_path), "memory", "hygiene"])

    assert code == 1
    assert capsys.readouterr().err == (
        f"claw: error: there is no workspace at {tmp_path}/workspace "
        "(claw config path says where it is looked for)\n")


FULL = Counts("sqlite", True, 1234, Statistics(
    {"core": 1200, "odd\nname": 34}, superseded=5, sessions=1, senders=2,
    top_senders={"mi\tna": 3}, unit="week",
    timeline={"2025-12-29": 4, "2026-01-12": 2}, oldest="2025-12-30T01:00:00Z",
    newest="2026-01-13T01:00:00Z",
    bytes={"text": 2_500_000, "index": 999, "vectors": 0}, vectors=1,
    versions=1), missing=2)
LEAN = Counts("markdown", False, 0, Statistics({}), missing=None)


def test_stats_as_lines():
    assert to_lines(FULL).splitlines() == [
        "backend: sqlite", "health: healthy", "total: 1234", "  core: 1200",
        "  odd\\nname: 34", "superseded: 5", "sessions: 1", "senders: 2",
        "oldest: 2025-12-30T01:00:00Z", "newest: 2026-01-13T01:00:00Z",
        "week 2025-12-29: 4", "week 2026-01-12: 2", "size: 2500999",
        "size text: 2500000", "size index: 999", "size vectors: 0",
        "vectors: 1", "vectors missing: 2", "versions: 1"]
    assert to_lines(LEAN).splitlines() == [
        "backend: markdown", "health: unhealthy", "total: 0",
        "superseded: 0", "sessions: 0", "senders: 0"]


def test_stats_as_json():
    assert to_document(FULL) == {
        "backend": "sqlite", "healthy": True, "total": 1234,
        "categories": {"core": 1200, "odd\nname": 34}, "superseded": 5,
        "sessions": 1, "senders": 2, "top_senders": {"mi\tna": 3},
        "timeline": {"unit": "week",
                     "counts": {"2025-12-29": 4, "2026-01-12": 2}},
        "oldest": "2025-12-30T01:00:00Z", "newest": "2026-01-13T01:00:00Z",
        "size_bytes": 2_500_999,
        "bytes": {"text": 2_500_000, "index": 999, "vectors": 0},
        "vectors": {"made": 1, "missing": 2}, "versions": 1}
    assert (to_document(LEAN)["bytes"], to_document(LEAN)["size_bytes"]) \
        == (None, None)


def test_stats_as_a_picture():
    assert draw_picture(FULL, 40).splitlines() == [
        "sqlite, healthy: 1,234 memories",
        "2025-12-30 to 2026-01-13, 1 session, 2 senders",
        "", "by category",
        "  core       " + "█" * 20 + " 1,200",
        "  odd\\nname  ▋ 34",
        "", "by week",
        "  2025-12-29  " + "█" * 23 + " 4",
        "  2026-01-05   0",
        "  2026-01-12  " + "█" * 11 + "▌ 2",
        "", "by sender", "  mi na  " + "█" * 28 + " 3",
        "", "on disk: 2.5 MB",
        "  text   " + "█" * 20 + " 2.5 MB",
        "  index  ▏ 999 bytes",
        "", "5 superseded, 1 earlier state kept, 1 vector, "
            "2 missing: claw memory reindex --vectors"]
    assert draw_picture(LEAN, 40) == "markdown, unhealthy: 0 memories"


@pytest.mark.parametrize(("unit", "newest", "oldest", "drawn"), [
    ("month", "2026-02", "2025-11",
     ["2025-11", "2025-12", "2026-01", "2026-02"]),
    ("month", "1000-01", "0999-12", ["0999-12", "1000-01"]),
    ("week", "2026-01-12", "2025-12-22",
     ["2025-12-22", "2025-12-29", "2026-01-05", "2026-01-12"]),
    ("month", "2026-12", "2020-01",
     [f"2026-{month:02d}" for month in range(1, 13)]),
])
def test_the_last_twelve_periods_are_drawn_without_a_gap(
        unit, newest, oldest, drawn):
    counts = Counts("sqlite", True, 2, Statistics(
        {}, unit=unit, timeline={newest: 1, oldest: 1}))
    rows = draw_picture(counts, 60).split(f"by {unit}\n")[1].splitlines()

    assert [row.split()[0] for row in rows] == drawn


@pytest.mark.parametrize(("number", "rows", "last"), [
    (12, 12, "c12"), (13, 12, "(2 others)")])
def test_twelve_categories_fit_and_the_rest_is_summed(number, rows, last):
    counts = Counts("sqlite", True, 2, Statistics(
        {f"c{n}": 5 for n in range(1, number + 1)}))
    drawn = draw_picture(counts, 60).split("by category\n")[1].splitlines()

    assert len(drawn) == rows
    assert drawn[-1].startswith(f"  {last} ")
    assert drawn[-1].endswith(" 10" if number == 13 else " 5")


@pytest.mark.parametrize(("size", "shown"), [
    (999, "999 bytes"), (1000, "1.0 KB"), (99_940, "99.9 KB"),
    (100_000, "100 KB"), (999_999, "1000 KB"), (1_000_000, "1.0 MB"),
    (10**9, "1.0 GB"), (250 * 10**9, "250.0 GB")])
def test_sizes_have_a_unit_that_fits(size, shown):
    counts = Counts("sqlite", True, 1, Statistics({}, bytes={"text": size}))

    assert f"on disk: {shown}\n" in draw_picture(counts, 60)
