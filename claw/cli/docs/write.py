"""Write the generated files of a checkout: man/, completions/, the tables
of docs/, and the settings that a Tab completes.

    python -m claw.cli.docs           writes what is not current
    python -m claw.cli.docs --check   exits 1 when something is not current
"""

import re
import sys
from pathlib import Path

from claw.cli.docs.actions import format_settings
from claw.cli.docs.catalog import catalog
from claw.cli.docs.channels import (
    ability_table,
    channel_links,
    channel_pages,
    channel_table,
)
from claw.cli.docs.completions import SHELLS, script
from claw.cli.docs.manual import (
    command_table,
    exit_table,
    pages,
    settings_table,
)
from claw.cli.docs.tools import tools_table

_FILE_NAMES = {"bash": "claw.bash", "zsh": "_claw", "fish": "claw.fish"}
_OWN_FOLDERS = (("man", "*.1"), ("docs/channels", "*.md"))


def generate_files(root: Path) -> dict[Path, str]:
    """Path -> text of every generated file of the checkout at `root`."""
    commands = catalog()
    files = {root / "completions" / _FILE_NAMES[shell]:
             script(shell, commands) for shell in SHELLS}
    files |= {root / "man" / name: text
              for name, text in pages(commands).items()}
    files[root / "claw/cli/complete/settings.txt"] = format_settings()
    files |= {root / "docs/channels" / name: text
              for name, text in channel_pages(root).items()}
    for name, tables in {
            "README.md": {"channels": channel_links()},
            "docs/channels/README.md": {"channels": channel_table(),
                                        "abilities": ability_table()},
            "docs/commands.md": {"commands": command_table(commands),
                                 "exit codes": exit_table()},
            "docs/settings.md": {"settings": settings_table()},
            "docs/tools.md": {"tools": tools_table()}}.items():
        page = root / name
        files[page] = page.read_text(encoding="utf-8")
        for mark, table in tables.items():
            files[page] = _replace_between(files[page], mark, table)
    return files


def _replace_between(text: str, name: str, table: str) -> str:
    """Text with the part between the two marks replaced."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    pattern = re.compile(re.escape(start) + ".*?" + re.escape(end), re.S)
    return pattern.sub(lambda _: f"{start}\n{table}\n{end}", text)


def find_stale(root: Path) -> list[Path]:
    """Generated files that differ from what the code says, and pages of
    commands and channels that are gone."""
    files = generate_files(root)
    changed = [path for path, text in files.items()
               if not path.is_file()
               or path.read_text(encoding="utf-8") != text]
    extra = [path for folder, mask in _OWN_FOLDERS
             for path in (root / folder).glob(mask) if path not in files]
    return changed + extra


def main() -> int:
    root = Path(__file__).resolve().parents[3]
    old = find_stale(root)
    checks = "--check" in sys.argv
    for path in old:
        sys.stderr.write(("not current: " if checks else "written: ")
                         + f"{path.relative_to(root)}\n")
    if checks:
        return 1 if old else 0
    files = generate_files(root)
    for path in old:
        if path in files:
            path.parent.mkdir(exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
        else:
            path.unlink()
    return 0

