"""`claw listen` with Mattermost, whole: a real process, a scripted model.
What is looked at is what people see."""

import re
from contextlib import contextmanager

from claw.testing.fake_mattermost import FakeMattermost
from claw.testing.fake_openai import FakeOpenAI, last_user_text, tool_call
from claw.testing.prove.child import Child, environment

CONFIG = """\
default_provider = "custom:{model}"
default_model = "fake-model"
[memory]
backend = "none"
[autonomy]
level = "supervised"
allowed_commands = ["touch"]
require_approval_for_medium_risk = true
[channels_config]
show_tool_calls = false
[channels_config.mattermost]
url = "{url}"
bot_token = "{token}"
allowed_users = ["{alice}"]
mention_only = true
"""


def answer(body):
    last = body["messages"][-1]
    if last["role"] == "tool":
        return f"done: {last['content'].strip()[:60]}"
    text = last_user_text(body)
    if "make" in text:
        return tool_call("shell", command="touch made.txt")
    return f"re:{text}"


@contextmanager
def served(folder):
    home = folder / "home"
    (home / "workspace").mkdir(parents=True)
    with FakeMattermost() as platform, FakeOpenAI([answer]) as model:
        config = home / "config.toml"
        config.touch(0o600)
        config.write_text(CONFIG.format(
            model=model.url, url=platform.url, token=platform.token,
            alice=platform.alice))
        child = Child(home, home / "log", environment(home))
        try:
            assert child.wait_ready(), child.last_words()
            platform.wait_until(lambda: platform.hub.caught_up, 20)
            yield platform, home
        finally:
            child.stop()
        assert platform.problems == []


def test_a_question_in_a_thread_is_approved_by_typed_words(tmp_path):
    with served(tmp_path) as (platform, home):
        root = platform.post("@claw make it", channel=platform.channel)
        (question,) = platform.wait_until(platform.messages, 20)
        assert question["root_id"] == root
        assert "Approve shell" in question["message"]
        named = re.search(r"yes (\S+) or", question["message"])[1]
        platform.post(f"@claw yes {named}",
                      channel=platform.channel, root_id=root)
        platform.wait_until(lambda: any(
            "done:" in text for text in platform.answers()), 20)
        assert (home / "workspace" / "made.txt").exists()
        assert {p["root_id"] for p in platform.messages()} == {root}
        platform.wait_until(lambda: platform.world.reactions.get(root)
                            == ["white_check_mark"], 10)


def test_a_direct_conversation_stays_in_its_channel(tmp_path):
    with served(tmp_path) as (platform, _):
        direct = platform.direct(platform.alice)
        for number in range(2):
            platform.post(f"hello {number}")
            platform.wait_until(
                lambda n=number: f"re:hello {n}" in platform.answers(direct),
                20)

        assert {p["root_id"] for p in platform.messages()} == {""}
