"""Small real parts that the tests of the agent share."""

import asyncio
from datetime import UTC, datetime

from claw.core.memory import Memory, MemoryEntry
from claw.core.tool import Tool, ToolResult, closed_object, string

NOW = datetime(2026, 3, 22, 15, 30, tzinfo=UTC)


class Echo(Tool):
    """Returns its text; fails and raises on request; counts its runs."""

    name = "echo"
    description = "Return the text."

    def __init__(self, name="echo", wait=None):
        self.name = name
        self.wait = wait
        self.runs = []
        self.started = asyncio.Event()

    def parameters_schema(self):
        return closed_object(text=string("what to return"))

    async def execute(self, args):
        self.runs.append(dict(args))
        self.started.set()
        if self.wait is not None:
            await self.wait(args)
        text = args.get("text", "")
        if text == "fail":
            return ToolResult.failure("no such text")
        if text == "half":
            return ToolResult.failure("exit code 1", "1 failed, 2 passed")
        if text == "raise":
            raise ValueError("bad text")
        return ToolResult(text)


class ListMemory(Memory):
    """Entries in a list; recall gives what it was told to give."""

    name = "list"

    def __init__(self, recalled=(), log=None):
        self.recalled = list(recalled)
        self.stored = []
        self.asked = []
        self.log = log if log is not None else []

    def store(self, key, content, category="core", session_id=None):
        self.log.append("store")
        self.stored.append((key, content, category, session_id))

    def recall(self, query, limit=5, session_id=None, since=None,
               until=None):
        self.log.append("recall")
        self.asked.append((query, limit, session_id))
        return self.recalled[:limit]

    def get(self, key):
        return None

    def list(self, category=None, session_id=None):
        return []

    def forget(self, key):
        return False

    def count(self):
        return len(self.stored)

    def health_check(self):
        return True


def entry(key, content, score=0.9):
    stamp = "2026-03-22T00:00:00Z"
    return MemoryEntry("id", key, content, "core", stamp, stamp, score=score)
