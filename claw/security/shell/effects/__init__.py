"""What a program does when called with these words, as far as is known.

Each program has a small table of what is known to be harmless; nobody
searches for what is bad. An option that is not listed makes the call
unknown, and so does a program that has no table.
"""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from claw.core.value import Value
from claw.security.shell.effects import git, movers, programs, readers
from claw.security.shell.effects.options import NotListed, parse
from claw.security.shell.lexer import Word
from claw.security.shell.words import words as split_words

# reads: prints what it finds. changes: files of the workspace, none that
# claw or git take orders from. runs: a script that the line names.
Kind: TypeAlias = Literal["reads", "changes", "runs", "unknown"]

# Words that run the words behind them, with the options they may have.
_WRAPPERS = {
    "env": "-i0u: --ignore-environment --null --unset:",
    "command": "-pvV", "nice": "-n: -# --adjustment:", "nohup": "",
    "time": "-p", "timeout": "-k:s:v --kill-after: --signal: "
    "--preserve-status --foreground --verbose",
    "stdbuf": "-i:o:e: --input: --output: --error:", "ionice": "-c:n:t",
    "busybox": "", "toybox": "",
    "xargs": "-0rtxn:L:P:I:d:E:s:a: --null --no-run-if-empty --verbose "
             "--max-args: --max-lines? --max-procs: --replace? "
             "--delimiter: --arg-file: --max-chars:"}
_RESERVED = frozenset(split_words(
    "if then else elif fi do done while until { } !"))
# Variables that change how a program prints, not what it does.
_PLAIN_VARIABLE = re.compile(
    r"(?:LANG|LANGUAGE|LC_\w+|TZ|TERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|"
    r"CI|CLICOLOR\w*|TIME_STYLE|BLOCK_SIZE)=", re.ASCII)


class Effect(Value):
    """`why` says what is not known, "" otherwise."""

    kind: Kind
    why: str = ""


def judge_call(after: str, name: str, words: Sequence[Word], workspace: str
               ) -> Effect:
    """The effect of one program; words[0] is its name as said, `after` the
    operator before it ("xargs" where that adds words of its own)."""
    try:
        return Effect(_judge(after, name, words[1:], workspace))
    except NotListed as error:
        return Effect("unknown", str(error))


def judge_assignment(assignment: str) -> Effect:
    """The effect of NAME=value before a program."""
    if _PLAIN_VARIABLE.match(assignment):
        return Effect("reads")
    name = assignment.partition("=")[0]
    return Effect("unknown", f"{name[:40]}= may change what a program does")


def find_texts(name: str, words: Sequence[Word]) -> Sequence[Word]:
    """The words of a harmless call that are no paths, however they look:
    patterns, scripts, separators."""
    try:
        return readers.find_texts(name, words[1:])
    except NotListed:
        return []


def starts_nothing(name: str) -> bool:
    """Whether a harmless call of this program starts no other one that the
    line does not name, and follows no settings of the folder it is in."""
    return name in _WRAPPERS or name in _RESERVED or readers.knows(name)


def _judge(after: str, name: str, args: Sequence[Word], workspace: str
           ) -> Kind:
    if after == "xargs" and not readers.takes_any_words(name):
        raise NotListed(f"xargs gives {name} words that nobody has seen")
    if name in _RESERVED and not args:
        return "reads"
    if name in _WRAPPERS:
        _wrapper(name, args)
        return "reads"
    if name in movers.TABLES:
        movers.check(name, args, workspace)
        return "changes"
    if name == "git":
        return "reads" if git.check(args) else "changes"
    if name in programs.NAMES:
        return "reads" if programs.check(name, args) else "runs"
    if name == "cd":
        for word in args:
            movers.check_path(name, word, workspace)
    if not readers.check(name, args):
        raise NotListed(f"{name[:40]} is not known to be harmless")
    return "reads"


def _wrapper(name: str, args: Sequence[Word]) -> None:
    """The wrapper's own part; what it runs is judged by itself."""
    operands = parse(name, _WRAPPERS[name], args, permute=False).operands
    for word in operands if name == "env" else ():
        if "=" not in word.text:
            break
        if judge_assignment(word.text).why:
            raise NotListed(f"env {word.text[:40]}")
