"""Settings -> hooks."""

from collections.abc import Mapping
from typing import Any

from claw.agent.builtin_hooks import hooks_of as built
from claw.agent.hook_settings import HooksSettings
from claw.agent.hooks import HookRunner
from claw.config.tree import Tree
from claw.core.log import Log
from claw.net.errors import Peer
from claw.net.http import HttpClient

POST_S = 5.0


def hooks_of(tree: Tree, log: Log) -> HookRunner:
    """The hooks of these settings. Raises ConfigError."""
    return built(tree.decode("hooks", HooksSettings), log, _post)


async def _post(url: str, body: Mapping[str, Any]) -> None:
    client = HttpClient(Peer("the audit webhook"), timeout_s=POST_S)
    try:
        await client.request("POST", url, json=body)
    finally:
        await client.aclose()
