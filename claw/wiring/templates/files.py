"""Where templates lie: names, loading, listing, saving."""

import json
import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from claw.config.parse import MOST_BYTES, decode_text, read_file
from claw.config.places import Places
from claw.core.errors import (
    ConfigError,
    DeniedError,
    NotFoundError,
    RefusedError,
    UsageError,
)
from claw.core.registry import nearest
from claw.core.value import replace
from claw.wiring.templates.head import parse_template
from claw.wiring.templates.template import Template

SHIPPED = Path(__file__).with_name("shipped")
_SUFFIX = ".md"
_MOST_BYTES = 200  # a file system takes 255, with the names of drafts


class Found(NamedTuple):
    """A template of the list: `template` None where it can't be read, for
    `problem`."""

    name: str
    path: Path
    template: Template | None
    problem: ConfigError | None

    @property
    def is_shipped(self) -> bool:
        return self.path.parent == SHIPPED


def own_folder(places: Places) -> Path:
    """Where the owner's lie."""
    return places.home / "templates"


def own_path(places: Places, name: str) -> Path:
    """Where the owner's template of this name is, or would be."""
    return own_folder(places) / (check_name(name) + _SUFFIX)


def check_name(name: str) -> str:
    """The name of a template as it is kept. Raises UsageError."""
    name = unicodedata.normalize("NFC", name)
    problem = ""
    if not name.strip() or name != name.strip():
        problem = "is blank at one end" if name.strip() else "is empty"
    elif "/" in name or name[0] in ".-":
        problem = "is no plain name"
    elif not name.isprintable():
        problem = "holds invisible characters"
    elif len(name.encode()) > _MOST_BYTES:
        problem = f"is longer than {_MOST_BYTES} bytes"
    if problem:
        raise UsageError(f"the template's name {name[:80]!r} {problem}",
                         hint="a name is one word, as in: commit")
    return name


def find_template(places: Places, name: str) -> Path:
    """The file of a template. A name with a / in it is a file. Raises
    NotFoundError, with the nearest name."""
    if "/" in name:
        path = Path(name).expanduser()
        if path.exists():
            return path
        raise NotFoundError(f"no such template: {name}")
    name = check_name(name)
    for folder in (own_folder(places), SHIPPED):
        path = folder / (name + _SUFFIX)
        if os.path.lexists(path):
            return path
    near = nearest(name, _names(places))
    raise NotFoundError(
        f"no such template: {name}",
        hint=f'did you mean "{near}"?' if near
        else f"a file is named by its path: ./{name}" if Path(name).exists()
        else "see: claw template list")


def load_template(places: Places, name: str) -> Template:
    """The template of this name, the owner's before claw's own; a name
    with a / in it is a file. Raises NotFoundError, ConfigError with file
    and line for what is wrong in it, and UsageError for the file of
    somebody else that is a link to somewhere else."""
    path = find_template(places, name)
    if is_own(places, path):
        return read_template(path)
    return read_template(path, _read_beneath(path))


def is_own(places: Places, path: Path) -> bool:
    """Whether a template's file lies with the owner's, or with claw's: what
    it says of provider, model, tools and options is the owner's word."""
    return os.path.realpath(path.parent) in (
        os.path.realpath(own_folder(places)), os.path.realpath(SHIPPED))


def _read_beneath(path: Path) -> bytes:
    """The bytes of a file, out of whose folder (that one works in, for a
    path that goes down from there) no link leads: a folder from elsewhere
    must not make a prompt of the owner's files."""
    from claw.security.files import beneath
    goes_down = not path.is_absolute() and ".." not in path.parts
    root = Path() if goes_down else path.parent
    try:
        return beneath.read(root, str(path if goes_down else path.name),
                            lambda _: True, MOST_BYTES)
    except DeniedError as error:
        raise UsageError(
            f"template {path} is a link that leads out of its folder",
            hint="name the file itself: "
                 f"{os.path.realpath(path)}") from error


def read_template(path: Path, data: bytes | None = None) -> Template:
    """The template in a file, or in its bytes."""
    text = decode_text(read_file(path)[0] if data is None else data, path)
    template = parse_template(text, path.name.removesuffix(_SUFFIX), path)
    if template.short_schema is not None \
            and template.short_schema.endswith(".json"):
        return replace(template, short_schema=None,
                       schema=_read_schema(path, template.short_schema))
    return template


def list_templates(places: Places) -> Iterator[Found]:
    """All there are by name; a broken one has its problem."""
    for name, path in sorted(_names(places).items()):
        try:
            yield Found(name, path, read_template(path), None)
        except ConfigError as error:
            yield Found(name, path, None, error)


def save_template(places: Places, name: str, data: bytes, *,
                  force: bool = False, was: bytes | None = None) -> Path:
    """Keep a file's bytes as the owner's template of this name; where it
    is.

    Raises ConfigError for what is no template, StorageError, and
    RefusedError where another one stands there: not with `force`, and not
    for the one that `was` there.
    """
    from claw.config.store import lock_settings
    from claw.config.write import write_file
    name = check_name(name)
    path = own_path(places, name)
    parse_template(decode_text(data, path), name, path)
    with lock_settings(places):
        if not force and os.path.lexists(path) and (
                was is None or read_file(path)[0] != was):
            raise RefusedError(f"there is a template {name} already",
                               hint="replace it with --force, or choose "
                                    "another name")
        write_file(Path(os.path.realpath(path)), data)
    return path


def remove_template(places: Places, name: str) -> Path:
    """Remove the owner's template of this name; where it was. Raises
    NotFoundError, with the nearest name, and RefusedError for one of
    claw's own."""
    path = own_path(places, name)
    try:
        path.unlink()
    except FileNotFoundError:
        find_template(places, check_name(name))  # NotFoundError
        raise RefusedError(
            f"{name} is claw's own and stays",
            hint=f"make it yours with: claw template edit {name}") from None
    return path


def _names(places: Places) -> dict[str, Path]:
    """Name -> file, the owner's in place of claw's own."""
    found: dict[str, Path] = {}
    for folder in (SHIPPED, own_folder(places)):
        try:
            entries = os.listdir(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ConfigError(f"{folder}: cannot be read: {error.strerror}",
                              hint=f"look at: ls -ld '{folder}'") from error
        for entry in entries:
            if entry.endswith(_SUFFIX) and entry[0] != ".":
                found[entry.removesuffix(_SUFFIX)] = folder / entry
    return found


def _read_schema(template: Path, name: str) -> dict[str, Any]:
    """The JSON Schema in a file beside a template. A template of a folder
    from elsewhere must not name the owner's files."""
    path = template.parent / name
    inside = (Path(os.path.realpath(template.parent)),
              Path(os.path.realpath(template)).parent)
    if not any(map(Path(os.path.realpath(path)).is_relative_to, inside)):
        raise ConfigError(f"{template}: schema: {name} does not lie beside "
                          "the template")
    try:
        schema = json.loads(decode_text(read_file(path)[0], path))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: no JSON: {error}") from error
    if not isinstance(schema, dict):
        raise ConfigError(f"{path}: a JSON Schema is an object",
                          hint='for example {"type": "object"}')
    return schema
