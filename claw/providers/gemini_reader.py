"""Gemini's answers, whole or streamed, put together. Pure.

A stream is a row of whole answers: each adds parts to the first candidate,
the last says why it ended. Source: the google-genai SDK's types.
"""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from claw.core.errors import (
    ClawError,
    IncompleteAnswerError,
    RequestRefusedError,
)
from claw.core.provider import ChatResponse, TokenUsage, ToolCall
from claw.net.errors import Peer, said
from claw.providers.gemini_wire import BY
from claw.providers.usage import counted
from claw.providers.visible import VisibleText
from claw.providers.wire import Json, arguments_text, strip_think, tidy
from claw.text.segment import clean

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


class Reader:
    """Feed it the answers of one request with `take`, which gives the
    visible text of each. With `hold_calls` text from a <tool_call> tag on
    is kept back. `finished`: it was said why the answer ended.
    """

    def __init__(self, *, hold_calls: bool = False) -> None:
        self._hold_calls = hold_calls
        self._visible = VisibleText(hold_calls)
        self._content: list[str] = []
        self._shown: list[str] = []
        self._thoughts: list[str] = []
        self._thinking = False
        self._calls: list[ToolCall] = []
        self._kept: list[Json] = []
        self._text_signature: str | None = None
        self._usage: TokenUsage | None = None
        self._model: str | None = None
        self._finish: str | None = None
        self._blocked: str | None = None
        self._why = ""
        self.answers = 0

    @property
    def finished(self) -> bool:
        return self._finish is not None or self._blocked is not None

    def take(self, data: Mapping[str, Any]) -> str:
        """One answer object; returns what may be shown of it."""
        self._usage = read_usage(data.get("usageMetadata")) or self._usage
        if isinstance(data.get("modelVersion"), str):
            self._model = data["modelVersion"]
        self._feedback(data.get("promptFeedback"))
        shown = ""
        candidates = data.get("candidates")
        for candidate in candidates if isinstance(candidates, list) else []:
            if isinstance(candidate, dict) and not candidate.get("index"):
                self.answers += 1
                shown += self._candidate(candidate)
        return shown

    def rest(self) -> str:
        """What was still held back, now that nothing more comes."""
        found = self._visible.end()
        self._shown.append(found)
        return found

    def end(self) -> tuple[str, ChatResponse]:
        """What was still held back, and the whole answer; its text is
        what was shown."""
        rest = self.rest()
        content = clean("".join(self._content))
        text: str | None = strip_think(content)
        if not (text or "").strip():
            rest = text = self._only_thoughts()
        elif not self._hold_calls:
            text = "".join(self._shown)
        return rest, tidy(ChatResponse(
            text=text or None, tool_calls=tuple(self._calls),
            usage=self._usage, model=self._model,
            reasoning_content=clean("".join(self._thoughts)) or None,
            finish_reason=self._reason(), replay=self._replay()))

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
        return f": {said(self._why, peer.secrets)}" if self._why else ""

    def _feedback(self, feedback: Any) -> None:
        if not isinstance(feedback, dict):
            return
        reason = feedback.get("blockReason")
        if isinstance(reason, str) and reason \
                and reason not in _UNSPECIFIED:
            self._blocked = clean(reason)
            self._why = _why(feedback, "blockReasonMessage")

    def _candidate(self, candidate: Mapping[str, Any]) -> str:
        reason = candidate.get("finishReason")
        if isinstance(reason, str) and reason \
                and reason not in _UNSPECIFIED:
            self._finish = clean(reason)
            self._why = _why(candidate, "finishMessage")
        content = candidate.get("content")
        found = content.get("parts") if isinstance(content, dict) else None
        parts = [p for p in found if isinstance(p, dict)] \
            if isinstance(found, list) else []
        return "".join(self._part(part, first=number == 0)
                       for number, part in enumerate(parts))

    def _part(self, part: Mapping[str, Any], *, first: bool) -> str:
        signature = part.get("thoughtSignature",
                             part.get("thought_signature"))
        signature = signature if isinstance(signature, str) else None
        text = part.get("text")
        text = text if isinstance(text, str) else ""
        if part.get("thought") is True:
            self._thought(text, goes_on=first)
            return ""
        self._thinking = False
        call = part.get("functionCall", part.get("function_call"))
        if isinstance(call, dict):
            self._call(call, signature)
            return ""
        self._text_signature = signature or self._text_signature
        self._content.append(text)
        self._shown.append(self._visible.feed(text))
        return self._shown[-1]

    def _thought(self, text: str, *, goes_on: bool) -> None:
        """A thought goes on from one answer of a stream to the next."""
        if self._thinking and goes_on:
            self._thoughts[-1] += text
        else:
            self._thoughts.append(text)
        self._thinking = True

    def _call(self, call: Mapping[str, Any], signature: str | None) -> None:
        name, given = call.get("name"), call.get("id")
        if not isinstance(name, str) or not name.strip():
            return
        given = given if isinstance(given, str) and given else None
        self._calls.append(ToolCall(
            given or f"call_{uuid.uuid4().hex}", name.strip(),
            arguments_text(call.get("args"))))
        kept = {"id": given, "signature": signature}
        self._kept.append({k: v for k, v in kept.items() if v})

    def _only_thoughts(self) -> str:
        """An answer that holds thoughts alone is its first thought, but
        not where it ran out of tokens while it thought."""
        if self._calls or self._reason() == "length":
            return ""
        thoughts = (strip_think(clean(t)).strip() for t in self._thoughts)
        return next((t for t in thoughts if t), "")

    def _reason(self) -> str | None:
        reason = _GOOD.get(self._finish or "STOP", self._finish)
        return "tool_calls" if reason == "stop" and self._calls else reason

    def _replay(self) -> str | None:
        """What has to stand beside the calls when they are sent again, by
        their position: ids may be changed on the way."""
        if not self._calls or not (any(self._kept) or self._text_signature):
            return None
        kept: Json = {"by": BY, "calls": self._kept}
        if self._text_signature:
            kept["text"] = self._text_signature
        return json.dumps(kept)


def _why(data: Mapping[str, Any], key: str) -> str:
    """The words beside a reason: a message, or the ratings that led to
    it."""
    message = data.get(key)
    if isinstance(message, str) and message.strip():
        return message
    ratings = data.get("safetyRatings")
    blocked = [r.get("category") for r in ratings
               if isinstance(r, dict) and r.get("blocked")] \
        if isinstance(ratings, list) else []
    return ", ".join(c for c in blocked if isinstance(c, str))


def read_usage(usage: Any) -> TokenUsage | None:
    """Token counts; thoughts are part of what was put out."""
    if not isinstance(usage, dict):
        return None

    def count(key: str) -> int | None:
        return counted(usage.get(key))
    said_, thought = count("candidatesTokenCount"), count(
        "thoughtsTokenCount")
    out = None if said_ is None and thought is None \
        else (said_ or 0) + (thought or 0)
    found = TokenUsage(count("promptTokenCount"), out,
                       count("cachedContentTokenCount"))
    return found if found != TokenUsage() else None
