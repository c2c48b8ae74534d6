"""The tools that reach people and other agents keep the contract."""

from claw.core.value import replace
from claw.testing.contracts.tool import ToolContract
from claw.tools import REGISTRY


class Outbox:
    channels = ("chat",)

    async def send_text(self, source, target, text):
        return "Sent"


class Person:
    async def ask_user(self, question, choices, timeout_s):
        return "yes"


class Helper:
    max_depth = 3

    async def run_turn(self, message, context):
        return "done"


class OverPeople(ToolContract):
    def make(self, deps):
        return REGISTRY.build(self.name, replace(
            deps, send=Outbox(), asks=Person(), agents={"coder": Helper()}))


class TestMessage(OverPeople):
    name = "message"
    arguments = {"to": "chat:7", "text": "hello"}


class TestAskUser(OverPeople):
    name = "ask_user"
    arguments = {"question": "how many?"}


class TestDelegate(OverPeople):
    name = "delegate"
    arguments = {"agent": "coder", "task": "a line"}
