"""One change to the text of config.toml, made with tomlkit.

Comments, order, line ends and a byte order mark stay as they are. Before
a draft is saved its text is read back and must say what was meant.
"""

import copy
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, InlineTable, Table

from claw.config.display import to_toml
from claw.config.keys import Path
from claw.config.known import ALIASES, is_array
from claw.config.nodes import drop, find, put
from claw.config.parse import decode_text, parse, parse_config
from claw.config.places import Places
from claw.config.tree import Tree
from claw.config.trial import try_out
from claw.core.errors import ConfigError, FaultError, UsageError

_BOM = b"\xef\xbb\xbf"


class Draft:
    """The text as it will be. Make and save it while `lock_settings`.

    The file is read once: `before` is what stood there. `tree` holds the
    settings of the text as it is, the file alone, without environment.
    `data` begins with another text than the file's. ConfigError for a text
    that is no TOML.
    """

    def __init__(self, places: Places, before: bytes | None,
                 data: bytes | None = None) -> None:
        self.places = places
        self._before = before
        self._old = (before if data is None else data) or b""
        file = places.config_file
        if data is None:
            raw, text = parse_config(self._old, file)
        else:
            text = decode_text(data, file)
            raw = parse(text, str(file))
        self._crlf = "\r\n" in text
        text = text.replace("\r\n", "\n")
        self.tree = Tree(places, raw, text)
        self._text = text
        self._changed = data is not None
        self._meant = copy.deepcopy(self.tree.raw)

    def set(self, path: Path, value: Any) -> None:
        """Put a value there, making the tables around it."""
        self.set_all([(path, value)])

    def set_all(self, values: Iterable[tuple[Path, Any]]) -> None:
        """Put each value there, the text read but once."""
        items = []
        for path, value in values:
            put(self._meant, path, value)
            items.append((self.tree.spelling(path), _build_item(value)))

        def put_all(document: Any) -> None:
            for spelled, item in items:
                _set(document, spelled, item)
        self._edit(put_all)

    def unset(self, path: Path) -> None:
        """Remove what stands there, and the tables that it leaves with
        nothing in them, not even a comment."""
        drop(self._meant, path)
        others = [(*table, other) for table, other, real in ALIASES
                  if (*table, real) == path]

        def remove(document: Any) -> None:
            for spelling in (path, *others):
                with suppress(LookupError):  # not spelled so
                    drop(document, spelling)
            for size in range(len(path) - 1, 0, -1):
                with suppress(LookupError):
                    if not _is_bare(find(document, path[:size])):
                        break
                    drop(document, path[:size])
                    drop(self._meant, path[:size])
        self._edit(remove)

    def save(self) -> None:
        """Write it, if anything changed."""
        if self._changed:
            with try_out(self.places, self.render(), self._before):
                pass

    def render(self) -> bytes:
        """The bytes as they will stand in the file."""
        text = self._text.replace("\n", "\r\n") if self._crlf else self._text
        mark = _BOM if self._old.startswith(_BOM) else b""
        return mark + text.encode()

    def _edit(self, change: Any) -> None:
        try:
            document = tomlkit.parse(self._text)
            change(document)
            text = self._space_headers(tomlkit.dumps(document))
            after = Tree(self.places, parse(text, "the new text"), text)
        except (ConfigError, TOMLKitError, TypeError, AttributeError,
                LookupError) as error:
            raise self._build_error() from error
        if not _same(after.raw, self._meant):
            raise self._build_error()
        self.tree = after
        self._changed = self._changed or text != self._text
        self._text = text

    def _space_headers(self, text: str) -> str:
        """The text with a blank line before each header that a change
        has pushed against the line above it."""
        old = self._text.split("\n")
        touching = {(a, b) for a, b in pairwise(old) if b[:1] == "["}
        lines = text.split("\n")
        spaced = lines[:1]
        for above, line in pairwise(lines):
            if line[:1] == "[" and above.strip() and above[:1] != "#" \
                    and (above, line) not in touching:
                spaced.append("")
            spaced.append(line)
        joined = "\n".join(spaced)
        same = parse(joined, "the new text") == parse(text, "the new text")
        return joined if same else text

    def _build_error(self) -> FaultError:
        return FaultError(
            f"{self.places.config_file} is written in a way that cannot be "
            "changed automatically; nothing was written",
            hint="change it by hand: claw config edit")


def _same(one: Any, other: Any) -> bool:
    """Equal, where an empty table counts like none (a dotted key takes
    its table along) and nan equals nan."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_same(one.get(key, {}), other.get(key, {}))
                   for key in {*one, *other})
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and (
        one == other or (one != one and other != other))


def _build_item(value: Any) -> Any:
    try:
        return tomlkit.parse(f"v = {to_toml(value)}\n")["v"]
    except ValueError as error:
        raise UsageError(f"the value cannot be written: {error}") from error


def _set(document: Any, path: Path, item: Any) -> None:
    node = document
    for depth in range(1, len(path)):
        node = _step(node, path[:depth])
    last = path[-1]
    if isinstance(node, AoT) and isinstance(item, InlineTable):
        table = tomlkit.table()
        table.update(item.unwrap())
        item = table
    if isinstance(node, list) and int(last) == len(node):
        node.append(item)
    else:
        node[int(last) if isinstance(node, list) else last] = item


def _step(node: Any, path: Path) -> Any:
    """The table or array at the end of this path, made if missing."""
    part = path[-1]
    if isinstance(node, list):
        if int(part) == len(node):
            node.append(tomlkit.table() if isinstance(node, AoT)
                        else tomlkit.inline_table())
        return node[int(part)]
    if part not in node:
        inline = isinstance(node, InlineTable | Array)
        if is_array(path):
            node[part] = tomlkit.array() if inline else tomlkit.aot()
        else:
            node[part] = tomlkit.inline_table() if inline else tomlkit.table()
    return node[part]


def _is_bare(node: Any) -> bool:
    """Whether a table of the file is a heading alone."""
    return isinstance(node, Table) and not node \
        and not node.as_string().strip()
