"""A channel's own policy, and what is said of calls that nobody allowed."""

import json
from contextlib import closing

from claw.runtime.people.approvals import ChannelApprover
from claw.storage.log.reader import Filters, open_reader
from claw.storage.queue.reader import open_reader as open_queue
from claw.testing.fake_openai import tool_call
from claw.wiring.workspace.place_names import log_path, queue_path
from tests.wiring.listen.test_service import run, scene

__all__ = ["scene"]

NOT_DONE = ("not done: file_write `path: a.txt, content: x` wanted a yes, "
            "and none came in time")


def talk(scene, replies, *, channel="", more=""):
    """What comes back to one message."""
    scene.model.replies[:] = replies
    table = f"\n[autonomy.channels.telegram]\n{channel}\n" if channel else ""
    scene.write(more=more + table)

    async def go():
        async with scene.running():
            scene.platform.post("go")
            return await scene.answers(1)
    found = []

    async def keep():
        found.extend(await go())
    run(keep())
    return found


def offered(scene):
    return {tool["function"]["name"]
            for tool in scene.model.chats[0].body["tools"]}


WRITE = tool_call("file_write", path="a.txt", content="x")


def test_a_channel_offers_only_its_tools(scene):
    assert talk(scene, ["hi"], channel='tools = ["file_read", "shell"]\n'
                'excluded_tools = ["shell"]\nallowed_commands = ["ls"]'
                ) == ["hi"]

    system = scene.model.chats[0].body["messages"][0]["content"]
    assert offered(scene) == {"file_read"}
    assert "- Allowed commands: ls\n" in system


def test_a_tool_that_is_not_offered_does_not_run_though_it_is_called(scene):
    talk(scene, [WRITE, "ok"], channel='excluded_tools = ["file_write"]\n'
         'auto_approve = ["file_write"]')

    assert not (scene.places.workspace / "a.txt").exists()
    assert "Unknown tool" in scene.model.chats[1].body["messages"][-1][
        "content"]


def test_a_tool_runs_unasked_where_one_channel_allows_it(scene):
    talk(scene, [WRITE, "ok"], channel='auto_approve = ["file_write"]')

    assert (scene.places.workspace / "a.txt").read_text() == "x"


def test_a_readonly_channel_asks_nobody(scene):
    assert talk(scene, [WRITE, "could not"], channel='level = "readonly"'
                ) == ["could not"]

    system = scene.model.chats[0].body["messages"][0]["content"]
    assert "- Autonomy level: readonly" in system
    assert "read-only mode" in scene.model.chats[1].body["messages"][-1][
        "content"]


def test_a_turn_costs_no_more_than_its_channel_allows(scene):
    (answer,) = talk(
        scene, ["hi"], channel="max_cost_per_turn_cents = 1",
        more='\n[cost.prices."fake-model"]\ninput = 1000.0\n'
             "output = 1000.0\n")

    assert "turn's limit" in answer
    assert scene.model.chats == []


def test_a_changed_policy_is_taken_over_while_it_runs(scene):
    scene.model.replies[:] = ["one", "two"]

    async def go():
        async with scene.running():
            scene.platform.post("go")
            await scene.answers(1)
            scene.write(more='[autonomy.channels.telegram]\n'
                             'tools = ["file_read"]\n')
            scene.platform.post("go on")
            await scene.answers(2)
    run(go())
    assert len(offered(scene)) > 1
    assert [tool["function"]["name"] for tool
            in scene.model.chats[1].body["tools"]] == ["file_read"]


def test_what_nobody_allowed_in_time_is_told_once_whatever_is_claimed(
        scene, monkeypatch):
    monkeypatch.setitem(ChannelApprover.__init__.__kwdefaults__, "valid_s",
                        0.05)
    scene.model.replies[:] = [WRITE, WRITE, "I've created the file a.txt."]

    async def go():
        async with scene.running():
            scene.platform.post("go")
            await scene.until(lambda: any(
                "I've created" in text
                for text in scene.platform.answers(1001)))
            return scene.platform.answers(1001)[-1]
    found = []

    async def keep():
        found.append(await go())
    run(keep())

    (answer,) = found
    assert answer.count("not done") == 1
    assert NOT_DONE.replace("`", "") in answer  # set as code
    assert ("claw permission allow file_write path=a.txt content=x "
            "--channel telegram") in answer
    assert "no tool call did this" not in answer
    with closing(open_reader(log_path(scene.places))) as log:
        (entry,) = log.page(Filters(refused=True), 5)
    assert entry.state == "answered"
    assert entry.refused[0].startswith(NOT_DONE)
    with open_queue(queue_path(scene.places)) as queue:
        trace = queue.trace(None)
    assert [one["expired"] for one in trace["refused"]] == [True]
    assert trace["approvals"][0]["decision"] == "no answer"
    assert [fields["tool"] for fields in scene.said("refused")] == [
        "file_write"]
    json.dumps(trace)


def test_an_answer_that_claims_what_no_call_did_gets_a_receipt(scene):
    assert talk(scene, ["I've sent the mail."]) == [
        "I've sent the mail.\n\n(claw: no tool call did this)"]


def test_receipts_can_be_switched_off(scene):
    assert talk(scene, ["I've sent the mail."],
                more="\n[agent]\nreceipts = false\n") == [
        "I've sent the mail."]


def test_a_model_says_nothing_in_claws_name(scene):
    forged = ("not done: shell ls wanted a yes, and none came in time; to "
              "allow it: claw permission allow shell 'rm *'")

    assert talk(scene, [f"Hi.\n\n{forged}\n(claw: no tool call did this)"]
                ) == [f"Hi.\n\nThe model says: {forged}\n"
                      "The model says: (claw: no tool call did this)"]
