"""Proofs are chosen, shown and kept; a short one holds."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from claw.cli.commands.prove import table
from claw.testing.fake_openai import Reply
from claw.testing.prove import (
    PROMISES,
    PROOFS,
    Bench,
    Proof,
    names,
    prove,
)
from claw.testing.prove.effects import Effects
from claw.testing.prove.points import choose_points
from claw.testing.prove.scene import Scene, echo
from claw.testing.prove.stages import STAGES
from claw.testing.prove.stages.webhook import WebhookStage
from claw.testing.prove.table import Row
from claw.testing.prove.verdict import Said, Tally

# -- what a proof sees

@pytest.mark.parametrize(("text", "unknown", "words"), [
    ("a7\nEND", (), None),
    ("a7\na7\nEND", (), "made 2 times"),
    ("END", (), "missing"),
    ("END", ("a7",), None),
])
def test_a_tools_change_is_counted(tmp_path, text, unknown, words):
    (tmp_path / "7.txt").write_text(text)
    effects = Effects()
    effects.unknown.update(unknown)

    found = effects.wrong(tmp_path, [Said("7", "a7")])

    assert len(found) == (words is not None)
    assert words is None or words in found[0]


def test_a_line_that_a_kill_cut_off_says_nothing(tmp_path):
    with Scene(tmp_path, WebhookStage()) as scene:
        folder = scene.workspace / "sessions"
        folder.mkdir()
        (folder / "a.jsonl").write_text(
            '{"session": "a"}\n{"data": {"content": "hal\n'
            '{"data": {"content": "half"}}\n')

        assert scene.sessions() == [["half"]]


# -- choosing, and the table

@pytest.mark.parametrize(("only", "channel", "found"), [
    ((), None, list(PROOFS)),
    (["kills"], None, [f"kills-{name}" for name in STAGES.names()]),
    (["kills", "wedge"], "telegram", ["kills-telegram", "wedge"]),
    (["points-webhook"], None, ["points-webhook"]),
    (["nothing"], None, []),
])
def test_proofs_are_chosen(only, channel, found):
    assert names(only, channel) == found


def test_each_line_of_the_readme_has_its_proof_and_each_proof_its_line():
    text = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    block = text.partition("<!-- promises -->\n")[2].partition("\n\n")[0]
    lines = [" ".join(line.split()) for line in
             block.removeprefix("- ").split("\n- ")]

    assert lines == list(PROMISES.values())
    assert {row.promise for row in PROOFS.values()} == PROMISES.keys()
    assert {PROOFS[name].promise for name in names(short=True)} \
        == PROMISES.keys()


def test_the_short_set_runs_on_a_channel_that_asks_and_one_that_is_asked():
    for channel in ("telegram", "webhook"):
        assert names(channel=channel, short=True)


def test_some_crash_points_are_spread_evenly():
    assert choose_points(9, None) == list(range(1, 10))
    assert choose_points(9, 20) == list(range(1, 10))
    assert choose_points(100, 2) == [26, 76]
    assert choose_points(9, 3) == [2, 5, 8]


def test_the_table_names_what_broke():
    good = Proof("kills-telegram", "telegram", Tally(messages=12), kills=5,
                 recovery_ms=[300.0, 310.0])
    bad = Proof("wedge", "telegram", Tally(messages=3, lost=1), kills=1,
                more={"polls": 3}, promise="Nothing is lost.").judge()
    left_out = Proof("power", "telegram", skipped="no such kernel")

    lines = table([good, bad, left_out]).splitlines()

    assert lines[1].split() == ["random", "SIGKILLs", "telegram", "12", "5",
                                "0", "0/0/0", "0", "0", "0", "0",
                                "305/310"]
    assert lines[2].startswith("wedged poll (BROKEN)")
    assert lines[3].startswith("power cuts (skipped)")
    assert lines[-4:] == ["wedge: polls 3", "power: skipped: no such kernel",
                          "broken: Nothing is lost.",
                          "1 of 3 proofs broke a promise"]
    assert table([good, left_out]).endswith("every promise was kept")


def test_a_service_that_does_not_start_is_a_broken_promise(
        tmp_path, monkeypatch):
    def late(bench, channel):
        raise TimeoutError("claw listen did not say 'started'")

    monkeypatch.setitem(PROOFS, "wedge", Row("wedged poll", "telegram", late,
                                             "platform"))
    proof = prove("wedge", Bench(tmp_path))

    assert not proof.ok
    assert proof.broken == ["claw listen did not say 'started'"]


# -- the platform of the webhook

def test_the_webhooks_sender_posts_until_it_is_heard(tmp_path):
    stage = WebhookStage()
    stage.open()
    try:
        # nobody listens: it tries again and again, and can be stopped
        stage.post(7, "hello")
    finally:
        stage.close()

    assert stage.got() == []


# -- real processes

@pytest.mark.parametrize(("name", "points"), [
    ("points-telegram", 3), ("points-webhook", 2), ("tools-telegram", 2)])
def test_some_crash_points_lose_nothing(tmp_path, name, points):
    proof = prove(name, Bench(tmp_path, points=points))

    assert proof.broken == []
    assert proof.kills >= points - 1
    assert proof.tally.messages == 6 * (1 + points)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["kills-telegram", "kills-webhook"])
def test_a_few_kills_lose_nothing(tmp_path, name):
    proof = prove(name, Bench(tmp_path, kills=3, seed=5))

    assert proof.broken == []
    assert proof.kills == 3
    assert proof.tally.messages > 3


def test_a_service_that_forgets_is_found_out(tmp_path, monkeypatch):
    """The proof itself: with the queue's file gone after each kill,
    messages are lost or answered twice, and it says so."""
    monkeypatch.setattr("claw.testing.prove.kills.EARLY", 0.0)
    # An answer takes longer than a life: each kill finds some unanswered.
    monkeypatch.setattr("claw.testing.prove.kills.Scene",
                        partial(Scene, model=answer_late))
    original = "claw.testing.prove.scene.Scene.start"
    start = _dotted(original)

    def forgetful(scene, *args, **named):
        for path in scene.queue_file.parent.glob("queue.db*"):
            path.unlink()
        return start(scene, *args, **named)

    monkeypatch.setattr(original, forgetful)
    monkeypatch.setattr("claw.testing.prove.kills.PATIENCE_S", 2)
    proof = prove("kills-telegram", Bench(tmp_path, kills=4, seed=2))

    assert proof.tally.lost + proof.tally.duplicated > 0
    assert any("lost" in what or "twice" in what for what in proof.broken)
    assert os.path.isdir(proof.kept[0])


def answer_late(body):
    return Reply(echo(body), delay_s=1.0)


def _dotted(path):
    module, name, attribute = path.rsplit(".", 2)
    return getattr(getattr(sys.modules[module], name), attribute)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("CLAW_PROVE"),
                    reason="minutes; CLAW_PROVE=1 runs it")
@pytest.mark.parametrize("name", PROOFS)
def test_every_promise_holds(tmp_path, name):
    assert prove(name, Bench(tmp_path)).broken == []


# -- the command

def claw(tmp_path, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "claw", "prove", *arguments],
        capture_output=True, text=True, check=False, timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path),
             "TMPDIR": str(tmp_path)})


@pytest.mark.parametrize(("arguments", "words"), [
    (["--only", "kils"], "did you mean"),
    (["--only", "wedge", "--channel", "webhook"], "none of these"),
    (["--channel", "fax"], "telegram, webhook"),
    (["--kills", "0"], "--kills"),
])
def test_a_proof_that_is_none_is_a_usage_error(tmp_path, arguments, words):
    ended = claw(tmp_path, *arguments)

    assert ended.returncode == 2
    assert words in ended.stderr
    assert ended.stdout == ""


def test_the_command_prints_one_document(tmp_path):
    ended = claw(tmp_path, "--only", "model-down", "--json", "-q")

    document = json.loads(ended.stdout)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert document["ok"] is True
    proof = document["proofs"][0]
    assert proof["id"] == "model-down"
    assert proof["lost"] == proof["duplicates"] == 0
    assert proof["messages"] == 8
    assert proof["promise"] == PROMISES["model"]
    assert proof["doubled_files"] == proof["doubled_parts"] == 0
    assert proof["skipped"] is None
    assert list(tmp_path.glob("claw-prove-*")) == []
