"""claw map --dry-run: the first request, how many, and what they may cost."""

from collections.abc import AsyncIterator, Callable
from typing import Any

from claw.config.tree import Tree
from claw.core.provider import ChatMessage, ChatRequest
from claw.core.value import replace
from claw.net.addresses import is_loopback
from claw.providers.cost.call import ANSWER_TOKENS, count_most_tokens
from claw.wiring.ask.answer import build_options, run_turn
from claw.wiring.ask.dry_run import CallStopped, request_as_json
from claw.wiring.ask.question import Watch
from claw.wiring.compose import open_parts
from claw.wiring.map.run import refuse_offline
from claw.wiring.map.task import Input, Material, Task


async def describe_map(tree: Tree, task: Task, inputs: AsyncIterator[Input],
                       load: Callable[[Input], Material]) -> dict[str, Any]:
    """Nothing is sent, and what is kept already is not looked at.
    `at_most_usd` is None where no whole price is known."""
    question = replace(task.question, use_memory=False, keep=False)
    options = build_options(question, Watch(on_choice=refuse_offline),
                            dry_run=True)
    first: dict[str, Any] | None = None
    count, total = 0, 0.0
    async with open_parts(tree, options) as parts:
        choice = parts.choice
        vendor = parts.providers.vendor(choice.provider_name)
        price = parts.ledger.build_terms(
            choice.shown, vendor.local or is_loopback(vendor.url)).price(
            choice.model or "")
        async for one in inputs:
            if one.is_blank:
                continue
            material = Material(one.text) if one.file is None else load(one)
            asked = task.build_question(material)
            if first is None:
                try:
                    await run_turn(tree, parts, replace(
                        asked, use_memory=False, keep=False), Watch(), 0.0)
                except CallStopped as stopped:
                    first = request_as_json(stopped)
            count += 1
            if price is not None:
                total += price.most(count_most_tokens(ChatRequest(
                    [ChatMessage.system(question.system or ""),
                     ChatMessage.user(task.fill(material.text))],
                    response_schema=question.schema), price),
                    question.max_tokens or ANSWER_TOKENS)
    return {"request": first, "inputs": count,
            "at_most_usd": None if price is None else total}
