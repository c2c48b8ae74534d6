"""An editor: the package agent-client-protocol, at the other side of a real
`claw acp`."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import acp
import pytest
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    RequestPermissionResponse,
)

CONFIG = """default_provider = "custom:{url}"
default_model = "m"
"""


class Editor(acp.Client):
    """What an editor does; it keeps what it is told. `choose` names the
    option of a permission, None cancels."""

    def __init__(self, choose=lambda options: "no"):
        self.choose = choose
        self.updates = []
        self.asked = []

    async def session_update(self, session_id, update, **rest):
        self.updates.append(update)

    async def request_permission(self, session_id, tool_call, options,
                                 **rest):
        self.asked.append((tool_call, options))
        chosen = self.choose([one.option_id for one in options])
        if asyncio.iscoroutine(chosen):
            chosen = await chosen
        return RequestPermissionResponse(
            outcome=DeniedOutcome(outcome="cancelled") if chosen is None
            else AllowedOutcome(outcome="selected", option_id=chosen))

    def of(self, kind):
        return [one for one in self.updates if one.session_update == kind]

    @property
    def text(self):
        """All that the agent said."""
        return "".join(one.content.text for one
                       in self.of("agent_message_chunk"))

    @property
    def answer(self):
        """The last message."""
        chunks = self.of("agent_message_chunk")
        return "".join(one.content.text for one in chunks
                       if one.message_id == chunks[-1].message_id)


class Editing:
    """An editor beside the agent's process; `cwd` is open in it."""

    def __init__(self, editor, agent, process, cwd):
        self.editor = editor
        self.agent = agent
        self.process = process
        self.cwd = str(cwd)

    async def new(self):
        return (await self.agent.new_session(
            cwd=self.cwd, mcp_servers=[])).session_id

    async def say(self, session, *blocks):
        """Prompt, and why the turn ended."""
        answer = await self.agent.prompt(session_id=session, prompt=[
            acp.text_block(one) if isinstance(one, str) else one
            for one in blocks])
        return answer.stop_reason


@pytest.fixture
def write_config(home):
    def write(text):
        home.mkdir(parents=True, exist_ok=True)
        (home / "config.toml").write_text(text)
    return write


@pytest.fixture
def edit(environment, home, write_config):
    """async with edit(server, editor): ..."""

    @asynccontextmanager
    async def start(server=None, editor=None, *, config="", cwd=None
                    ) -> AsyncIterator[Editing]:
        if server is not None:
            write_config(CONFIG.format(url=server.url) + config)
        editor = editor or Editor()
        async with acp.spawn_agent_process(
                editor, sys.executable, "-m", "claw", "acp",
                env=environment, cwd=Path.cwd(),
                transport_kwargs={"limit": 1 << 26}) as (agent, process):
            await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
            yield Editing(editor, agent, process,
                          cwd or home / "workspace")
    return start
