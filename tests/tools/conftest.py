"""A workspace with a policy, and tools run in it."""

import asyncio
import os
from pathlib import Path

import pytest

from claw.core.tool import ToolDeps
from claw.core.turn import TurnContext, current_turn
from claw.security.policy import SecurityPolicy
from claw.security.sandbox.sandbox import Sandbox
from claw.security.settings import (
    AutonomySettings,
    ResourceSettings,
    SandboxSettings,
)


class Room:
    """The workspace of one test."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        workspace.mkdir()

    def deps(self, memory=None, sandbox=True, **settings) -> ToolDeps:
        settings.setdefault("max_actions_per_hour", 1000)
        box = Sandbox(
            self.workspace, SandboxSettings(), ResourceSettings(),
            {**os.environ, "FAKE_API_KEY": "S3CRET"},
            commands=("python3",)) if sandbox else None
        policy = SecurityPolicy(
            AutonomySettings(**settings), self.workspace,
            home=self.workspace.parent, sandbox=box)
        return ToolDeps(self.workspace, policy, memory=memory)

    def call(self, tool, turn: TurnContext | None = None, **args):
        """Execute once, in this turn or in none."""
        async def execute():
            current_turn.set(turn)
            return await tool.execute(args)
        return asyncio.run(execute())


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path / "ws")
