"""The command gate: which command lines the agent may run.

Pure: text and rules in, a verdict out. The gate keeps honest mistakes
away; what a command can reach at all is the sandbox's matter.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Literal

from claw.core.value import Value
from claw.security.shell import arguments
from claw.security.shell.braces import expand_braces
from claw.security.shell.effects import find_texts
from claw.security.shell.lexer import Script, Segment, Word, read
from claw.security.shell.risk import Risk, rate_risk
from claw.security.shell.words import words as split_words

INTERPRETERS = frozenset(split_words(
    "sh bash dash zsh ksh fish csh tcsh busybox python node nodejs deno bun "
    "perl ruby php lua awk gawk mawk tclsh pwsh powershell cmd"))

_SYSTEM_BINS = frozenset(map(PurePosixPath, (
    "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin",
    "/usr/local/sbin", "/opt/homebrew/bin")))

# Words that run the command after them, with those of their options
# that take a value of their own.
_WRAPPERS = {
    "env": "-u -C --unset --chdir", "command": "", "builtin": "",
    "exec": "-a", "nohup": "", "nice": "-n --adjustment",
    "time": "-f -o --format --output", "timeout": "-s -k --signal "
    "--kill-after", "stdbuf": "-i -o -e --input --output --error",
    "setsid": "", "ionice": "-c -n -p --class --classdata --pid",
    "xargs": "-I -n -P -d -a -E -L -s --arg-file --delimiter --max-args "
             "--max-procs --max-chars", "sudo": "-u -g", "doas": "-u",
    "chrt": "", "busybox": "", "toybox": ""}
_RESERVED = frozenset(split_words(
    "if then else elif fi do done while until for case esac in select "
    "function coproc ! { } [[ time"))

# Variables that make a harmless program load or run something else.
_LOADING_VARIABLE = re.compile(
    r"(?:LD_|DYLD_|PYTHON|GIT_|NODE_|NPM_CONFIG_|PERL|RUBY|CARGO_|RUST)"
    r"|(?:PAGER|EDITOR|VISUAL|BASH_ENV|ENV|PATH|IFS|SHELL|HOME|PS4|"
    r"JAVA_TOOL_OPTIONS|LESSOPEN|LESSCLOSE|BROWSER)\+?=", re.IGNORECASE)
# What to do instead of what no policy allows.
_INSTEAD = {
    "command substitution": "no back-ticks, even in quotes; run the inner "
                            "command first",
    "an expansion with $": "write the value, or put $ in single quotes",
    "a redirection": "name input files as arguments, write files with "
                     "file_write; 2>&1 and >/dev/null are allowed",
    "a background job (&)": "use && or ; and quote a literal &",
    "a subshell or function": "join commands with && or ;, quote literal "
                              "parentheses",
    "tee writes files": "use file_write; no word may be `tee`",
}

# Linux starts no program with a longer word (MAX_ARG_STRLEN).
MOST_CHARS = 131_071


class GateRules(Value):
    """What [autonomy] says of commands; `home` expands ~ in entries,
    `workspace` is where commands run."""

    level: Literal["readonly", "supervised", "full"]
    allowed: Sequence[str]
    ask_medium: bool
    block_high: bool
    home: str
    workspace: str = ""


class Verdict(Value):
    """What the gate says of one command line.

    `refusal` is None when it may run. `asks` is True where the owner's
    yes (approved=true) would change the answer. `detail` says why.
    `reads` is True where nothing in it does more than read, `why` names
    what made the risk more than low.
    """

    segments: tuple[Segment, ...]
    executables: tuple[str, ...]
    risk: Risk
    refusal: str | None = None
    detail: str | None = None
    asks: bool = False
    reads: bool = False
    why: str | None = None

    @property
    def rememberable(self) -> bool:
        """Whether "always" may be offered: the same text does the same
        thing again, which shells and interpreters do not promise."""
        return not any(is_interpreter(name) for name in self.executables)


def is_interpreter(name: str) -> bool:
    """Whether `name` is a shell or interpreter, whatever its version
    (python3.12, node20)."""
    return re.sub(r"(?<![\d.])[\d.]+\Z", "", name) in INTERPRETERS


def judge(command: str, rules: GateRules, path_ok: Callable[[str], bool],
          *, approved: bool = False) -> Verdict:
    """The verdict on a whole command line.

    `path_ok` is the lexical path check; `approved` the owner's yes.
    """
    if len(command) > MOST_CHARS:
        return Verdict((), (), "high", "Command not allowed by security "
                       f"policy: {command[:200]}...",
                       f"it is longer than {MOST_CHARS} characters")
    script = read(command)
    calls = [call for segment in script.segments
             for call in list_calls(segment)]
    executables = tuple(basename(words[0].text) for _, words in calls)
    rating = rate_risk(
        command, [(after, _program(words[0].text, rules), words)
                  for after, words in calls],
        [a for segment in script.segments for a in segment.assignments],
        rules.workspace)
    risk = rating.risk

    def verdict(refusal: str | None = None, detail: str | None = None,
                *, asks: bool = False) -> Verdict:
        return Verdict(script.segments, executables, risk, refusal, detail,
                       asks, rating.reads, rating.why)

    trouble = _trouble(command, script, calls, rules)
    if trouble is not None:
        if trouble in _INSTEAD:
            trouble += ": " + _INSTEAD[trouble]
        return verdict(
            "Command not allowed by security policy: " + command, trouble)
    concrete = all(_entry(words[0].text, rules) not in (None, "*")
                   for _, words in calls)
    if risk == "high" and rules.block_high and not concrete:
        return verdict("Command blocked: high-risk command is disallowed by "
                       "policy")
    if rules.level == "supervised" and not approved and (
            risk == "high" or (risk == "medium" and rules.ask_medium)):
        return verdict("Command requires explicit approval (approved=true): "
                       f"{risk}-risk operation", rating.why, asks=True)
    blocked = next((path for path in list_paths(command, rules)
                    if not path_ok(path)), None)
    return verdict() if blocked is None else verdict(
        f"Path blocked by security policy: {blocked}")


def basename(word: str) -> str:
    """The program's name: last path part (both slashes), lower case."""
    return re.split(r"[/\\]", word)[-1].lower()


def executable(word: str) -> str:
    """The name that tables are keyed by: python3.12 -> python."""
    name = basename(word)
    bare = re.sub(r"(?<![\d.])[\d.]+\Z", "", name)
    return bare if bare in INTERPRETERS else name


def _program(word: str, rules: GateRules) -> str:
    """The name that says what a program does. A file elsewhere may be
    called anything, unless the owner allows that very path."""
    placed = "/" in word or "\\" in word
    system = PurePosixPath(word).parent in _SYSTEM_BINS
    known = not placed or system or _entry(word, rules) not in (None, "*")
    return executable(word) if known else word


def list_calls(segment: Segment) -> Iterator[tuple[str, tuple[Word, ...]]]:
    """Each program a simple command starts, wrappers' own first."""
    words, after = segment.words, segment.after
    while words and words[0].text in _RESERVED and len(words) > 1:
        yield after, words[:1]
        words = words[1:]
    while words:
        yield after, words
        options = _WRAPPERS.get(basename(words[0].text))
        if options is None:
            return
        after = basename(words[0].text)
        if after == "command" and words[1:] and \
                words[1].text in ("-v", "-V"):
            return
        words = _unwrap(words[1:], options.split())


def _unwrap(words: tuple[Word, ...], valued: list[str]) -> tuple[Word, ...]:
    """The words of the command that a wrapper runs."""
    at = 0
    while at < len(words):
        text = words[at].text
        if text in valued:
            at += 2
        elif (text.startswith("-") or re.match(r"[A-Za-z_]\w*=", text)
              or re.fullmatch(r"\d+(\.\d+)?[smhd]?", text)):
            at += 1
        else:
            break
    return words[at:]


def _trouble(command: str, script: Script,
             calls: list[tuple[str, tuple[Word, ...]]],
             rules: GateRules) -> str | None:
    """Why a command line is not allowed at all."""
    if rules.level == "readonly":
        return "read-only mode"
    if script.trouble:
        return script.trouble
    if any(w == "tee" or w.endswith("/tee") for w in command.split()):
        return "tee writes files"
    for segment in script.segments:
        for assignment in segment.assignments:
            if _LOADING_VARIABLE.match(assignment):
                return f"sets {assignment.partition('=')[0]} for a program"
    if not calls:
        return "no command in it"
    elsewhere = any(words[0].text == "cd" for _, words in calls)
    for _, words in calls:
        if _entry(words[0].text, rules) is None:
            return f"{words[0].text!r} is not in autonomy.allowed_commands"
        if basename(words[0].text) == "env":
            for word in words[1:]:
                if "=" in word.text and _LOADING_VARIABLE.match(word.text):
                    return f"env sets {word.text.partition('=')[0]}"
        name, args = executable(words[0].text), [w.text for w in words[1:]]
        reason = arguments.reason(name, args) or (
            None if elsewhere else arguments.own_name(name, args))
        if reason:
            return reason
    return None


def _entry(word: str, rules: GateRules) -> str | None:
    """The allow entry that a program's word matches: a concrete one
    before "*". A path matches only an entry with that path, or a name
    when the program lies in one of the system's directories, so that a
    file called ./ls does not pass for ls."""
    path = _expand(word, rules.home)
    name = basename(word)
    placed = "/" in word or "\\" in word
    if placed and PurePosixPath(path).parent in _SYSTEM_BINS:
        placed = False
    for entry in rules.allowed:
        if "/" in entry or "~" in entry:
            if _expand(entry, rules.home) == path:
                return entry
        elif entry == name and entry != "*" and not placed:
            return entry
    return "*" if "*" in rules.allowed else None


def _expand(path: str, home: str) -> str:
    return home + path[1:] if path == "~" or path.startswith("~/") else path


def list_paths(command: str, rules: GateRules) -> list[str]:
    """The paths that a command line names, each once, in order."""
    script = read(command)
    texts = [id(text) for segment in script.segments
             for _, words in list_calls(segment)
             for text in find_texts(_program(words[0].text, rules), words)]
    return list(dict.fromkeys(_paths(script, texts)))


def _paths(script: Script, texts: Collection[int]) -> Iterator[str]:
    """Path-like tokens among the arguments, as the shell would see them;
    `texts` are the ids of the words that are none."""
    for segment in script.segments:
        for assignment in segment.assignments:
            yield from _path_tokens(assignment.partition("=")[2])
        for word in segment.words[1:]:  # the program itself: see _entry
            if id(word) in texts:
                continue
            yield from _path_tokens(word.text)
            if "{" in word.bare:
                for text in expand_braces(word.text):
                    yield from _path_tokens(text)
            if re.search(r"(?:^|/)\.[^/]*[*?\[]", word.bare):
                yield from _matches_parent(word.text)


def _matches_parent(text: str) -> Iterator[str]:
    """A pattern such as .* or .[.] also matches "..": report it."""
    for part in text.split("/"):
        if re.fullmatch(r"\.(?:\*+|\?|\[[^\]]*\]\**)\**", part):
            yield "../" + text


def _path_tokens(text: str) -> Iterator[str]:
    lowered = text.lower()
    if lowered.startswith("file:"):
        rest = text[5:]
        yield "/" + rest.lstrip("/") if rest.startswith("/") else rest
        return
    if "://" in text:
        if "file://" in lowered:
            yield "/" + text[lowered.index("file://") + 7:].lstrip("/")
        return
    if text.startswith("--") and "=" in text:
        yield from _path_tokens(text.partition("=")[2])
        return
    # A path joined to an option, or to a name and "=".
    joined = (re.match(r"-[A-Za-z0-9]+=?([./~].*)", text, re.DOTALL)
              or re.match(r"[A-Za-z_][\w-]*=(.*)", text, re.DOTALL))
    if joined:
        yield from _path_tokens(joined[1])
        return
    text = text.removeprefix("@")
    if text in (".", "..") or text.startswith("~") or "/" in text:
        yield text
