"""docs/channels/: a page for each channel, and the table of all."""

import tomllib
from pathlib import Path

from claw.channels import REGISTRY
from claw.cli.show.channel_page import write_page, write_table
from claw.wiring.channels.manual import ABILITIES, Manual, read_manual


def read_manuals() -> list[Manual]:
    """Those of claw's own channels that have a table of settings."""
    manuals = map(read_manual, REGISTRY.names())
    return [manual for manual in manuals if manual.is_listed]


def channel_pages(root: Path) -> dict[str, str]:
    """File name -> text."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]
    return {f"{manual.name}.md": write_page(
        manual, _tell_extra(manual) if extras.get(manual.name) else "")
        for manual in read_manuals()}


def _tell_extra(manual: Manual) -> str:
    use = f"For {manual.extra_for} it" if manual.extra_for else "It"
    return (f"{use} needs libraries of its own: `pip install "
            f"'.[{manual.name}]'`.")


def channel_table() -> str:
    """What each platform can do."""
    return write_table(("channel", *ABILITIES), (
        (f"[{manual.name}]({manual.name}.md)", *manual.abilities().values())
        for manual in read_manuals()))


def ability_table() -> str:
    """What the heads of that table mean."""
    return write_table(("", "the platform can"), ABILITIES.items())


def channel_links() -> str:
    """The channels in a line, each a link to its page."""
    return ", ".join(f"[{manual.name}](docs/channels/{manual.name}.md)"
                     for manual in read_manuals())
