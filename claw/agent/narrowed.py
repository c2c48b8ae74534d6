"""The agent as the turns of a channel or a job have it."""

from msgspec import structs

from claw.agent.turn import Agent
from claw.core.value import replace
from claw.security.policy import SecurityPolicy
from claw.security.settings import NarrowerSettings


def narrow_agent(agent: Agent, policy: SecurityPolicy, channel: str,
                 more: NarrowerSettings | None = None) -> Agent:
    """With the tools that are offered there, and a prompt that says what
    holds; `more` is what the turn's own policy takes away. The gate looks at
    each call all the same."""
    if channel.partition(":")[0] not in policy.base.channels and more is None:
        return agent
    own = policy.find_settings(channel, more)
    tools = [tool for tool in agent.tools if own.offers(tool.name)]
    prompt = agent.prompt and structs.replace(
        agent.prompt, autonomy=own.level, policy=policy.prompt_summary(own))
    return replace(agent, tools=tools, prompt=prompt)


def find_limit_usd(policy: SecurityPolicy | None, channel: str,
                   more: NarrowerSettings | None = None) -> float | None:
    """The most that a turn there may cost."""
    if policy is None:
        return None
    cents = policy.find_settings(channel, more).max_cost_per_turn_cents
    return None if cents is None else cents / 100
