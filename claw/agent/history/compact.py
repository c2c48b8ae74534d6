"""A conversation made shorter after a model found it too long.

Rounds go whole or stay whole, so that no call is parted from its result.
What the person wrote last is never touched, and no round of the running
turn is dropped: a model that forgot what it has done would do it again.
"""

from collections.abc import Sequence

from claw.agent.history import (
    Messages,
    is_results,
    is_system,
    repair,
    split_turns,
    starts_turn,
)
from claw.agent.history.channel import COMPACT_CHARS
from claw.agent.memory.recall import drop_block
from claw.agent.rendering.cut import shorten
from claw.core.provider import (
    Chat,
    ConversationMessage,
    ToolResultMessage,
    ToolResults,
)
from claw.core.value import replace

KEEP_TURNS = 6
LAST_RESULT_CHARS = 8_000

_CLOSE = "</tool_result>"


def shrink(messages: Sequence[ConversationMessage],
           keep_turns: int = KEEP_TURNS) -> Messages:
    """System messages and the newest turns, shorten.

    Of earlier turns question and answer stay, 600 characters of each and
    not what was recalled for them; of the last one everything, its results
    of tools at 600 characters (those of its last round at 8,000). What is
    short already comes back equal.
    """
    sound = repair(messages)
    system = [item for item in sound if is_system(item)]
    turns = split_turns([item for item in sound if not is_system(item)])
    if not turns:
        return system
    earlier = turns[:-1][-(keep_turns - 1):] if keep_turns > 1 else []
    kept = [Chat(replace(item.message, content=shorten(
                drop_block(item.message.content), COMPACT_CHARS)))
            for turn in earlier for item in turn if isinstance(item, Chat)
            and not is_results(item)]
    last = max((index for index, item in enumerate(turns[-1])
                if is_results(item)), default=-1)
    running = [_cut(item, LAST_RESULT_CHARS if index == last
                    else COMPACT_CHARS) if is_results(item) else item
               for index, item in enumerate(turns[-1])]
    return [*system, *kept, *running]


def _cut(item: ConversationMessage, limit: int) -> ConversationMessage:
    """Results of tools, each at most `limit` characters."""
    if isinstance(item, ToolResults):
        return ToolResults(tuple(
            ToolResultMessage(r.tool_call_id, shorten(r.content, limit))
            for r in item.results), item.labels)
    if isinstance(item, Chat) and not starts_turn(item):
        pieces = item.message.content.split(_CLOSE)
        cut = [shorten(piece, limit) for piece in pieces]
        return Chat(replace(item.message, content=_CLOSE.join(
            was if short == was else short + "\n"
            for was, short in zip(pieces, cut, strict=True))))
    return item
