"""Groups of checks: one function each, an error is a finding."""

import pytest

from claw.core.errors import ConfigError
from claw.wiring.checks.check import Check, Group, run
from claw.wiring.checks.doctor import GROUPS


def test_a_check_is_added_by_its_decorator_alone():
    group = Group("g")

    @group.check
    def one(subject):
        yield Check("g.one", "ok", subject)

    @group.check
    def two(subject):
        yield Check("g.two", "warn", "odd", "do this")

    found = list(group.run("it"))
    assert [c.id for c in found] == ["g.one", "g.two"]
    assert found[0].detail == "it"
    assert found[1].to_json() == {
        "id": "g.two", "group": "g", "status": "warn", "detail": "odd",
        "hint": "do this"}


@pytest.mark.parametrize(("error", "id", "detail", "hint"), [
    (ConfigError("odd", hint="mend it"), "g.config", "odd", "mend it"),
    (OSError(13, "Permission denied", "/a b"), "g.system",
     "Permission denied: /a b", "look at: ls -ld '/a b'"),
    (OSError("odd"), "g.system", "odd: ", "run it again with -v"),
])
def test_an_error_on_the_way_is_a_finding(error, id, detail, hint):
    def probe(subject):
        yield Check("g.first", "ok", subject)
        raise error

    first, last = run("g", probe, "it")
    assert first.detail == "it"
    assert (last.status, last.detail, last.hint) == ("fail", detail, hint)
    assert last.id == id


def test_every_group_has_a_check_and_a_name_of_its_own():
    assert [group.name for group in GROUPS] == [
        "workspace", "memory", "providers", "channels", "people", "gateway",
        "schedule", "sandbox", "plug_ins", "mcp", "skills", "disk", "python"]
    assert all(group._probes for group in GROUPS)
