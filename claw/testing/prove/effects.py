"""A model that changes the world in each turn, and a look at how often it
was changed.

In answer to message M of a chat the model puts M before the last line of
that chat's file, then says "re:M". When it is told that the outcome is
unknown, it does not do it again: a repetition is the service's own.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from claw.testing.fake_openai import Reply, last_user_text, tool_call
from claw.testing.prove.answers import answer_to
from claw.testing.prove.verdict import Said

_END = "END"
_UNKNOWN = "outcome is unknown"


class Effects:
    """One scene's model. `unknown` are messages whose change may have been
    made or not, and whose model was told so."""

    def __init__(self) -> None:
        self.unknown: set[str] = set()

    def prepare(self, workspace: Path, chats: Sequence[int]) -> None:
        for chat in chats:
            (workspace / f"{chat}.txt").write_text(_END, "utf-8")

    def model(self, body: dict[str, Any]) -> Reply:
        """What the model says to a request."""
        text = last_user_text(body)
        last = body["messages"][-1]
        if last.get("role") != "tool":
            return tool_call("file_edit", path=f"{text[1:]}.txt",
                             old_string=_END, new_string=f"{text}\n{_END}")
        if _UNKNOWN in json.dumps(last.get("content")):
            self.unknown.add(text)
        return Reply(answer_to(text))

    def wrong(self, workspace: Path, wrote: Iterable[Said]) -> list[str]:
        """Changes that were made twice, or not at all without a word."""
        found = []
        for chat, text in wrote:
            lines = (workspace / f"{chat}.txt").read_text(
                "utf-8").splitlines()
            times = lines.count(text)
            if times > 1:
                found.append(f"the tool's change for {text} was made "
                             f"{times} times")
            if times == 0 and text not in self.unknown:
                found.append(f"the tool's change for {text} is missing and "
                             "its model was not told")
        return found
