"""The command line before the word that is completed."""

import os
from functools import cached_property
from typing import Any

from claw.config.places import Places, locate, refuse_links
from claw.wiring.workspace.trust import settle_trust


class Line:
    """`words` stand before `prefix`, the word as far as it is written; both
    without the shell's quotes."""

    def __init__(self, words: list[str], prefix: str) -> None:
        self.words = words
        self.prefix = prefix

    def option(self, *names: str) -> str | None:
        """The value of an option, the last one where there are several."""
        found, own = None, False
        for word in self.words:
            if own:
                found, own = word, False
                continue
            own = word in names
            for name in names:
                start = name + "=" if name.startswith("--") else name
                if word.startswith(start) and word != name:
                    found = word[len(start):]
        return found

    @cached_property
    def places(self) -> Places:
        """Where this line looks; nothing is decided about a workspace from
        elsewhere, but the line itself may say that it counts."""
        places = locate(_expand(self.option("--config-dir")),
                        _expand(self.option("-w", "--workspace")))
        return places if "--trust-workspace" in self.words \
            else settle_trust(places)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """config.toml as it is written; {} where there is none."""
        refuse_links(self.places)
        if not os.path.lexists(self.places.config_file):
            return {}
        from claw.config.parse import read_config  # tomllib
        return read_config(self.places.config_file)[0]

    def table(self, name: str) -> dict[str, Any]:
        """A table of config.toml; {} where there is none."""
        found = self.settings.get(name)
        return found if isinstance(found, dict) else {}


def _expand(path: str | None) -> str | None:
    """Variables as the shell will put them in; `~` is the matter of
    `locate`."""
    return None if not path else os.path.expandvars(path)
