"""What claw takes of the disk: a sample a day, and a forecast of them."""

import pytest

from claw.storage.disk_use import (
    DAY_S,
    KEPT,
    Sample,
    forecast,
    measure,
    note_sample,
    read_samples,
)

MIB = 1 << 20


def sample(day, **parts):
    return Sample(day * DAY_S, {name: size * MIB
                                for name, size in parts.items()})


@pytest.mark.parametrize(("samples", "a_day", "days_left"), [
    ([], None, None),
    ([sample(9.5, log=1)], None, None),  # not a day ago
    ([sample(8, log=6)], 2 * MIB, 50),
    ([sample(8, log=10)], 0, None),
    ([sample(8, log=14)], -2 * MIB, None),
    ([sample(11, log=1)], None, None),  # the clock was set back
    # it grew once and levelled off
    ([sample(-90, log=0), sample(0, log=10), sample(9, log=10)], 0, None),
])
def test_growth_is_that_of_the_last_two_weeks(samples, a_day, days_left):
    found = forecast(samples, sample(10, log=10), 100 * MIB)

    assert (found.a_day, found.days_left) == (a_day, days_left)


def test_a_part_is_a_database_with_its_side_files_or_a_folder(tmp_path):
    workspace = tmp_path / "workspace"
    for name in ("state/log.db", "state/log.db-wal", "memory/brain.db",
                 "sessions/a/b.jsonl", "NOTES.md"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_bytes(b"x" * 10_000)
    (tmp_path / "config.toml").write_text("x")
    (workspace / "sessions" / "link").symlink_to("/usr")

    found = measure(tmp_path, workspace)

    assert set(found) == {"log", "memory", "sessions", "other files",
                          "home/other files"}
    assert found["log"] == 2 * found["memory"] >= 20_000


def test_a_day_gives_one_sample_and_old_ones_go(tmp_path):
    noted = [note_sample(tmp_path, tmp_path, step * DAY_S / 2)
             for step in range(2, 2 * (KEPT + 5) + 2)]

    assert sum(noted) == KEPT + 5
    assert len(read_samples(tmp_path)) == KEPT


@pytest.mark.parametrize("text", [b"", b"[", b"{}", b"[1]", b"\xff",
                                  b"[" * 100_000, b'[{"at": "x"}]'])
def test_a_damaged_file_is_begun_anew(tmp_path, text):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "disk_use.json").write_bytes(text)

    assert read_samples(tmp_path) == []
    assert note_sample(tmp_path, tmp_path, 5.0)
    assert [one.at for one in read_samples(tmp_path)] == [5.0]


def test_after_the_clock_was_set_back_samples_are_of_the_past(tmp_path):
    for day in (100, 101, 3):
        note_sample(tmp_path, tmp_path, day * DAY_S)

    assert [one.at for one in read_samples(tmp_path)] == [3 * DAY_S]
