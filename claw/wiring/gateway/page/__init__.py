"""The page of the gateway: what it reads and what it changes."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from starlette.requests import Request

from claw.config.tree import Tree
from claw.gateway.endpoint import Endpoint, Schema, objects_with, parameter
from claw.gateway.page.chat import ChatRows
from claw.gateway.page.files import list_files
from claw.gateway.page.rows import ANY_OBJECT, build_action, build_question
from claw.gateway.page.session import Sessions
from claw.wiring.gateway.page.chat import PageTalk
from claw.wiring.gateway.page.health import (
    ask_doctor,
    find_status,
    find_waiting,
)
from claw.wiring.gateway.page.memory import (
    KEY,
    PAIR,
    find_conflicts,
    find_history,
    find_memories,
    forget,
    settle,
    undo,
)
from claw.wiring.gateway.page.spending import DAYS, find_spending
from claw.wiring.gateway.page.turns import OFFSET, TURN, find_turn, find_turns
from claw.wiring.gateway.parts import GatewayParts
from claw.wiring.workspace.secrets import build_redactor


async def build_page(parts: GatewayParts, stack: AsyncExitStack
                     ) -> Sequence[Endpoint]:
    """The files, signing in, and what the page asks."""
    sessions = Sessions(parts.keys, parts.settings)
    parts.app.identify.append(sessions.identify)

    def clean(value: Any) -> Any:
        return build_redactor(parts.tree(), quick=True).record(value)

    def ask(name: str, read: Callable[[Tree, Mapping[str, str]], Any],
            *query: Schema) -> Endpoint:
        return build_question(
            name, lambda asked: read(parts.tree(), asked), clean, query)

    def act(name: str, change: Callable[[Tree, Mapping[str, Any]], Any],
            body: Schema = ANY_OBJECT) -> Endpoint:
        return build_action(
            name, lambda asked: change(parts.tree(), asked), clean, body)

    def knows(request: Request) -> bool:
        return any(find(request) for find in parts.app.identify)

    talk = PageTalk(parts.tree, parts.log, parts.note_turn)
    stack.push_async_callback(talk.close)
    return (
        *list_files(), *sessions.endpoints,
        ask("status", find_status), ask("queue", find_waiting),
        act("doctor", ask_doctor), ask("spending", find_spending, DAYS),
        ask("memory", find_memories, parameter("q", {"type": "string"})),
        ask("memory/history", find_history,
            parameter("key", KEY, required=True)),
        act("memory/forget", forget, objects_with({"key": KEY})),
        act("memory/undo", undo, objects_with({"key": KEY})),
        ask("conflicts", find_conflicts),
        act("conflicts/settle", settle, PAIR),
        *ChatRows(talk, knows).endpoints,
        ask("turns", find_turns, OFFSET), ask("turn", find_turn, TURN))
