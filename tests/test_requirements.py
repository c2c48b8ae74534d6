"""What CI and a reproducible install take is pinned, with hashes, and names
no host."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
_PINNED = re.compile(r"[a-z0-9][a-z0-9._-]*==[\w.+!-]+"
                     r"(?: ;[^\\]+)?(?: --hash=sha256:[0-9a-f]{64})+")


def read_pins(name):
    """The lines of a file, those that go on joined."""
    text = (ROOT / f"requirements/{name}.txt").read_text()
    return re.sub(r" *\\\n +", " ", text).splitlines()


def names(requirements):
    found = {re.sub("[._]", "-", re.split(r"[^\w.-]", text)[0].lower())
             for text in requirements}
    return found - {"claw"}  # extras of its own


@pytest.mark.parametrize(("name", "wanted"), [
    ("run", []),
    ("postgres", EXTRAS["postgres"]),
    ("test", EXTRAS["test"]),
    ("dev", [*EXTRAS["test"], *EXTRAS["postgres"], "ruff", "mypy"]),
    ("build", ["setuptools"]),
])
def test_everything_is_pinned_with_hashes(name, wanted):
    pins = read_pins(name)
    if name != "build":
        wanted = [*wanted, *PROJECT["dependencies"]]

    assert [pin for pin in pins if not _PINNED.fullmatch(pin)] == []
    assert names(wanted) <= names(pins)


@pytest.mark.parametrize("name", ["run", "postgres", "test"])
def test_what_is_installed_is_what_was_tested(name):
    assert set(read_pins(name)) <= set(read_pins("dev"))


@pytest.mark.parametrize("name", sorted(
    path.name for path in (ROOT / "claw/channels").iterdir()
    if path.name in EXTRAS))
def test_the_extra_of_a_channel_brings_only_what_it_imports(name):
    sources = "\n".join(path.read_text() for path in sorted(
        (ROOT / "claw/channels" / name).glob("*.py")))
    modules = [found.removeprefix(f"{name}-")
               for found in names(EXTRAS[name])]

    assert [module for module in modules if not re.search(
        rf"(?:import|from) {module}\b", sources)] == []
