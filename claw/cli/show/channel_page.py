"""The page of a channel as Markdown: for a terminal, a pipe and docs/."""

import re
from collections.abc import Iterable, Sequence

from claw.config.display import to_toml
from claw.wiring.channels.manual import ABILITIES, Manual, explain_doubt
from claw.wiring.config.view import Setting

_LONG = 40


def write_page(manual: Manual, needs: str = "") -> str:
    """Setup, settings, what the platform can do, and how it begins; `needs`
    is what is to be installed before."""
    name = manual.name
    parts = [f"# {name}", needs, manual.setup]
    if manual.settings:
        parts += [f"## Settings: `[{manual.table}]`", write_settings(
            manual.settings)]
    parts += ["## What it can do", write_table(
        ("the platform can", ""), (
            (ABILITIES[head], value)
            for head, value in manual.abilities().items())),
        "An answer that may have arrived when claw was killed: "
        + explain_doubt(manual.capabilities)]
    lines = [manual.first, *([
        f"claw channel doctor {name}", "claw listen"]
        if manual.is_listed else [f"claw listen --channel {name}"]),
        f'claw send {name}:{manual.example} "hello"' if manual.example
        else ""]
    parts += ["## Begin", "```sh\n" + "\n".join(filter(None, lines)) + "\n```"]
    return "\n\n".join(filter(None, parts)) + "\n"


def write_settings(settings: Iterable[Setting]) -> str:
    """A table of settings."""
    return write_table(("setting", "default", "means"), (
        (f"`{s.key}`", format_default(s), re.sub(r"[*|]", r"\\\g<0>",
                                                s.meaning))
        for s in settings))


def write_table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(
        f"| {' | '.join(row)} |" for row in rows)])


def format_default(setting: Setting) -> str:
    """The default in TOML; a long list is left to the command."""
    if setting.default is None:
        return ""
    text = to_toml(setting.default)
    if len(text) > _LONG and not isinstance(setting.default, str):
        return f"{len(setting.default)} entries"
    return f"`{text}`"
