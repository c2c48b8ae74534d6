"""One line on stderr for each event of `claw listen`.

Text for people, JSON with --log-format json. Keys and tokens never pass:
every value goes through the redaction.
"""

import threading
import time
from contextlib import suppress
from typing import Any

from claw.cli.show.output import Output, is_terminal, to_json, visible
from claw.core.times import rfc3339
from claw.security.redact.redaction import scrub_tokens

# Events that only -v shows: what goes right and often.
_DETAIL = frozenset({"message.accepted", "message.known", "tool", "sent",
                     "gateway.request"})
_NUMBERS = frozenset({"id", "turn", "source", "part"})
_PLAIN = {
    "turn": "{outcome}",
    "unnamed": "{channel}: the bot's name is not known: {error}",
    "started": "ready, channels: {channels} (recovered {recovered} in "
               "{ms} ms)",
    "channel.listening": "{channel}: listening",
    "channel.error": "{channel}: {error}",
    "channel.restart": "{channel}: starting again in {wait_s:g} s",
    "channel.unusable": "{channel}: left out: {error}",
    "channel.rejected": "{channel}: goes on with the settings from before: "
                        "{error}",
    "channel.removed": "{channel}: not configured any more, stopped",
    "standby": "another claw listen (pid {pid}) works here; standing by to "
               "take over",
    "draining": "ending; answers still being made: {running}",
    "outbox.flush": "{channel}: sending what waits, for {patience_s:g} s at "
                    "most",
    "outbox.left": "{channel}: what could not be sent waits for the next "
                   "start",
    "stopped": "stopped",
    "message": "💬 [{channel}] from {sender}: {text}",
    "send.error": "{channel}: not sent: {error}",
    "turn.failed": "{channel}: {error}",
    "config.reloaded": "config.toml taken over, channels: {channels}",
    "config.rejected": "config.toml not taken over, the settings from before "
                       "stay in force: {error}",
    "config.warning": "{text}",
    "people.carried": "{channel}: what was kept under names and ids of "
                      "before stands under the ids that their people have "
                      "now: {sessions} conversations, {memories} memories",
    "identity.changed": "{channel}: {old} is {new} now, the platform says; "
                        "what was kept of {person} follows",
    "identity.refused": "{channel}: {old} is {new} now, the platform says, "
                        "but that is {person}; nothing was changed",
    "identity.unsaved": "{channel}: {old} is {new} now; config.toml could "
                        "not be changed: {error}",
    "identity.released": "{channel}: {id} is named anew, and is whoever has "
                         "it now",
    "name.rejected": "{channel}: {username} is {holder}; {id} has the name "
                     "now and is not let in by it",
    "sandbox.warning": "{text}",
    "gateway.listening": "gateway: http://{host}:{port}",
    "gateway.request": "gateway: {method} {path} {status}",
    "gateway.error": "{error}",
    "gateway.fault": "gateway: {path}: {error}",
    "gateway.unpaired": "gateway: nobody has a key yet",
    "gateway.paired": "gateway: {key} has a key now",
    "gateway.pairing_locked": "gateway: {peer} guesses pairing codes and "
                              "has to wait",
    "pairing": "{channel}: to pair, send the bot: {bind} {code}",
}
_TROUBLE = ("error", "failed", "rejected", "unusable", "lost", "warning")


class EventLog:
    """Writes the lines; may be called from any thread."""

    def __init__(self, out: Output, *, verbose: int) -> None:
        self._out = out
        self._verbose = verbose
        # A person at the terminal reads names, not numbers.
        self._brief = is_terminal(out.stderr) and not verbose \
            and not out.json_notes
        self._lock = threading.Lock()

    def __call__(self, event: str, /, **fields: Any) -> None:
        if self._out.quiet and not event.endswith(_TROUBLE):
            return
        if (event in _DETAIL or (event == "turn" and self._brief)) \
                and not self._verbose and not self._out.json_notes:
            return
        fields = {name: value if isinstance(value, bool | int | float)
                  else self._out.redact(scrub_tokens(str(value)))
                  for name, value in fields.items() if value is not None}
        at = rfc3339(time.time())
        # A full disk or a closed pipe costs the line, never a message.
        with self._lock, suppress(OSError):
            self._out.stderr.write(
                (to_json({"at": at, "event": event, **fields})
                 if self._out.json_notes else self._line(at, event, fields))
                + "\n")
            self._out.stderr.flush()

    def _line(self, at: str, event: str, fields: dict[str, Any]) -> str:
        hint = fields.pop("hint", None)
        # without a line of its own: "webhook: poll failed: ..."
        pattern = _PLAIN.get(event) or (
            ("{channel}: " if "channel" in fields else "")
            + event.replace("_", " ").replace(".", " ")
            + (": {error}" if "error" in fields else ""))
        try:
            said = pattern.format(**fields)
        except (KeyError, ValueError, IndexError):
            said = event
        rest = " ".join(f"{name}={value}" for name, value in fields.items()
                        if "{" + name not in pattern
                        and not (self._brief and name in _NUMBERS))
        line = f"{at[11:19]} {said}" + (f"  {rest}" if rest else "")
        return visible(" ".join((line + (f" ({hint})" if hint else "")
                                 ).split("\n")))
