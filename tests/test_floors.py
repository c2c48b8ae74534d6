"""Who may import whom: the table of the house, and no cycles."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1] / "claw"

FLOOR = {
    "core": 0,
    "text": 1, "config": 1, "security": 1, "storage": 1, "net": 1,
    "providers": 2, "speech": 2, "memory": 2, "channels": 2, "tools": 2,
    "agent": 3, "testing": 3,
    "runtime": 4, "gateway": 4, "cron": 4,
    "wiring": 5,
    "cli": 6,
}

# The same within claw.providers, by folder or module: from the settings up
# to what builds and checks. Wires never meet; what they share is in wire/.
PROVIDERS = {
    "": 0, "settings": 0, "schema": 0,
    "catalog": 1,
    "connection": 2,
    "wire": 3,
    "anthropic": 4, "gemini": 4, "ollama": 4, "openai": 4, "offline": 4,
    "cost": 5, "resilience": 5,
    "check": 6, "factory": 6,
}

# Packages of the same floor that may meet, and why.
NEIGHBOURS: dict[tuple[str, str], str] = {
    ("storage", "security"): "its files are opened without links",
    ("storage", "text"): "the log's words are those of memory's search",
    ("text", "security"): "documents are opened without links, and read in a "
                          "process that is confined",
    ("config", "security"): "the same, where settings lie in a workspace",
}

# The sandbox launcher: runs by itself, without claw on its path.
STANDALONE = "claw.security.confine"

# Top-level modules of the package that everyone may import.
ROOF = {"claw", "claw.version"}


@cache
def modules() -> dict[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        name = "claw." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


class Module(NamedTuple):
    """What is read of a file once."""

    says: bool
    at_top: set[str]
    anywhere: set[str]


@cache
def read(name: str) -> Module:
    text = modules()[name].read_text(encoding="utf-8")
    tree = ast.parse(text)
    return Module(not text or bool(ast.get_docstring(tree)),
                  find_imports(name, tree.body),
                  find_imports(name, ast.walk(tree)))


def find_imports(name: str, nodes: Iterable[ast.AST]) -> set[str]:
    """Modules of claw that this one imports."""
    known = modules()
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                assert name.startswith(STANDALONE), "relative import"
                base = f"{STANDALONE}.{base}".rstrip(".")
            found |= {f"{base}.{alias.name}" if f"{base}.{alias.name}"
                      in known else base for alias in node.names}
    return {module for module in found if module.split(".")[0] == "claw"}


@pytest.mark.parametrize("name", sorted(
    name for name in modules() if name.startswith("claw.providers.")))
def test_provider_module_imports_only_floors_below(name):
    here = name.split(".")[2]
    wrong = []
    for module in read(name).anywhere:
        if package(module) != "providers":
            continue
        there = [*module.split("."), ""][2]
        below = PROVIDERS[there] < PROVIDERS[here]
        if there != here and not below:
            wrong.append(module)

    assert wrong == []


def package(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@pytest.mark.each("name", sorted(modules()))
def test_module_imports_only_floors_below(name):
    here = package(name)
    if name in ROOF or here == "__main__":
        return

    wrong = []
    for module in read(name).anywhere:
        there = package(module)
        if module in ROOF or there == here:
            continue
        below = FLOOR[there] < FLOOR[here]
        if not below and (here, there) not in NEIGHBOURS:
            wrong.append(module)

    assert wrong == []


# Floors inside memory: a module imports what lies on floors below, or its
# own folder; a backend no other one.
MEMORY_FLOOR = {
    "settings": 0, "times": 0, "policy": 0, "lean_numpy": 0,
    "maintenance": 0,
    "search": 1,
    "embeddings": 2,
    "snapshot": 3,
    "sqlite": 4, "postgres": 4, "markdown": 4, "lucid": 4, "none": 4,
    "hygiene": 5, "importers": 5, "documents": 5,
    "forgetting": 6,
}
MEMORY_NEIGHBOURS = {
    ("policy", "settings"): "its table",
    ("lucid", "sqlite"): "it is that backend with a bridge to a command",
}


def test_memory_has_floors_of_its_own():
    wrong = []
    for name in modules():
        if not name.startswith("claw.memory."):
            continue
        here = name.split(".")[2]
        for module in read(name).anywhere:
            if not module.startswith("claw.memory."):
                continue
            there = module.split(".")[2]
            if there != here and (here, there) not in MEMORY_NEIGHBOURS \
                    and MEMORY_FLOOR[there] >= MEMORY_FLOOR[here]:
                wrong.append((name, module))

    assert wrong == []


def test_no_import_cycles():
    graph = {name: read(name).at_top - {name} for name in modules()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path, name))
        if name in done:
            return
        for target in graph.get(name, ()):
            visit(target, (*path, name))
        done.add(name)

    for name in graph:
        visit(name, ())


def test_every_module_says_what_it_does():
    assert [name for name in modules() if not read(name).says] == []
