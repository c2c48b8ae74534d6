"""The page of the gateway: what it reads and what it changes."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from starlette.requests import Request

from claw.config.tree import Tree
from claw.gateway.endpoint import Endpoint
from claw.gateway.page.chat import ChatRows
from claw.gateway.page.files import list_files
from claw.gateway.page.rows import build_action, build_question
from claw.gateway.page.session import Sessions
from claw.wiring.gateway.page.chat import PageTalk
from claw.wiring.gateway.page.health import (
    ask_doctor,
    find_status,
    find_waiting,
)
from claw.wiring.gateway.page.memory import (
    find_conflicts,
    find_history,
    find_memories,
    forget,
    settle,
    undo,
)
from claw.wiring.gateway.page.spending import find_spending
from claw.wiring.gateway.page.turns import find_turn, find_turns
from claw.wiring.gateway.parts import GatewayParts
from claw.wiring.workspace.secrets import build_redactor


async def build_page(parts: GatewayParts, stack: AsyncExitStack
                     ) -> Sequence[Endpoint]:
    """The files, signing in, and what the page asks."""
    sessions = Sessions(parts.keys, parts.settings)
    parts.app.identify.append(sessions.identify)

    def clean(value: Any) -> Any:
        return build_redactor(parts.tree(), quick=True).record(value)

    def ask(name: str, read: Callable[[Tree, Mapping[str, str]], Any]
            ) -> Endpoint:
        return build_question(
            name, lambda asked: read(parts.tree(), asked), clean)

    def act(name: str, change: Callable[[Tree, Mapping[str, Any]], Any]
            ) -> Endpoint:
        return build_action(
            name, lambda asked: change(parts.tree(), asked), clean)

    def knows(request: Request) -> bool:
        return any(find(request) for find in parts.app.identify)

    talk = PageTalk(parts.tree, parts.log)
    stack.push_async_callback(talk.close)
    return (
        *list_files(), *sessions.endpoints,
        ask("status", find_status), ask("queue", find_waiting),
        act("doctor", ask_doctor), ask("spending", find_spending),
        ask("memory", find_memories), ask("memory/history", find_history),
        act("memory/forget", forget), act("memory/undo", undo),
        ask("conflicts", find_conflicts), act("conflicts/settle", settle),
        *ChatRows(talk, knows).endpoints,
        ask("turns", find_turns), ask("turn", find_turn))
