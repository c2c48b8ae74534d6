"""claw __complete SHELL KIND CURRENT [BREAKS] -- WORDS...

SHELL is bash, zsh or fish, or bash-list where values are shown and none goes
onto the line. CURRENT is the word under the cursor up to it,
WORDS those before it. From bash both come as they are typed, with the
shell's quotes, from fish CURRENT does. BREAKS is COMP_WORDBREAKS.
"""

import sys
from collections.abc import Callable, Iterator, Sequence

from claw.cli.complete import asking, quoting, values
from claw.cli.complete.line import Line
from claw.core.errors import ClawError

_MOST = 1000
_NAMELESS = ("entry", "job")  # ids, which say nothing by themselves

KINDS: dict[str, Callable[[Line], Iterator[quoting.Row]]] = {
    "alias": values.list_aliases,
    "category": values.list_categories,
    "channel": values.list_channels,
    "config-key": values.list_config_keys,
    "config-value": values.list_config_values,
    "document": values.list_documents,
    "entry": asking.list_entries,
    "job": asking.list_jobs,
    "mcp-server": values.list_mcp_servers,
    "memory-key": values.list_memory_keys,
    "model": values.list_models,
    "parameter": asking.list_parameters,
    "provider": values.list_providers,
    "scheduled": asking.list_scheduled,
    "session": values.list_sessions,
    "skill": values.list_skills,
    "target": values.list_targets,
    "template": asking.list_templates,
    "tool": values.list_tools,
    "tools": values.list_several_tools,
    "zone": values.list_zones,
}


def main(arguments: Sequence[str]) -> int:
    """Print the values. What can't be read has none, and nothing is said:
    it would stand in the middle of the line that is typed."""
    how, kind, *rest = arguments
    shell = how.removesuffix("-list")
    mark = rest.index("--", 1)
    current, words = rest[0], rest[mark + 1:]
    line = Line([quoting.unquote(word) for word in words]
                if shell == "bash" else words,
                current if shell == "zsh" else quoting.unquote(current))
    option, mark_at, value = line.prefix.partition("=")
    glued = option + mark_at if option.startswith("--") and mark_at else ""
    line.prefix = value if glued else line.prefix
    rows: dict[str, str] = {}
    try:
        for name, meaning in quoting.leave_out_unfit(
                KINDS[kind](line), line.prefix):
            rows.setdefault(glued + name, meaning)
            if len(rows) >= _MOST:
                break
    except (ClawError, OSError, ValueError):
        rows.clear()
    found = list(rows.items())
    lists = how != shell and kind in _NAMELESS and len(found) > 1
    text = (quoting.to_bash(found, current, rest[1], described=lists)
            if shell == "bash"
            else quoting.to_zsh(found) if shell == "zsh"
            else quoting.to_fish(found))
    sys.stdout.buffer.write(text.encode())
    return 0
