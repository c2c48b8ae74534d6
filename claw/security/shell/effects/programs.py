"""python, node and package managers: which calls only look.

What runs may come from the command line, a pipe or a file named elsewhere
(package.json, build.rs, sys.path); then nobody has seen it, and the call
is not known. A script that is named runs in the sandbox.
"""

from collections.abc import Sequence

from claw.security.shell.effects.options import NotListed, has_pattern, parse
from claw.security.shell.lexer import Word

# Options before a script's name.
_SCRIPTS = {"python": "-BEIOPRSbdqsuvW:",
            **dict.fromkeys(("node", "nodejs"),
                            "-c --check --no-warnings --trace-warnings "
                            "--enable-source-maps")}
_VERSIONS = frozenset(("--version", "-V", "-VV", "--help", "-h"))
# Modules of the standard library that print what they read. They lie
# behind the workspace on sys.path unless python is told -I or -P.
_MODULES = {  # options, operands at most
    "json.tool": ("--sort-keys --no-ensure-ascii --json-lines --indent: "
                  "--tab --no-indent --compact", 1),
    "calendar": ("-wlsmL: --type:", 2), "platform": ("", 1),
    "this": ("", 0), "site": ("--user-base --user-site", 0),
    "sysconfig": ("", 0), "tokenize": ("-e", 1)}
# Sub-commands that only look, with their options.
_LOOKS = {
    "npm": dict.fromkeys(
        ("ls", "list", "ll", "la", "explain", "why", "root", "prefix",
         "outdated", "view", "info", "show", "v", "query", "ping",
         "whoami"),
        "-lap --json --long --all --parseable --depth: --omit: --prod "
        "--production"),
    "pip": {
        "list": "-olue --outdated --uptodate --editable --local --user "
                "--not-required --format: --pre --include-editable "
                "--exclude-editable --exclude: --disable-pip-version-check",
        "show": "-fv --files --verbose --disable-pip-version-check",
        "freeze": "-l --local --user --all --exclude-editable --exclude: "
                  "--disable-pip-version-check",
        "check": "--disable-pip-version-check"},
    "cargo": {"version": "-v --verbose"},
}
_LOOKS["pip3"] = _LOOKS["pip"]
NAMES = frozenset((*_SCRIPTS, *_LOOKS))


def check(name: str, words: Sequence[Word]) -> bool:
    """Whether the call only reads; False where it runs a named script.
    Raises NotListed for all others."""
    if len(words) == 1 and words[0].text in (
            *_VERSIONS, *(("-v",) if name != "python" else ())):
        return True
    if name in _SCRIPTS:
        _script(name, words)
        return False
    _looks(name, words)
    return True


def _script(name: str, words: Sequence[Word]) -> None:
    line = _SCRIPTS[name]
    module = next((at for at, w in enumerate(words) if w.text == "-m"), None)
    if name == "python" and module is not None:
        parsed = parse(name, line, words[:module])
        if not parsed.operands:
            _module(words[module + 1:])
            return
    operands = parse(name, line, words, permute=False).operands
    if not operands or operands[0].text in ("-", "inspect", "debug"):
        raise NotListed(f"{name} runs what no file shows")


def _module(words: Sequence[Word]) -> None:
    module = words[0].text if words else ""
    if module == "pip":
        _looks("pip", words[1:])
        return
    if module not in _MODULES:
        raise NotListed(f"python -m {module[:40]} is not known to only print")
    name, (line, most) = f"python -m {module}", _MODULES[module]
    operands = parse(name, line, words[1:]).operands
    if len(operands) > most or any(map(has_pattern, operands)):
        raise NotListed(f"{name} with {len(operands)} files")


def _looks(name: str, words: Sequence[Word]) -> None:
    verb = words[0].text if words else ""
    table = _LOOKS[name].get(verb)
    if table is None:
        raise NotListed(f"{name} {verb[:40]} is not known to only read")
    parse(f"{name} {verb}", table, words[1:])
