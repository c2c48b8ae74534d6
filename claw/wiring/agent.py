"""Settings and parts -> the agent."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from claw.agent.settings import (
    AgentSettings,
    PacingSettings,
    QueryClassificationSettings,
)
from claw.agent.turn import Agent
from claw.config.tree import Tree
from claw.core.memory import Memory
from claw.core.provider import Provider
from claw.core.registry import load_dotted
from claw.core.turn import Approves, Origin, TurnContext
from claw.core.value import Value
from claw.memory.settings import MemorySettings
from claw.providers.factory import Providers
from claw.providers.settings import ProviderSettings
from claw.wiring.providers import routes_of

if TYPE_CHECKING:
    from claw.agent.multimodal import Images
    from claw.security.policy import SecurityPolicy

# What loads late: a turn without tools needs no policy and no sandbox, one
# without images nothing that reads them.
_LATE = {"arm": "claw.wiring.armed:arm",
         "images": "claw.wiring.images:images_of"}


class AgentParts(Value):
    """What is open already. `tools` are names, None all that there are;
    `approver` None: nobody can be asked. `providers` opens another one
    where the turn needs it; None: as the settings say."""

    provider: Provider
    model: str
    tools: Sequence[str] | None = ()
    memory: Memory | None = None
    approver: Approves | None = None
    approve_all: bool = False
    providers: Providers | None = None


def build_agent(tree: Tree, parts: AgentParts,
                policy: "SecurityPolicy | None" = None) -> Agent:
    """The agent of these settings; `policy` None: theirs.

    Raises ConfigError for an unknown tool or a wrong setting.
    """
    memory = tree.decode("memory", MemorySettings)
    return Agent(
        provider=parts.provider, memory=parts.memory,
        settings=_settings(tree, parts),
        pacing=tree.decode("pacing", PacingSettings),
        classification=tree.decode("query_classification",
                                   QueryClassificationSettings),
        model=parts.model,
        hints=[row.hint for row in routes_of(tree)],
        temperature=tree.decode("", ProviderSettings).default_temperature,
        auto_save=memory.auto_save, images=_images(tree, parts.providers),
        min_relevance=memory.min_relevance_score,
        **_armed(tree, parts, policy))


def _settings(tree: Tree, parts: AgentParts) -> AgentSettings:
    """[agent]; a model that `provider test` saw calling tools gets them in
    the API's own format."""
    settings = tree.decode("agent", AgentSettings)
    if parts.providers is None or parts.tools == () \
            or settings.tool_dispatcher != "auto" \
            or not parts.providers.calls_tools(parts.provider.name,
                                               parts.model):
        return settings
    return msgspec.structs.replace(settings, tool_dispatcher="native")


def owners_turn(origin: Origin, session: str,
                cancel: asyncio.Event | None = None) -> TurnContext:
    """A turn of the owner's own. What is remembered of it names the kept
    conversation and the turn."""
    context = TurnContext(origin, cancel=cancel)
    context.message = f"{origin}:{session}:{context.turn_id}"
    return context


def _images(tree: Tree, providers: Providers | None
            ) -> "Callable[[], Images]":
    """Gives the same Images each time, built when first asked for."""
    made: list[Images] = []

    def images() -> "Images":
        if not made:
            made.append(load_dotted(_LATE["images"])(
                tree, providers=providers))
        return made[0]
    return images


def _armed(tree: Tree, parts: AgentParts,
           policy: "SecurityPolicy | None") -> dict[str, Any]:
    """Tools and what stands around them; nothing for a turn without."""
    if parts.tools is not None and not parts.tools:
        return {}
    tools, gate, scrub = load_dotted(_LATE["arm"])(
        tree, parts.tools, parts.memory, parts.approver,
        approve_all=parts.approve_all, policy=policy)
    return {"tools": tools, "gate": gate, "scrub": scrub}
