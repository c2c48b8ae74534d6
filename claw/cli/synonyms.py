"""What other tools call it: commands and options that people type first.

Nothing here is a command: the words are answered with the right one.
"""

from collections.abc import Collection, Iterable

from claw.core.registry import nearest

# A verb of other tools -> ours, the first that is there.
_VERBS = {
    **dict.fromkeys(("search", "find", "grep", "query", "lookup"),
                    "recall search list"),
    **dict.fromkeys(("add", "put", "create", "new", "write", "remember"),
                    "store set save add index"),
    **dict.fromkeys(("rm", "remove", "delete", "del", "drop", "erase"),
                    "forget unset clear rm remove purge"),
    **dict.fromkeys(("show", "cat", "view", "print", "read"), "get show"),
    **dict.fromkeys(("ls", "all", "dir"), "list"),
    **dict.fromkeys(("verify", "validate", "lint"), "check test"),
    **dict.fromkeys(("info", "status"), "stats show list"),
    **dict.fromkeys(("dump", "backup"), "export"),
    **dict.fromkeys(("load", "restore"), "import hydrate"),
    "resend": "retry",
    "exec": "run",
    "revert": "undo",
}

# A word where `claw` expects a command -> the whole command.
_COMMANDS = {
    **dict.fromkeys(("chat", "repl", "talk", "interactive"), "agent"),
    **dict.fromkeys(("run", "prompt", "complete", "generate", "query"),
                    "ask"),
    **dict.fromkeys(("shell", "sh", "cmd", "exec", "command"), "do"),
    **dict.fromkeys(("serve", "start", "daemon", "bot"), "listen"),
    **dict.fromkeys(("init", "setup", "configure", "settings"),
                    "onboard;config edit"),
    **dict.fromkeys(("usage", "spend", "bill", "tokens"), "cost"),
    **dict.fromkeys(("key", "keys", "login", "auth"),
                    "config set;provider list"),
    "models": "provider models",
    "model": "provider models",
    "check": "doctor",
    "explain": "why",
    "logs": "log list;session list",
    "history": "log list;session list",
    "message": "send",
    "reply": "send",
    "batch": "map",
}

# An option of other tools -> ours, the first that the command has.
_OPTIONS = {
    **dict.fromkeys(("--role", "--preset", "--persona", "--agent"),
                    "--template --system"),
    **dict.fromkeys(("--system-prompt", "--instructions"), "--system"),
    **dict.fromkeys(("--num", "--count", "--top", "--max-results",
                     "--number", "-k", "-l"), "--limit"),
    **dict.fromkeys(("--input", "--attach", "--attachment", "--image",
                     "--fragment", "-a", "-i"), "--file"),
    **dict.fromkeys(("--no-stream", "--nostream"), "--no-stream --json"),
    **dict.fromkeys(("--format", "--output-format"), "--json"),
    **dict.fromkeys(("--resume", "--cid", "--conversation"),
                    "--continue --session"),
    **dict.fromkeys(("--force", "--assume-yes", "--no-confirm", "-y"),
                    "--yes"),
    **dict.fromkeys(("--dir", "--cwd", "--directory", "-C"), "--workspace"),
    **dict.fromkeys(("--home", "--profile", "--config"), "--config-dir"),
    **dict.fromkeys(("--silent", "-s"), "--quiet"),
    **dict.fromkeys(("--debug", "--trace"), "--verbose"),
    **dict.fromkeys(("--max-length", "--tokens"), "--max-tokens"),
    **dict.fromkeys(("--budget", "--max-price"), "--max-cost"),
    **dict.fromkeys(("--code", "--extract-code"), "--extract"),
    **dict.fromkeys(("--schema-file", "--response-format"), "--schema"),
    **dict.fromkeys(("--functions", "--tool"), "--tools"),
    **dict.fromkeys(("--no-save", "--no-history"), "--no-log"),
    **dict.fromkeys(("--type", "--tag", "--kind"), "--category"),
    **dict.fromkeys(("--after", "--from"), "--since"),
    **dict.fromkeys(("--before", "--to"), "--until"),
    "--temp": "--temperature",
    "--vendor": "--provider",
}


def suggest_command(path: str, word: str, names: Iterable[str]) -> str | None:
    """The hint for a word that is no command. `path` is "claw" or
    "claw memory", `names` every command ("ask", "memory recall")."""
    names = list(names)
    group = path.partition(" ")[2]
    here = [name.removeprefix(group + " ") for name in names
            if name.startswith(group + " ")] if group else names
    if word == "help":
        return f'did you mean "claw help {group}"?'
    found = _find(word, group, here)
    if found is None:
        first = list(dict.fromkeys(name.split(" ")[0] for name in here))
        near = nearest(word, first)
        found = [near] if near else []
    shown = [f'"{path} {name}"' for name in found]
    return "did you mean " + " or ".join(shown) + "?" if shown else None


def suggest_option(name: str, known: Collection[str]) -> str | None:
    """The option of this command that another tool calls so."""
    return next((option for option in _OPTIONS.get(name, "").split()
                 if option in known), None)


def _find(word: str, group: str, names: list[str]) -> list[str] | None:
    """What a synonym means among the names; None for a word that is
    none."""
    for name in "" if group else _COMMANDS.get(word, "").split(";"):
        if name in names or any(n.startswith(name + " ") for n in names
                                if name):
            return [name]
    verbs = _VERBS.get(word, "").split()
    if group:
        return next(([verb] for verb in verbs if verb in names), None)
    found = [n for verb in (word, *verbs) for n in names
             if n.endswith(" " + verb)]
    first = next((n for n in found if n.startswith("memory ")), None)
    return [first] if first else found[:3] or None
