"""Contradictions that a model judges, among what recall finds near."""

from collections.abc import Iterator, Sequence

from claw.agent.memory.conflicts.pairs import Pair
from claw.agent.memory.conflicts.settled import Ids
from claw.agent.memory.recall import LIMIT, is_machine_text
from claw.cli.commands.memory.common import show_progress
from claw.cli.invocation import Invocation
from claw.core.memory import MIN_RELEVANCE, Memory, MemoryEntry
from claw.wiring.ask.batches import Asked, ask_in_batches

ROWS = 300    # memories that others are looked for to, the newest
_PAIRS = 200  # that are put to the model, the nearest
_QUERY_CHARS = 300
_TEXT_CHARS = 500
_INSTRUCTIONS = """\
Each text holds two memories of one person, A and B, with their days. Say \
for each whether both can't be true at the same time of the same thing: \
another value of something one has one of, or a yes beside a no. Different \
things, different people, plans, opinions on a day and what is only more \
exact are no contradiction. "why" is at most ten words on what they \
contradict each other in, in their language."""
_ANSWER = {"contradict": {"type": "boolean"}, "why": {"type": "string"}}


def judge(run: Invocation, memory: Memory, entries: Sequence[MemoryEntry],
          by_rule: Sequence[Pair], settled: Sequence[Ids],
          provider: str | None, model: str | None, max_cost: float | None
          ) -> list[Pair]:
    """The pairs that a model takes for contradictions: those by rule, and
    what recall finds near these memories (the newest, at most ROWS). What
    it says nothing of stays as the rule had it. Raises BudgetError,
    ConfigError and what the provider raises."""
    near = find_near(memory, show_progress(
        entries, "looking beside memories", total=len(entries)))
    pairs = {pair.ids: pair for pair in (*near, *by_rule)
             if pair.ids not in settled}
    put = [*(pair for pair in by_rule if pair.ids in pairs),
           *(pair for pair in pairs.values() if pair.why == "")][:_PAIRS]
    found = {pair.ids: pair for pair in put if pair.why}
    with run.out.waiting("the model judges"):
        for batch in ask_in_batches(
                run.settings, Asked(provider, model, max_cost),
                _INSTRUCTIONS, [*map(_describe, put)], _ANSWER,
                run.out.note):
            for said in batch:
                pair = put[said["n"]]
                if said["contradict"]:
                    why = " ".join(said["why"].split())[:100]
                    found[pair.ids] = pair._replace(why=why or "model")
                else:
                    found.pop(pair.ids, None)
    return list(found.values())


def find_near(memory: Memory, entries: Iterator[MemoryEntry]) -> list[Pair]:
    """Memories beside those that recall finds for their words, the nearest
    first; without a `why`."""
    found: dict[Ids, tuple[float, Pair]] = {}
    for entry in entries:
        if entry.sender == "assistant" or is_machine_text(entry.content):
            continue
        for other in memory.recall(entry.content[:_QUERY_CHARS], LIMIT + 1):
            score = other.score or 0.0
            if other.key == entry.key or other.content == entry.content \
                    or other.sender != entry.sender \
                    or score < MIN_RELEVANCE:
                continue
            newer, older = sorted((entry, other), reverse=True,
                                  key=lambda one: (one.updated_at, one.key))
            pair = Pair(newer, older, "", newer.content, older.content)
            found[pair.ids] = max(found.get(pair.ids, (score, pair)),
                                  (score, pair), key=lambda one: one[0])
    return [pair for _, pair in sorted(
        found.values(), reverse=True, key=lambda one: one[0])]


def _describe(pair: Pair) -> str:
    return "\n".join(
        f"{name} ({entry.updated_at[:10]}): {entry.content[:_TEXT_CHARS]}"
        for name, entry in (("A", pair.newer), ("B", pair.older)))
