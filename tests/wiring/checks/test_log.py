"""What doctor says of the log."""

import pytest

from claw.config.places import locate
from claw.storage.log.entry import Start
from claw.storage.log.writer import LogWriter
from claw.wiring.checks.log import check_log
from claw.wiring.workspace.place_names import log_path


@pytest.fixture
def places(tmp_path):
    return locate(str(tmp_path / "a home"), env={})


def keep(places, count):
    log_path(places).parent.mkdir(parents=True)
    writer = LogWriter(log_path(places))
    for number in range(count):
        writer.begin(Start(str(number), "ask", "which tea?"))
    writer.close()


def test_without_a_log_nothing_is_said_and_nothing_made(places):
    assert list(check_log(places)) == []
    assert not places.home.exists()


@pytest.mark.parametrize(("count", "detail"), [
    (1, "log: 1 entry, "), (3, "log: 3 entries, ")])
def test_a_log_is_counted(places, count, detail):
    keep(places, count)

    (found,) = check_log(places)

    assert (found.id, found.status) == ("disk.log", "ok")
    assert found.detail.startswith(detail)


def damage_pages(path):
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)


def make_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [
    lambda path: path.write_bytes(b"no database at all" * 99),
    damage_pages, make_folder])
def test_a_damaged_log_is_told_with_a_way_out(places, damage):
    keep(places, 20)
    damage(log_path(places))

    (found,) = check_log(places)

    assert (found.id, found.status) == ("disk.log", "warn")
    assert "log.db" in found.detail
    assert found.hint
