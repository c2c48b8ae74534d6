"""The known keys: everything of the reference, everything of claw."""

import importlib
import importlib.util
import inspect
from pathlib import Path

import msgspec
import pytest

from claw.config.known import is_known, known_tables, names_below
from claw.config.unknown import unknown_paths
from claw.wiring.config.sections import SECTIONS, load_struct

FULL = (Path(__file__).parent / "reference.toml").read_text("utf-8")
WINGS = ("providers", "memory", "agent", "security", "tools", "channels",
         "speech")


def settings_structs():
    """(module, struct) of every room's settings module there is."""
    for wing in WINGS:
        name = f"claw.{wing}.settings"
        if importlib.util.find_spec(name) is None:
            continue
        module = importlib.import_module(name)
        for _, struct in inspect.getmembers(module, inspect.isclass):
            if issubclass(struct, msgspec.Struct) \
                    and struct.__module__ == name:
                yield struct


def all_names(tables):
    """Every name of a table or key, at any depth."""
    for name, below in tables.items():
        yield name
        yield from all_names(below)


def test_a_full_file_of_the_reference_loads_in_silence(tree_of):
    tree = tree_of(FULL)

    assert tree.warnings == []
    assert list(unknown_paths(tree.raw)) == []


@pytest.mark.each("struct", list(settings_structs()),
                         ids=lambda s: s.__name__)
def test_every_field_of_every_room_is_known(struct):
    known = set(all_names(known_tables()))
    fields = {f.encode_name for f in msgspec.structs.fields(struct)}

    assert fields - known == set()


@pytest.mark.parametrize("section", list(SECTIONS))
def test_a_documented_setting_was_called_an_unknown_key(section):
    """`claw config set log.enabled false` was warned of ever after."""
    path = tuple(filter(None, section.split(".")))
    names = [f.encode_name for f in msgspec.structs.fields(
        load_struct(section))]

    assert [name for name in names if not is_known((*path, name))] == []


@pytest.mark.parametrize(("path", "known"), [
    (("memory", "backend"), True),
    (("memory", "bakend"), False),
    (("memory", "backend", "x"), False),
    (("agents", "anything", "model"), True),
    (("agents", "anything", "modle"), False),
    (("extra_headers", "X"), True),
    (("cost", "prices", "gpt", "input"), True),
    (("model_routes", "7", "hint"), True),
    (("channels_config", "telegram"), True),
    (("channels_config", "telegrm"), False),
    (("tunnel", "ngrok", "a", "b", "c"), True),
    ((), True),
])
def test_known(path, known):
    assert is_known(path) is known


def test_names_below():
    assert names_below(("secrets",)) == ["encrypt"]
    assert "hint" in names_below(("model_routes", "0"))
    assert names_below(("nothing", "here")) == []


def test_unknown_paths_are_the_outermost():
    raw = {"memroy": {"a": 1}, "model_routes": [{"hnt": "x"}],
           "memory": {"backend": {"x": 1}}}

    assert list(unknown_paths(raw)) == [
        ("memroy",), ("model_routes", "0", "hnt"), ("memory", "backend", "x")]
