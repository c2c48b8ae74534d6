"""What a channel is and needs, read off its class: `claw channel setup` and
docs/channels/ are made of it. Nothing is connected, and no library loaded.
"""

import inspect
import re
from collections.abc import Iterator
from math import isinf
from typing import Any

from claw.channels import REGISTRY
from claw.core.abilities import ClearsButtons
from claw.core.channel import Capabilities, Channel
from claw.core.errors import ClawError
from claw.core.value import Value
from claw.wiring.channels.build import explain_setup
from claw.wiring.channels.names import CONSOLE, SECTION
from claw.wiring.config.view import Setting, list_settings

# What a platform can do, in the order of the tables: (head, meaning).
ABILITIES = {
    "edit": "change a message of ours",
    "list back": "look up what has arrived",
    "repeat": "take a send twice and show it once",
    "proactive": "get a message that answers nothing",
    "several": "be listened to by several processes",
    "names change": "let people change the name that an allow-list holds",
    "buttons": "answer questions by a press",
    "drafts": "show an answer while it grows",
}


class Manual(Value):
    """`first` is the command that begins it, where there is one, `line` what
    the setup says first, else that command; `settings` have their keys
    without the table's name; `extra_for` as in Channel."""

    name: str
    setup: str
    line: str
    first: str
    settings: tuple[Setting, ...]
    capabilities: Capabilities
    buttons: bool
    drafts: bool
    example: str
    extra_for: str

    @property
    def is_listed(self) -> bool:
        """Whether `claw listen` runs it without being asked."""
        return self.name != CONSOLE

    @property
    def table(self) -> str:
        return f"{SECTION}.{self.name}"

    def abilities(self) -> dict[str, str]:
        """The heads of ABILITIES: "yes", "no", or for how long."""
        can = self.capabilities
        return dict(zip(ABILITIES, (
            _word(can.edit), _word(can.list_back), _period(can.key_holds_s),
            _word(can.proactive), _word(can.several_connections),
            _word(can.identity_change), _word(self.buttons),
            _word(self.drafts)), strict=True))

    def to_json(self) -> dict[str, Any]:
        """`key_holds_s` is null where the platform never forgets a key."""
        can = self.capabilities
        return {"name": self.name, "setup": self.setup, "settings": [
            {"key": s.key, "default": s.default, "meaning": s.meaning,
             "choices": list(s.choices)} for s in self.settings],
            "abilities": {
                "edit": can.edit, "list_back": can.list_back,
                "key_holds_s": None if isinf(can.key_holds_s)
                else can.key_holds_s, "proactive": can.proactive,
                "several_connections": can.several_connections,
                "identity_change": can.identity_change,
                "buttons": self.buttons, "drafts": self.drafts},
            "first": self.first or None}


def read_manual(name: str) -> Manual:
    """Raises ConfigError for a name that nothing has, and for a plug-in
    that can't be loaded."""
    channel: type[Channel] = REGISTRY.load(name)
    struct = None if name == CONSOLE else channel.Settings
    setup = channel.setup.strip() or inspect.getdoc(channel) or ""
    first = explain_setup(name) if channel.first_setting else ""
    return Manual(
        name, setup, _first_sentence(setup) or first, first,
        () if struct is None else tuple(list_settings(struct)),
        channel.capabilities,
        channel.capabilities.buttons or issubclass(channel, ClearsButtons),
        channel.supports_draft_updates is not Channel.supports_draft_updates,
        channel.example_recipient, channel.extra_for)


def list_manuals() -> Iterator[Manual | tuple[str, ClawError]]:
    """Of every channel; where one can't be loaded its name, and why."""
    for name in dict.fromkeys([*REGISTRY.names(), *REGISTRY.foreign_names()]):
        try:
            yield read_manual(name)
        except ClawError as error:
            yield name, error


def explain_doubt(can: Capabilities) -> str:
    """What becomes of an answer that may have arrived or not."""
    again = ('is sent again with "(possibly repeated)" in front')
    late = (f"it is looked for first; where that does not tell, it {again}"
            if can.list_back else f"it {again}")
    if isinf(can.key_holds_s):
        return "it is sent again under its key, and shown once."
    if can.key_holds_s:
        return (f"within {_period(can.key_holds_s)} it is sent again under "
                f"its key, and shown once; later {late}.")
    return f"{late}."


def _first_sentence(text: str) -> str:
    """What the text says first, below headings; "" where that is a step of
    a list."""
    paragraph = next((part for part in text.split("\n\n")
                      if part.strip() and part[0] != "#"), "")
    words = " ".join(paragraph.replace("`", "").split())
    return "" if re.match(r"([-*]|\d+[.)]) ", words) else \
        words.partition(". ")[0].rstrip(".:")


def _word(can: bool) -> str:
    return "yes" if can else "no"


def _period(seconds: float) -> str:
    """How long: "no", "30 s", "5 min", "for ever"."""
    if isinf(seconds):
        return "for ever"
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s" if seconds else "no"
