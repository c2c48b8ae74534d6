"""The tools that reach people and other agents keep the contract."""

from claw.core.value import replace
from claw.testing.contracts.tool import ToolContract
from claw.tools import REGISTRY
from claw.tools.settings import SwarmSettings


class Outbox:
    channels = ("chat",)

    async def send_text(self, source, target, text):
        return "Sent"


    async def send_poll(self, source, target, question, options):
        return "Sent"


class Signs:
    async def react(self, emoji, *, add):
        return None


class Person:
    async def ask_user(self, question, choices, timeout_s):
        return "yes"


class Helper:
    max_depth = 3

    async def run_turn(self, message, context):
        return "done"


class Itself:
    def list_models(self):
        return ["fast"]

    async def run_task(self, message, context, task):
        return '{"agent": "coder"}'


class OverPeople(ToolContract):
    settings = ()

    def make(self, deps):
        return REGISTRY.build(self.name, replace(
            deps, send=Outbox(), asks=Person(), agents={"coder": Helper()},
            tasks=Itself(), reacts=Signs()), *self.settings)


class TestMessage(OverPeople):
    name = "message"
    arguments = {"to": "chat:7", "text": "hello"}


class TestPoll(OverPeople):
    name = "poll"
    arguments = {"to": "chat:7", "question": "tea?", "options": ["a", "b"]}


class TestReaction(OverPeople):
    name = "reaction"
    arguments = {"emoji": "👍", "action": "remove"}


class TestAskUser(OverPeople):
    name = "ask_user"
    arguments = {"question": "how many?"}


class TestDelegate(OverPeople):
    name = "delegate"
    arguments = {"agent": "coder", "task": "a line"}


class TestSwarm(OverPeople):
    name = "swarm"
    arguments = {"swarm": "all", "prompt": "a line"}
    settings = ({"all": SwarmSettings(agents=("coder", "coder"))},)


class TestSwarmInParallel(TestSwarm):
    settings = ({"all": SwarmSettings(agents=("coder", "coder"),
                                      strategy="parallel")},)


class TestSwarmWithRouter(TestSwarm):
    settings = ({"all": SwarmSettings(agents=("coder", "other"),
                                      strategy="router")},)


class TestLlmTask(OverPeople):
    name = "llm_task"
    arguments = {"prompt": "a line", "schema": {"type": "object"},
                 "model": "fast", "temperature": 0.5}
