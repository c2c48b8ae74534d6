"""The agent as a channel's turns have it: [autonomy.channels.NAME]."""

from msgspec import structs

from claw.agent.turn import Agent
from claw.core.value import replace
from claw.security.policy import SecurityPolicy


def narrow_agent(agent: Agent, policy: SecurityPolicy, channel: str) -> Agent:
    """With the tools that are offered there, and a prompt that says what
    holds. The gate looks at each call all the same."""
    if channel.partition(":")[0] not in policy.base.channels:
        return agent
    own = policy.find_settings(channel)
    tools = [tool for tool in agent.tools if own.offers(tool.name)]
    prompt = agent.prompt and structs.replace(
        agent.prompt, autonomy=own.level, policy=policy.prompt_summary(own))
    return replace(agent, tools=tools, prompt=prompt)


def find_limit_usd(policy: SecurityPolicy | None, channel: str
                   ) -> float | None:
    """The most that a turn there may cost."""
    if policy is None:
        return None
    cents = policy.find_settings(channel).max_cost_per_turn_cents
    return None if cents is None else cents / 100
