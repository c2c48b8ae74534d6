"""SIGKILLs while answers go out: what people see in the end."""

import time

import pytest

from claw.testing.fake_irc import CAPS
from claw.testing.prove.bench import Bench
from claw.testing.prove.kills import random_kills
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.irc import IrcStage

NO_HISTORY = tuple(cap for cap in CAPS if "history" not in cap)
MARK = "(possibly repeated) "


def wait(predicate, patience_s=20.0):
    deadline = time.monotonic() + patience_s
    while not (found := predicate()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def test_kills_lose_and_double_nothing(tmp_path):
    proof = random_kills(Bench(tmp_path, kills=4, lanes=1), "irc")

    assert proof.broken == []
    assert proof.tally.messages > 0


@pytest.mark.parametrize(("caps", "seen"), [
    (CAPS, ["re:hello"]), (NO_HISTORY, ["re:hello", MARK + "re:hello"])],
    ids=["history", "no history"])
def test_a_line_that_nobody_confirmed_before_a_kill(tmp_path, caps, seen):
    """It is found where the server keeps what is said; elsewhere it goes
    out again, and says so."""
    stage = IrcStage(caps=caps)
    with Scene(tmp_path, stage) as scene:
        child = scene.start()
        child.wait_ready(60)
        assert wait(lambda: stage.platform.room("#proof"))
        real = stage.platform._keep

        def keep(client, target, text):
            stage.platform.silent = True
            real(client, target, text)

        stage.platform._keep = keep
        scene.post(1001, "hello")
        assert wait(lambda: stage.platform.sent)
        child.kill()
        stage.platform._keep, stage.platform.silent = real, False
        last = scene.start()
        assert wait(lambda: last.events("sent"))
        time.sleep(0.2)
        last.stop()
        found = [bool(event.get("found")) for event in last.events("sent")]

    assert [got.text for got in stage.got()] == seen
    assert found == [caps is CAPS]
