"""What the tables of the gateway are built from."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeAlias

from claw.config.places import Places
from claw.config.tree import Tree
from claw.core.log import Log
from claw.core.value import Value
from claw.gateway.app import App
from claw.gateway.endpoint import Endpoint
from claw.gateway.keys import KeyStore
from claw.gateway.settings import GatewaySettings

if TYPE_CHECKING:
    from claw.wiring.listen.service import Runtime


class GatewayParts(Value):
    """What is there when the gateway opens; it opens anew when its settings
    change. `tree` gives the settings in force, `snapshot` how the parts of
    claw listen are (Health.snapshot), `runtime` is that of claw listen
    (None: claw gateway alone, without channels and queue), `note_turn` is
    told of each turn that was answered. A table may add a way to show a key
    to `app.identify`."""

    places: Places
    tree: Callable[[], Tree]
    settings: GatewaySettings
    keys: KeyStore
    snapshot: Callable[[], dict[str, Any]]
    connections: Callable[[], int]
    app: App
    log: Log
    runtime: "Runtime | None" = None
    note_turn: Callable[[], None] = lambda: None


# Builds some rows; what they hold open is closed with the stack.
Table: TypeAlias = Callable[[GatewayParts, AsyncExitStack],
                            Awaitable[Sequence[Endpoint]]]
