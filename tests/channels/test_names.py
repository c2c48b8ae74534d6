"""A platform is known to its folder, its row and its tests, and to nobody
else: adding one touches nothing beside."""

import ast
import re
from pathlib import Path

from claw.channels import REGISTRY
from claw.config.reference_keys import REFERENCE

ROOT = Path(__file__).resolve().parents[2] / "claw"

# Words of the language as well as names of platforms.
GENERIC = {"cli", "webhook", "email", "signal", "slack", "line"}

# Where a platform may be named, and why.
ALLOWED = {
    "channels/__init__.py": "its row",
    "config/known.py": "data: other spellings of their keys",
    "config/reference_keys.py": "data: the tables of platforms that claw "
                                "lacks, known so that they are silent",
}
# Fakes of platforms, and proofs that drive them; what other agents call
# their tables, which claw migrate reads.
FOLDERS = ("testing/", "wiring/setup/migrate/agents/")


def platforms():
    unbuilt = re.findall(r"^channels_config\.(\w+):", REFERENCE,
                         re.MULTILINE)
    return {*REGISTRY.names(), *unbuilt} - GENERIC


def names_of_folders():
    """The platforms that each folder of channels/ makes."""
    found = {}
    for name in REGISTRY.names():
        folder = REGISTRY.load(name).__module__.split(".")[2]
        found.setdefault(folder, set()).add(name)
    return found


def shown_lines(tree):
    """Lines of what people read as an example: `@examples(...)`, and the
    `help=` of a command's option."""
    for node in ast.walk(tree):
        is_example = (isinstance(node, ast.Call)
                      and isinstance(node.func, ast.Name)
                      and node.func.id == "examples")
        if is_example or (isinstance(node, ast.keyword)
                          and node.arg == "help"):
            yield from range(node.lineno, node.end_lineno + 1)


OWN = names_of_folders()


def named_in(path, word):
    """Lines of a file that name a platform where they must not."""
    place = path.relative_to(ROOT).as_posix()
    if place in ALLOWED or place.startswith(FOLDERS):
        return []
    text = path.read_text("utf-8")
    if not word.search(text):
        return []
    shown = (set(shown_lines(ast.parse(text)))
             if place.startswith("cli/") else set())
    own = re.match(r"channels/(\w+)/", place)
    return [f"{place}:{number}: {found[0]}"
            for number, line in enumerate(text.splitlines(), 1)
            if number not in shown for found in word.finditer(line)
            if not (own and found[0].lower() in OWN[own[1]])]


def test_no_platform_is_named_outside_its_folder():
    word = re.compile(r"(?<![a-z])(" + "|".join(sorted(platforms()))
                      + ")(?![a-z])", re.IGNORECASE)

    assert {"telegram", "discord"} <= platforms()
    assert [line for path in sorted(ROOT.rglob("*.py"))
            for line in named_in(path, word)] == []


def test_what_is_allowed_is_needed():
    word = re.compile("|".join(sorted(platforms())), re.IGNORECASE)

    for place in ALLOWED:
        assert word.search((ROOT / place).read_text("utf-8")), place
