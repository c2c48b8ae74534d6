"""claw.ask: one question from a program."""

from collections.abc import Sequence
from typing import Any

from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import UsageError
from claw.core.provider import Passage
from claw.wiring.ask.answer import answer
from claw.wiring.ask.question import Question
from claw.wiring.trust import settle_trust


def ask(prompt: str, *, stdin: str | None = None,
        provider: str | None = None, model: str | None = None,
        system: str | None = None, temperature: float | None = None,
        tools: Sequence[str] = (), memory: bool = True,
        session: str | None = None, schema: dict[str, Any] | None = None,
        max_tokens: int | None = None, timeout_s: float | None = None,
        max_cost_usd: float | None = None, docs: str | None = None,
        workspace: str | None = None,
        config_dir: str | None = None) -> dict[str, Any]:
    """The answer to a prompt, as `claw ask --json` prints it.

    `stdin` is text to put under the prompt. Nothing is kept unless a
    `session` is named. The model may cost at most `max_cost_usd`. `docs`
    names documents to answer from. Raises the errors of claw.core.errors.
    """
    if not prompt.strip() and not (stdin or "").strip():
        raise UsageError("nothing was asked", hint="give a prompt")
    passages = [Passage("stdin", stdin)] if stdin else []
    question = Question(
        prompt, passages, provider=provider, model=model, system=system,
        temperature=temperature, tools=tools, use_memory=memory,
        session=session, keep=session is not None, schema=schema,
        max_tokens=max_tokens, timeout_s=timeout_s,
        max_cost_usd=max_cost_usd, docs=docs)
    places = settle_trust(locate(config_dir, workspace),
                          adopts=question.keep)
    return answer(load(places), question)
