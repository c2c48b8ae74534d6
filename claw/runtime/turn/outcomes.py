"""What becomes of a turn: the text that goes out, the text that is kept.

Pure functions; the sentences are those that the seeds give.
"""

import re
from collections.abc import Collection, MutableSequence, Sequence
from typing import Any, NamedTuple

import msgspec

from claw.agent.history import CUT_OFF, mark_answer
from claw.agent.history import channel as history
from claw.agent.model.refusals import is_overflow, is_vision_error
from claw.agent.rendering.sanitise import MALFORMED, sanitise_reply
from claw.agent.rounds.outcome import (
    RECEIPT,
    MalformedCallError,
    TurnResult,
)
from claw.channels.markers import inert
from claw.core.channel import Channel, ChannelMessage
from claw.core.errors import ClawError, UnavailableError, describe
from claw.core.ledger import Total, dollars
from claw.core.provider import ChatMessage
from claw.core.refusal import NOT_DONE
from claw.net.errors import scrub, was_unsent
from claw.runtime.live import Live
from claw.runtime.turn.trace import Trace
from claw.security.redact.held_back import HeldBack
from claw.security.redact.redaction import scrub_tokens
from claw.security.redact.redactor import Redactor
from claw.storage.queue.model import Completion

ERROR_CHARS = 500
CONVERSATIONS = 1_000  # of which the last turn and its tokens are known
EMPTY = ("⚠️ The model gave an empty answer. Please try again, or choose "
         "another model.")
TIMED_OUT = ("⚠️ Request timed out while waiting for the model. Please try "
             "again.")
UNREACHABLE = ("⚠️ Error: the model can't be reached now. Please try again "
               "later.")
KEPT_TIMEOUT = "[Task timed out] not continuing this request"
KEPT_FAILED = "[Task failed] not continuing this request"
OVERFLOW = ("⚠️ Context window exceeded for this conversation. ")
COMPACTED = "I compacted recent history and kept the latest context. "
RESEND = "Please resend your last message."
# What only claw says under an answer.
_OURS = re.compile(rf"^(?=[^\w\n]*(?:{NOT_DONE}\S+ .* wanted a yes|"
                   rf"claw: {re.escape(RECEIPT)}))", re.MULTILINE)
_LAST_WORD = re.compile(r"[!-~]++\Z")


class Finished(msgspec.Struct, frozen=True):
    """A completion, and what follows once it is committed: `result` is
    there for an answer of the model (to be consolidated), `foreign` tells
    that this may say what others want it to."""

    completion: Completion
    message: ChannelMessage
    result: TurnResult | None
    live: Live
    foreign: bool = False


class Fate(NamedTuple):
    """What an error comes to: the reply, and the assistant turn that is
    kept (None: none)."""

    kind: str
    reply: str
    kept: str | None


def clean_answer(text: str, tools: Collection[str],
                 secrets: Collection[str]) -> str:
    """The answer as a person gets it."""
    clean = _OURS.sub("The model says: ", sanitise_reply(text, tools,
                                                         secrets))
    return clean if clean.strip() or not text.strip() else MALFORMED


def add_remarks(text: str, remarks: Sequence[str]) -> str:
    """An answer with what claw says under it."""
    return "\n\n".join([text.rstrip(), *map(inert, remarks)]) \
        if remarks else text


def clean_growing_answer(text: str, tools: Collection[str],
                   secrets: Collection[str]) -> str:
    """As much of an unfinished answer as may be shown: cleaned, and
    without what may be the half of a secret at its end."""
    shown = HeldBack(Redactor(lambda: tuple(secrets))).feed(text)
    return sanitise_reply(_LAST_WORD.sub("", shown), tools, secrets)


def kept_answer(text: str, result: TurnResult, channel: Channel) -> str:
    """The answer as history keeps it: with the tools' names in front,
    where the channel keeps them."""
    if result.finish_reason == "length":
        text = mark_answer(text, CUT_OFF)
    names = list(dict.fromkeys(call.name for call in result.tool_calls))
    return (history.with_summary(text, names)
            if names and channel.keeps_tool_names else text)


def judge_error(error: Exception) -> Fate:
    """What an error of a turn comes to."""
    if isinstance(error, TimeoutError):
        return Fate("timeout", TIMED_OUT, KEPT_TIMEOUT)
    if isinstance(error, MalformedCallError):
        return Fate("malformed", MALFORMED, KEPT_FAILED)
    if is_overflow(error):
        return Fate("overflow", "", None)
    if is_vision_error(describe(error)):
        return Fate("vision", error_text(error), None)
    if isinstance(error, UnavailableError) and was_unsent(error):
        # Where the model runs is no matter of who writes to it.
        return Fate("error", UNREACHABLE, KEPT_FAILED)
    return Fate("error", error_text(error), KEPT_FAILED)


def compact_turns(turns: MutableSequence[ChatMessage]) -> Fate:
    """History cut short after an overflow, and what to say."""
    short = history.compact(list(turns))
    changed = short != list(turns)
    turns[:] = short
    return Fate("overflow", OVERFLOW + (COMPACTED if changed else "")
                + RESEND, None)


def describe_scrubbed(error: Exception) -> str:
    """An error in one line, without secrets."""
    return scrub_tokens(scrub(describe(error)))


def keep_newest(kept: dict[str, Any], key: str,
                most: int = CONVERSATIONS) -> None:
    """Put a conversation last and forget those that were used longest
    ago."""
    kept[key] = kept.pop(key)
    while len(kept) > most:
        del kept[next(iter(kept))]


def error_text(error: Exception) -> str:
    """An error as the person reads it: without secrets, cut, and with the
    next step where there is one."""
    text = describe_scrubbed(error)
    hint = error.hint if isinstance(error, ClawError) else None
    if len(text) > ERROR_CHARS:
        text = text[:ERROR_CHARS] + "..."
    return f"⚠️ Error: {inert(text)}" + (f"\n({hint})" if hint else "")


def why_text(trace: Trace | None) -> str:
    """The last turn in a few lines."""
    return ("Nothing to explain yet: ask something first." if trace is None
            else "\n".join(trace.lines()))


def cost_text(tokens: Sequence[int] | None,
              money: tuple[Total, Total] | None = None) -> str:
    """Tokens of a conversation since the start; `money` is what its calls
    were on this day and in this month."""
    text = "No tokens were counted in this conversation yet."
    if tokens and any(tokens):
        text = (f"Tokens in this conversation since the start: "
                f"{tokens[0]:,} in, {tokens[1]:,} out.")
    if money is None or not money[1].calls:
        return text
    today, month = money
    text += (f"\nMoney: {dollars(today.cost_usd)} today, "
             f"{dollars(month.cost_usd)} this month")
    if month.unpriced:
        calls = "call" if month.unpriced == 1 else "calls"
        text += f", without {month.unpriced:,} {calls} of unknown price"
    return text + "."
