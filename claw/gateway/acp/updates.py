"""What a turn tells, and what was said before -> session/update.

Text that was shown before tools were called stays: an editor can not take
it back. The pieces of one message have one id, so that what comes after a
tool is another one. Secrets are taken out of all of it.
"""

import itertools
import posixpath
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from claw.agent.rendering.cut import hint
from claw.agent.rounds.events import (
    CallRefused,
    Event,
    Notice,
    RoundDiscarded,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from claw.core.images import find_images
from claw.security.redact.held_back import HeldBack
from claw.security.redact.redactor import Redactor

Update: TypeAlias = dict[str, Any]

# Arguments that tell what kind of call it is; the first that fits.
_KINDS = (("command", "execute"), ("url", "fetch"), ("query", "search"),
          ("pattern", "search"))
_CHANGES = frozenset(("content", "old_string", "new_string", "edits",
                      "patch"))


class SpokenMessage(Protocol):
    """A message of an earlier conversation. `role` is "user", "assistant",
    "tool" or "system"; `calls` are (name, arguments as JSON text)."""

    @property
    def role(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def calls(self) -> Sequence[tuple[str, str]]: ...


class Updates:
    """The updates of one session. `send` takes each one, `root` is where
    relative paths begin."""

    def __init__(self, send: Callable[[Update], None], redactor: Redactor,
                 root: str) -> None:
        self._send = send
        self._redactor = redactor
        self._of_calls = redactor.for_approval()
        self._held = HeldBack(redactor)
        self._root = root
        self._message = _draw_id()
        # Unique also beside the calls of an earlier process.
        prefix = _draw_id()
        self._calls = (f"{prefix}-{n}" for n in itertools.count(1))
        self._open: dict[str, str] = {}  # those not finished, by our id

    def take(self, event: Event) -> None:
        """An event of the running turn."""
        if isinstance(event, TextDelta):
            self._say(self._held.feed(event.text))
            return
        self.flush()
        if isinstance(event, RoundDiscarded):
            self._message = _draw_id()
        elif isinstance(event, ToolStarted):
            self._start(event)
        elif isinstance(event, ToolFinished):
            self._finish(event)
        elif isinstance(event, Notice):
            self.remark(event.text)
        elif isinstance(event, CallRefused):
            self.remark(event.refusal.remark)

    def flush(self) -> None:
        """Say what waits to be known for no secret."""
        self._say(self._held.end())

    def end_turn(self) -> None:
        """Nothing more comes of this turn: calls that were stopped are
        over."""
        self.flush()
        for call in self._open.values():
            self.put({"sessionUpdate": "tool_call_update",
                      "toolCallId": call, "status": "failed"})
        self._open.clear()
        self._message = _draw_id()

    def say(self, text: str) -> None:
        """A whole message of claw's."""
        self._message = _draw_id()
        self._say(text)
        self._message = _draw_id()

    def remark(self, text: str) -> None:
        """Something to know beside the answer."""
        self.say("> claw: " + text.replace("\n", "\n> ") + "\n\n")

    def ask_about(self, call_id: str, title: str, kind: str, text: str
                  ) -> Update:
        """The call that a person is asked about, which the editor knows
        from now on; a call within another one is shown as that one."""
        self.flush()
        outer = call_id.partition("/")[0]
        known = next((one for one in (call_id, outer, outer.rpartition(".")[0])
                      if one in self._open), None)
        call: Update = {"toolCallId": self._open[known] if known is not None
                        else next(self._calls)}
        if known is None:
            self._open[call_id] = call["toolCallId"]
            self._put_call({"sessionUpdate": "tool_call", **call,
                            "title": title, "kind": kind,
                            "status": "pending"})
        asked: Update = self._of_calls.record({
            **call, "title": title, "kind": kind, "status": "pending",
            "content": _wrap(text)})
        return asked

    def replay(self, messages: Iterable[SpokenMessage]) -> None:
        """An earlier conversation, message by message."""
        waiting: list[str] = []
        for message in messages:
            if message.role == "tool":
                if waiting:
                    self.put({"sessionUpdate": "tool_call_update",
                              "toolCallId": waiting.pop(0),
                              "status": "completed",
                              "content": _wrap(message.text)})
                continue
            self._message = _draw_id()
            if message.role == "user":
                self._say(_hide_images(message.text), "user_message_chunk")
            elif message.role == "assistant":
                self._say(message.text)
            waiting = [next(self._calls) for _ in message.calls]
            for call, (name, arguments) in zip(waiting, message.calls,
                                               strict=True):
                self.put({"sessionUpdate": "tool_call", "toolCallId": call,
                          "title": f"{name} {arguments}"[:200],
                          "kind": "other", "status": "completed"})
        self._message = _draw_id()

    def _start(self, event: ToolStarted) -> None:
        known = event.call_id in self._open
        call = self._open[event.call_id] if known else next(self._calls)
        self._open[event.call_id] = call
        self._put_call({
            "sessionUpdate": "tool_call_update" if known else "tool_call",
            "toolCallId": call, "status": "in_progress",
            "rawInput": dict(event.arguments),
            **self._describe(event.name, event.arguments)})

    def _finish(self, event: ToolFinished) -> None:
        """One that never started was refused before anybody was asked."""
        call = self._open.pop(event.call_id, None)
        head = ({"sessionUpdate": "tool_call", "toolCallId":
                 next(self._calls), "title": event.name, "kind": "other"}
                if call is None else
                {"sessionUpdate": "tool_call_update", "toolCallId": call})
        self.put({**head, "content": _wrap(event.output), "status":
                  "completed" if event.success else "failed"})

    def _describe(self, name: str, arguments: Mapping[str, Any]) -> Update:
        """How an editor shows a call, and which file it follows."""
        found: Update = {"title": f"{name} {hint(arguments)}".rstrip(),
                         "kind": find_kind(arguments)}
        path = arguments.get("path")
        if isinstance(path, str) and found["kind"] in ("read", "edit"):
            found["locations"] = [{"path": posixpath.join(self._root, path)}]
        return found

    def _say(self, text: str, kind: str = "agent_message_chunk") -> None:
        if text:
            self.put({"sessionUpdate": kind, "messageId": self._message,
                      "content": {"type": "text", "text": text}})

    def put(self, update: Update) -> None:
        """Any update, without secrets."""
        self._send(self._redactor.record(update))

    def _put_call(self, update: Update) -> None:
        """What is called, whole but for this installation's secrets."""
        self._send(self._of_calls.record(update))


def find_kind(arguments: Mapping[str, Any]) -> str:
    """The kind of a call by its arguments, for an icon: tools of servers
    and plug-ins have one too."""
    for name, kind in _KINDS:
        if name in arguments:
            return kind
    if "path" not in arguments:
        return "other"
    return "edit" if _CHANGES.intersection(arguments) else "read"


def _wrap(text: str) -> list[Update]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def _hide_images(text: str) -> str:
    """A message of earlier with a word in the place of each image."""
    pieces, at = [], 0
    for marker in find_images(text):
        pieces += [text[at:marker.start], "[image]"]
        at = marker.end
    return "".join([*pieces, text[at:]])


def _draw_id() -> str:
    return uuid.uuid4().hex[:12]
