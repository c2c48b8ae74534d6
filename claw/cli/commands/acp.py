"""claw acp: the agent in an editor."""

import asyncio
import sys

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.options import ModelOption, ProviderOption
from claw.core.errors import UsageError
from claw.gateway.acp.server import serve
from claw.wiring.gateway.acp import build_chats
from claw.wiring.workspace.trust import require_trust


@examples("claw acp", "claw acp -p ollama -m qwen3")
def acp(context: typer.Context, provider: ProviderOption = None,
        model: ModelOption = None) -> None:
    """Serve the agent to an editor over ACP, on stdio.

    Approvals are asked in the editor. Files outside the workspace are read
    where autonomy.allowed_roots has them. Ends with standard input.

    Zed's settings.json names it so:

    "agent_servers": {"claw": {"type": "custom", "command": "claw",
    "args": ["acp"]}}

    JetBrains IDEs have the same in ~/.jetbrains/acp.json.
    """
    run = Invocation.of(context)
    places = run.use_workspace()
    require_trust(places)
    if sys.stdin is None:  # closed
        raise UsageError("there is no standard input",
                         hint="an editor starts claw acp and writes to it")
    if sys.stdin.isatty():
        run.out.note("an editor starts this command and speaks JSON to it; "
                     "to talk here: claw agent")
    chats = build_chats(places, provider=provider, model=model,
                        notify=run.out.note)
    asyncio.run(serve(chats, run.out.note))
