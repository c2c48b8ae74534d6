"""Settings and workspace files -> what the system prompt is made of."""

import platform

from claw.agent.identity import read_identity
from claw.agent.prompt import COMPACT_FILE_CHARS, FILE_CHARS, PromptContext
from claw.agent.turn import Agent
from claw.config.tree import Tree
from claw.security.policy import SecurityPolicy


def prompt_of(tree: Tree, policy: SecurityPolicy, agent: Agent,
              custom: str = "") -> PromptContext:
    """Identity files, policy and machine; `custom` stands first."""
    workspace = tree.places.workspace
    return PromptContext(
        custom=custom, identity=read_identity(workspace),
        autonomy=policy.level, policy=policy.prompt_summary(),
        workspace=str(workspace), model=agent.model,
        host=platform.node(), system=platform.system(),
        file_chars=(COMPACT_FILE_CHARS if agent.settings.compact_context
                    else FILE_CHARS))
