"""What a skill says of itself: SKILL.md, or the reference's SKILL.toml.

The folder gives the name. What else is said is checked against the limits
of the format; keys that it does not know are ignored, as it asks for.
Source: agentskills.io/specification, read 2026-11.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from claw.core.errors import RefusedError
from claw.core.value import Value, made
from claw.tools.skills.folder import Files
from claw.tools.skills.front_matter import (
    FrontMatterError,
    split_front_matter,
)

SKILL_MD, SKILL_TOML = "SKILL.md", "SKILL.toml"
NAME = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:[-_][a-z0-9]+)*\Z")
_DESCRIPTION_CHARS = 1_024
_COMPATIBILITY_CHARS = 500
_MANIFEST_BYTES = 512 << 10
SCRIPTS = "scripts/"


class Manifest(Value):
    """A skill's own words; `body` is the text for the model."""

    name: str
    description: str
    body: str = ""
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = made(factory=dict)
    allowed_tools: str = ""


def read_manifest(files: Files, folder: str) -> Manifest:
    """The manifest of the skill in these files. Raises RefusedError for
    one that can't be used."""
    if not NAME.match(folder):
        raise RefusedError(
            f"{folder!r:.80} is no name of a skill",
            hint="1 to 64 of a-z, 0-9 and - between them")
    is_toml = SKILL_TOML in files
    if not is_toml and SKILL_MD not in files:
        raise RefusedError(f"{folder} has no {SKILL_MD}")
    head, body = _read_toml(files) if is_toml else _read_markdown(files)
    name = _read_text(head, "name", folder if is_toml else "")
    if name != folder:
        raise RefusedError(
            f"the skill in {folder} calls itself {name!r:.80}",
            hint="folder and name must be the same")
    description = _read_text(head, "description")
    if not description and body:  # the reference's own habit
        description = " ".join(
            re.sub(r"(?m)^#.*$", "", body).strip().partition("\n\n")[0]
            .split())[:_DESCRIPTION_CHARS]
    if not description:
        raise RefusedError(f"{folder} has no description")
    if len(description) > _DESCRIPTION_CHARS:
        raise RefusedError(f"the description of {folder} has more than "
                           f"{_DESCRIPTION_CHARS} characters")
    metadata = head.get("metadata", {})
    allowed = head.get("allowed-tools", "")
    return Manifest(
        name, description, body, _read_text(head, "license"),
        _read_text(head, "compatibility")[:_COMPATIBILITY_CHARS],
        {key: str(value) for key, value in metadata.items()}
        if isinstance(metadata, dict) else {},
        " ".join(map(str, allowed)) if isinstance(allowed, list)
        else str(allowed))


def list_scripts(files: Mapping[str, object]) -> list[str]:
    """The files that can be run."""
    return [name for name in files if name.startswith(SCRIPTS)]


def _decode(files: Files, name: str) -> str:
    if len(files[name]) > _MANIFEST_BYTES:
        raise RefusedError(f"{name} has more than {_MANIFEST_BYTES >> 10} "
                           "KiB")
    try:
        return files[name].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RefusedError(f"{name} is no UTF-8 text") from error


def _read_markdown(files: Files) -> tuple[Mapping[str, Any], str]:
    try:
        return split_front_matter(_decode(files, SKILL_MD))
    except FrontMatterError as error:
        raise RefusedError(f"{SKILL_MD}: {error}", hint="see: "
                           "agentskills.io/specification") from error


def _read_toml(files: Files) -> tuple[Mapping[str, Any], str]:
    try:
        raw = tomllib.loads(_decode(files, SKILL_TOML))
    except (ValueError, RecursionError) as error:  # numbers of any length
        raise RefusedError(f"{SKILL_TOML}: {error}") from error
    head, prompts, tools = (
        raw.get("skill"), raw.get("prompts", []), raw.get("tools", []))
    if not isinstance(head, dict) or not isinstance(prompts, list) \
            or not isinstance(tools, list):
        raise RefusedError(f"{SKILL_TOML} has no table [skill], or prompts "
                           "or tools that are no lists")
    texts = [text for text in prompts if isinstance(text, str)]
    if SKILL_MD in files:
        text = _decode(files, SKILL_MD)
        try:
            texts.append(split_front_matter(text)[1])
        except FrontMatterError:  # it needs none beside a SKILL.toml
            texts.append(text)
    for tool in tools:
        if isinstance(tool, dict):
            texts.append(f"{tool.get('name')}: {tool.get('description')} "
                         f"(command: {tool.get('command')})")
    return head, "\n\n".join(texts).strip() + "\n"


def _read_text(head: Mapping[str, Any], key: str, default: str = "") -> str:
    value = head.get(key, default)
    if not isinstance(value, str):
        raise RefusedError(f"{key} of a skill is a text, and no "
                           f"{type(value).__name__}")
    return value.strip()
