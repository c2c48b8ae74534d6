"""Failpoints end a process where a test asks for it."""

import io

import pytest

from claw.core import failpoint
from claw.core.errors import UsageError


@pytest.fixture(autouse=True)
def no_hook():
    yield
    failpoint.install(None)


def test_the_process_ends_at_the_failpoint_of_that_number():
    left = []
    reach = failpoint.die_at(2, left.append)
    for at in range(3):
        reach("any")
        assert left == [failpoint.KILLED] * (at >= 1)


def test_names_are_noted_in_the_file_of_the_environment(monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr(failpoint, "open", lambda *_, **__: log,
                        raising=False)
    failpoint.install_from_environment({"CLAW_FAILPOINT_LOG": "any"})
    failpoint.reach("one")
    failpoint.reach("two")

    assert log.getvalue() == "one\ntwo\n"


@pytest.mark.parametrize("number", ["two", "-1", "²"])
def test_a_number_is_asked_for(number):
    with pytest.raises(UsageError, match="is no number"):
        failpoint.install_from_environment({"CLAW_FAILPOINT": number})


def test_an_empty_environment_installs_nothing(monkeypatch):
    monkeypatch.setattr(failpoint, "install", pytest.fail)
    failpoint.install_from_environment({})
