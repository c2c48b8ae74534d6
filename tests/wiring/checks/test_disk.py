"""The doctor's forecast of the disk."""

import time

import pytest

from claw.config.places import locate
from claw.storage.disk_use import DAY_S, note_sample
from claw.wiring.checks import disk


@pytest.mark.parametrize(("then", "free", "status", "words"), [
    (None, 1 << 40, "skip", "a day after claw listen was first started"),
    (8 << 20, 1 << 40, "ok", "does not grow"),
    (0, 1 << 40, "ok", "grows by 4.0 MiB a day, most of it sessions"),
    (0, 40 << 20, "warn", "the disk is full in 10 days"),
])
def test_the_forecast_warns_a_month_before(tmp_path, monkeypatch, then, free,
                                           status, words):
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    places = locate(str(tmp_path), env={})
    file = places.workspace / "sessions" / "a.jsonl"
    file.parent.mkdir(parents=True)
    if then is not None:
        file.write_bytes(b"x" * then)
        note_sample(places.home, places.workspace, time.time() - 2 * DAY_S)
    file.write_bytes(b"x" * (8 << 20))

    use, growth = disk.check_disk_use(places)

    assert use.detail.startswith("claw takes 8.0 MiB: sessions 8.0 MiB")
    assert growth.status == status
    assert words in growth.detail
    assert (growth.hint is not None) == (status == "warn")
