"""Changes of config.toml that are killed at each of their steps, and that
meet one another: always one whole version, and none is lost."""

import os

import pytest

from claw.config.edit import set_value
from claw.config.history import list_versions, read_version
from claw.config.places import locate
from claw.config.store import lock_settings
from claw.config.trial import journal
from claw.core import failpoint
from claw.core.errors import ClawError, StorageError
from claw.wiring.config.apply import apply_text

OLD = b'[memory]\nbackend = "sqlite"\n'
NEW = b'[memory]\nbackend = "none"\n'


def allow(*_):
    """The plug-in takes any value."""


def apply(places, data=NEW, probe=lambda tree: ()):
    apply_text(places, data, expected=OLD, probe=probe,
               listening=lambda places, wanted: ())


def set_backend(places):
    set_value(places, ("memory", "backend"), "none", allow)


def set_first(places):
    """Where no config.toml is."""
    places.config_file.unlink()
    set_backend(places)


def fail(places):
    def probe(tree):
        raise StorageError("it does not hold")
    apply(places, probe=probe)


def start(work, *arguments, number=0):
    """Do this in a process that dies at failpoint `number`; its id. It ends
    with the code of an error."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        if number:
            failpoint.install(failpoint.die_at(number))
        work(*arguments)
        code = 0
    except ClawError as error:
        code = error.exit_code
    finally:
        os._exit(code)


def end(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def make(folder):
    places = locate(str(folder), None, {}, command="claw config set")
    places.home.mkdir(parents=True)
    places.config_file.write_bytes(OLD)
    return places


@pytest.mark.parametrize("work", [apply, set_backend, set_first, fail])
def test_killed_at_each_step_there_is_one_whole_version(tmp_path, work):
    steps = 0
    while True:
        steps += 1
        places = make(tmp_path / str(steps))
        old = b"" if work is set_first else OLD
        code = end(start(work, places, number=steps))
        if code != failpoint.KILLED:
            break
        there = places.config_file.read_bytes() \
            if places.config_file.exists() else b""
        assert there in (old, NEW)

        with lock_settings(places) as said:
            pass

        now = places.config_file.read_bytes() \
            if places.config_file.exists() else b""
        kept = [read_version(places, v) for v in list_versions(places)]
        assert not journal(places).exists()
        assert not list(places.home.glob("**/.*.tmp"))
        if said:
            assert (there, now, kept[0]) == (NEW, old, NEW)
        else:
            assert now == there
        assert old in [now, *kept]
    assert code == (StorageError.exit_code if work is fail else 0)
    assert steps > 4


def test_of_two_at_once_one_counts_and_the_other_says_why(tmp_path):
    for number in range(5):
        places = make(tmp_path / str(number))
        texts = [b'[memory]\nbackend = "none"\n# %d\n' % n for n in range(3)]
        codes = [end(child) for child in [
            start(apply, places, text) for text in texts]]
        assert sorted(codes) == [0, StorageError.exit_code,
                                 StorageError.exit_code]
        assert places.config_file.read_bytes() == texts[codes.index(0)]
        assert [read_version(places, v) for v in list_versions(places)] == [
            OLD]


def test_a_set_waits_for_an_apply_and_keeps_what_it_brought(tmp_path):
    places = make(tmp_path / "home")

    def lock_soon():
        with lock_settings(places, patience_s=0.1):
            pass

    def probe(tree):
        assert end(start(lock_soon)) == StorageError.exit_code
        return ()
    apply(places, probe=probe)
    assert end(start(set_value, places, ("cost", "enabled"), "true",
                     allow)) == 0
    assert places.config_file.read_bytes() == \
        NEW + b"\n[cost]\nenabled = true\n"
    assert len(list_versions(places)) == 2


def test_an_apply_and_a_set_at_once_lose_nothing(tmp_path):
    for number in range(5):
        places = make(tmp_path / str(number))
        applying = start(apply, places)
        setting = start(set_value, places, ("cost", "enabled"), "true",
                        allow)
        codes = end(applying), end(setting)
        text = places.config_file.read_bytes()
        assert codes[1] == 0
        assert text.endswith(b"\n[cost]\nenabled = true\n")
        assert codes[0] == (0 if text.startswith(NEW)
                            else StorageError.exit_code)
