"""What other tools call it: commands and options that people type first.

Nothing here is a command: the words are answered with the right one.
"""

from collections.abc import Collection, Iterable

from claw.core.registry import nearest

_NEAR = 0.75  # of the letters; less, and a word is another one
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
    **dict.fromkeys(("info", "check"), "doctor"),
    **dict.fromkeys(("health", "top"), "status"),
    **dict.fromkeys(("roles", "role", "prompts"), "template list"),
    **dict.fromkeys(("alias", "aliases"), "model alias"),
    **dict.fromkeys(("embed", "embed-multi", "collections", "rag", "rags"),
                    "memory index"),
    **dict.fromkeys(("fragment", "fragments", "schemas"), "ask"),
    "similar": "memory recall",
    "models": "model list",
    "explain": "why",
    "logs": "log list;session list",
    "history": "log list;session list",
    "message": "send",
    "reply": "send",
    "batch": "map",
}

# An option of other tools -> ours, the first that the command has.
_OPTIONS = {
    **dict.fromkeys(("--role", "--preset", "--persona", "--agent", "-r"),
                    "--template --system"),
    **dict.fromkeys(("--system-prompt", "--instructions", "--prompt"),
                    "--system"),
    **dict.fromkeys(("--num", "--count", "--top", "--max-results",
                     "--number", "-k", "-l"), "--limit"),
    **dict.fromkeys(("--input", "--attach", "--attachment", "--image",
                     "--fragment", "--at", "-a", "-i"), "--file"),
    **dict.fromkeys(("--no-stream", "--nostream", "-S"),
                    "--no-stream --json"),
    **dict.fromkeys(("--rag", "--collection"), "--docs"),
    **dict.fromkeys(("--format", "--output-format"), "--json"),
    **dict.fromkeys(("--resume", "--cid", "--conversation", "--continue",
                     "-c"), "--continue --resume --session"),
    **dict.fromkeys(("--force", "--assume-yes", "--no-confirm", "-y"),
                    "--yes"),
    **dict.fromkeys(("--dir", "--cwd", "--directory", "-C"), "--workspace"),
    **dict.fromkeys(("--home", "--profile", "--config"), "--config-dir"),
    **dict.fromkeys(("--silent", "-s"), "--quiet"),
    **dict.fromkeys(("--debug", "--trace"), "--verbose"),
    **dict.fromkeys(("--max-length", "--tokens"), "--max-tokens"),
    **dict.fromkeys(("--budget", "--max-price"), "--max-cost"),
    **dict.fromkeys(("--code", "--extract-code", "--extract-last", "--xl"),
                    "--extract"),
    **dict.fromkeys(("--schema-file", "--response-format"), "--schema"),
    **dict.fromkeys(("--functions", "--tool"), "--tools"),
    **dict.fromkeys(("--no-save", "--no-history", "-n"), "--no-log"),
    **dict.fromkeys(("--type", "--tag", "--kind"), "--category"),
    **dict.fromkeys(("--after", "--from"), "--since"),
    **dict.fromkeys(("--before", "--to"), "--until"),
    "--temp": "--temperature",
    "--vendor": "--provider",
}

# An option of other tools -> the command that does that.
_INSTEAD = {
    "--list-models": "claw model list",
    **dict.fromkeys(("--list-roles", "--list-macros"), "claw template list"),
    "--list-sessions": "claw session list",
    "--list-rags": "claw memory list",
    **dict.fromkeys(("--execute", "-e"), "claw do"),
    "--serve": "claw listen",
    "--key": "claw config set api_key",
}

# An option -> what may have been meant where its value is none.
_LOOKALIKES = {"--temperature": "a template is named with -T",
               "--limit": "-n is a count"}


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
        found = _find_near(word, first)
    if not (found or group) and " " in word.strip():
        return f'to ask that: claw ask "{" ".join(word.split())[:60]}"'
    shown = [f'"{path} {name}"' for name in found]
    return "did you mean " + " or ".join(shown) + "?" if shown else None


def suggest_option(name: str, known: Collection[str]) -> str | None:
    """The hint for an option that the command does not have; `known` are
    those it has."""
    meant = next((option for option in _OPTIONS.get(name, "").split()
                  if option in known), None) \
        or _find_near_option(name, known)
    if meant is None and name in _INSTEAD:
        meant = f'"{_INSTEAD[name]}"'
    return meant and f"did you mean {meant}?"


def explain_value(options: Iterable[str]) -> str | None:
    """What may have been meant with an option whose value is wrong."""
    return next((_LOOKALIKES[name] for name in options
                 if name in _LOOKALIKES), None)


def _find_near_option(name: str, known: Collection[str]) -> str | None:
    """-n for --n, --system for --sys and for --sytsem."""
    if name[1:] in known:
        return name[1:]
    bare = {option.lstrip("-"): option for option in sorted(known)
            if option.startswith("--")}
    word = name.lstrip("-")
    begun = [option for option in bare if option.startswith(word)]
    if name.startswith("--") and len(begun) == 1:
        return bare[begun[0]]
    near = nearest(word, bare, _NEAR)
    return bare[near] if near else None


def _find_near(word: str, names: Iterable[str]) -> list[str]:
    """The name that a word misspells: a letter or two wrong, or all of them
    in another order."""
    names = list(names)
    near = nearest(word, names, _NEAR) or next(
        (name for name in names if sorted(name) == sorted(word)), None)
    return [near] if near else []


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
