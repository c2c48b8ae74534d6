"""Write the generated files of a checkout: man/, completions/, README.

    python -m claw.cli.docs           writes what is not current
    python -m claw.cli.docs --check   exits 1 when something is not current
"""

import re
import sys
from pathlib import Path

from claw.cli.catalog import catalog
from claw.cli.completions import SHELLS, script
from claw.cli.manual import (
    command_table,
    exit_table,
    pages,
    settings_table,
)

_FILE_NAMES = {"bash": "claw.bash", "zsh": "_claw", "fish": "claw.fish"}


def generated(root: Path) -> dict[Path, str]:
    """Path -> text of every generated file of the checkout at `root`."""
    commands = catalog()
    files = {root / "completions" / _FILE_NAMES[shell]:
             script(shell, commands) for shell in SHELLS}
    files |= {root / "man" / name: text
              for name, text in pages(commands).items()}
    readme = root / "README.md"
    text = readme.read_text(encoding="utf-8")
    text = _between(text, "commands", command_table(commands))
    text = _between(text, "exit codes", exit_table())
    files[readme] = _between(text, "settings", settings_table())
    return files


def _between(text: str, name: str, table: str) -> str:
    """Text with the part between the two marks replaced."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    pattern = re.compile(re.escape(start) + ".*?" + re.escape(end), re.S)
    return pattern.sub(lambda _: f"{start}\n{table}\n{end}", text)


def stale(root: Path) -> list[Path]:
    """Generated files that differ from what the code says, and pages of
    commands that are gone."""
    files = generated(root)
    changed = [path for path, text in files.items()
               if not path.is_file()
               or path.read_text(encoding="utf-8") != text]
    extra = [path for path in (root / "man").glob("*.1")
             if path not in files]
    return changed + extra


def main() -> int:
    root = Path(__file__).resolve().parents[2]
    old = stale(root)
    for path in old:
        sys.stderr.write(f"not current: {path.relative_to(root)}\n")
    if "--check" in sys.argv:
        return 1 if old else 0
    files = generated(root)
    for path in old:
        if path in files:
            path.parent.mkdir(exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
