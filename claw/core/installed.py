"""How claw was installed, to say how to add to it. The name `claw` on the
package index belongs to another project: it is never named alone.

Source: the direct_url.json that installers leave (PEP 610).
"""

import importlib
import importlib.util
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


def install_command(extra: str = "") -> str:
    """The command that installs claw again where it runs, newest, with an
    extra; a sentence where it can't be told."""
    wanted = f"[{extra}]" if extra else ""
    source = _find_source()
    if source is None:
        part = f' with its extra "{extra}"' if extra else ""
        return f"install claw{part} again the way it was installed"
    name = f"claw{wanted} @ {source}" if "+" in source else \
        f"{source}{wanted}"
    return f"{_installer()} {shlex.quote(name)}"


def package_command(package: str) -> str:
    """The command that installs another package beside claw."""
    return f"{_installer()} {shlex.quote(package)}"


def list_missing(extra: str) -> list[str]:
    """The packages of one of claw's extras that are not installed; none
    where there is no such extra, or claw was not installed at all."""
    metadata = importlib.import_module("importlib.metadata")
    missing = []
    for distribution in metadata.distributions(name="claw"):
        for line in distribution.requires or ():
            found = re.match(r"([\w.-]+).*;.*\bextra\s*==\s*[\"']([\w.-]+)",
                             line)
            if found and found[2] == extra and not any(
                    True for _ in metadata.distributions(name=found[1])):
                missing.append(found[1])
    return list(dict.fromkeys(missing))


def _installer() -> str:
    python = shlex.quote(sys.executable or "python3")
    if importlib.util.find_spec("pip"):
        return f"{python} -m pip install"
    return f"uv pip install --python {python}"


def _find_source() -> str | None:
    """The folder or the repository that claw came from."""
    found = _read_direct_url()
    url = str(found.get("url") or "")
    if "vcs_info" in found:
        return f"{found['vcs_info'].get('vcs', 'git')}+{url}"
    path = unquote(urlsplit(url).path) if url.startswith("file://") else ""
    return path if path and Path(path).exists() else None


def _read_direct_url() -> dict[str, Any]:
    """What the installer left; {} for a claw from an index, or where a
    folder of sources stands before it."""
    metadata = importlib.import_module("importlib.metadata")
    for found in metadata.distributions(name="claw"):
        try:
            record = json.loads(found.read_text("direct_url.json") or "{}")
        except ValueError:
            continue
        if isinstance(record, dict) and record:
            return record
    return {}
