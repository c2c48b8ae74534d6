"""OpenAI's API: settings in force -> who answers its calls.

`claw` is the agent, everything else a model of a provider that the owner
has set up: a client names no address of its own.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from claw.gateway.endpoint import Endpoint
from claw.gateway.openai.endpoints import OpenAIApi
from claw.wiring.gateway.answers import ClawAnswers
from claw.wiring.gateway.parts import GatewayParts


async def build_openai(parts: GatewayParts, stack: AsyncExitStack
                       ) -> Sequence[Endpoint]:
    """The rows of /v1. Nothing is opened before the first call."""
    answers = ClawAnswers(parts.tree, parts.log, parts.note_turn)
    stack.push_async_callback(answers.aclose)
    return OpenAIApi(answers, parts.log).endpoints
