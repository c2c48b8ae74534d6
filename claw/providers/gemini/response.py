"""Gemini's answers, whole or streamed, put together. Pure.

A stream is a row of whole answers: each adds parts to the first candidate,
the last says why it ended. Source: the google-genai SDK's types.
"""

from collections.abc import Mapping
from typing import Any

from claw.core.errors import (
    ClawError,
    IncompleteAnswerError,
    RequestRefusedError,
)
from claw.core.provider import TokenUsage, ToolCall
from claw.net.errors import Peer, summarise
from claw.providers.gemini.request import BY
from claw.providers.wire.json import (
    Json,
    arguments_text,
    object_at,
    objects_in,
    string,
    string_at,
)
from claw.providers.wire.reader import (
    AnswerReader,
    new_call_id,
    write_replay,
)
from claw.providers.wire.usage import read_count
from claw.text.segment import clean
from claw.text.think import strip_think

# FUNCTION_CALL is a mock's word for it.
_GOOD = {"STOP": "stop", "MAX_TOKENS": "length", "FUNCTION_CALL": "stop"}
_UNSPECIFIED = ("FINISH_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED",
                "BLOCKED_REASON_UNSPECIFIED")
# Asking again would end the same way.
_WITHHELD = {
    "SAFETY": "its safety filter",
    "RECITATION": "it would recite a source",
    "BLOCKLIST": "a term on a blocklist",
    "PROHIBITED_CONTENT": "prohibited content",
    "SPII": "personal information",
    "LANGUAGE": "a language it does not take",
    "MODEL_ARMOR": "Model Armor",
    "ESCALATION": "a rule of escalation",
    "PUP_LIMITED_DISABLED": "the account is limited",
}


class Reader(AnswerReader):
    """Feed it the answers of one request with `take`, which gives the
    visible text of each."""

    def __init__(self) -> None:
        super().__init__()
        self._thinking = False
        self._kept: list[Json] = []
        self._text_signature = ""
        self._blocked: str | None = None
        self._why = ""
        self.answers = 0

    @property
    def finished(self) -> bool:
        return self._finish is not None or self._blocked is not None

    def take(self, data: Mapping[str, Any]) -> str:
        """One answer object; returns what may be shown of it."""
        self._usage = read_usage(data.get("usageMetadata")) or self._usage
        self._model = string_at(data, "modelVersion") or self._model
        feedback = object_at(data, "promptFeedback")
        reason = string_at(feedback, "blockReason")
        if reason and reason not in _UNSPECIFIED:
            self._blocked = clean(reason)
            self._why = _find_words(feedback, "blockReasonMessage")
        shown = ""
        for candidate in objects_in(data.get("candidates")):
            if not candidate.get("index"):
                self.answers += 1
                shown += self._take_candidate(candidate)
        return shown

    def failure(self, peer: Peer) -> ClawError | None:
        """Why this is no answer, where the model was stopped."""
        if self._blocked is not None:
            why = _WITHHELD.get(self._blocked, "its own reasons")
            return RequestRefusedError(
                f"{peer.title} refused the prompt ({self._blocked}: {why})"
                + self._words(peer), hint="say it another way")
        reason = self._finish
        if reason is None or reason in _GOOD:
            return None
        if reason in _WITHHELD or reason.startswith("IMAGE_"):
            why = _WITHHELD.get(reason, "its filter of images")
            return RequestRefusedError(
                f"{peer.title} held its answer back ({reason}: {why})"
                + self._words(peer), hint="say it another way")
        return IncompleteAnswerError(
            f"{peer.title} stopped in the middle of its answer ({reason})"
            + self._words(peer), hint="try again")

    def _words(self, peer: Peer) -> str:
        return f": {summarise(self._why, peer.secrets)}" if self._why else ""

    def _take_candidate(self, candidate: Mapping[str, Any]) -> str:
        reason = string_at(candidate, "finishReason")
        if reason and reason not in _UNSPECIFIED:
            self._finish = clean(reason)
            self._why = _find_words(candidate, "finishMessage")
        parts = objects_in(object_at(candidate, "content").get("parts"))
        return "".join(self._take_part(part, first=number == 0)
                       for number, part in enumerate(parts))

    def _take_part(self, part: Mapping[str, Any], *, first: bool) -> str:
        signature = string(part.get("thoughtSignature",
                                    part.get("thought_signature")))
        text = string_at(part, "text")
        if part.get("thought") is True:
            # a thought goes on from one answer of a stream to the next
            if self._thinking and first:
                text = self._thoughts.pop() + text
            self._thoughts.append(text)
            self._thinking = True
            return ""
        self._thinking = False
        call = part.get("functionCall", part.get("function_call"))
        if not isinstance(call, dict):
            self._text_signature = signature or self._text_signature
            return self.say(text)
        name, given = string_at(call, "name").strip(), string_at(call, "id")
        if name:
            self._calls.append(ToolCall(given or new_call_id(), name,
                                        arguments_text(call.get("args"))))
            kept = {"id": given, "signature": signature}
            self._kept.append({k: v for k, v in kept.items() if v})
        return ""

    def thoughts_as_text(self) -> str:
        """The first thought."""
        if self.finish_reason() == "length":
            return ""
        thoughts = (strip_think(clean(t)).strip() for t in self._thoughts)
        return next((t for t in thoughts if t), "")

    def finish_reason(self) -> str | None:
        reason = _GOOD.get(self._finish or "STOP", self._finish)
        return "tool_calls" if reason == "stop" and self._kept else reason

    def replay(self) -> str | None:
        """What has to stand beside the calls when they are sent again, by
        their position: ids may be changed on the way."""
        if not self._kept or not (any(self._kept) or self._text_signature):
            return None
        text = {"text": self._text_signature} if self._text_signature else {}
        return write_replay(BY, calls=self._kept, **text)


def _find_words(data: Mapping[str, Any], key: str) -> str:
    """The words beside a reason: a message, or the ratings that led to
    it."""
    message = string_at(data, key)
    return message if message.strip() else ", ".join(
        string_at(rating, "category")
        for rating in objects_in(data.get("safetyRatings"))
        if rating.get("blocked") and string_at(rating, "category"))


def read_usage(usage: Any) -> TokenUsage | None:
    """Token counts; thoughts are part of what was put out."""
    if not isinstance(usage, dict):
        return None

    names = ("promptTokenCount", "candidatesTokenCount",
             "thoughtsTokenCount", "cachedContentTokenCount")
    asked, told, thought, cached = (read_count(usage.get(n)) for n in names)
    out = None if told is None and thought is None \
        else (told or 0) + (thought or 0)
    found = TokenUsage(asked, out, cached)
    return found if found != TokenUsage() else None
