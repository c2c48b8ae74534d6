"""What keeps a command line from being harmless in the owner's own shell.

The tables of effects/ suppose the sandbox, where what a program starts can
do no harm. Without it one rule holds: harmless is a line whose programs are
all known to start nothing and to take no orders from files that lie about,
that are found where no such folder is asked, and of which the shell itself
runs no part. git, interpreters and whatever builds or tests read settings of
the folder they work in, and run what these say.
"""

import os
import re
import shutil
from collections.abc import Iterable, Sequence

from claw.security.shell.commands import basename, executable, list_calls
from claw.security.shell.effects import starts_nothing
from claw.security.shell.lexer import Segment, Word

# Made, and nothing that was there is lost.
_MAKES = ("mkdir", "touch")
_PIECE = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\\'"]+""", re.DOTALL)
# Shells read numbers and file names in these as expressions.
_PLAIN_VALUE = re.compile(r"TZ=[\w:/+-]*|\w+=[\w.,:@+-]*")
_CALCULATES = ("test", "[", "printf")
# How programs write a control character that a terminal acts on (C0 but for
# tab and line end, C1), whatever else they make of it.
_ESCAPE = re.compile(
    r"\\(?:o?(?:0*33|0?2[0-3][0-7])|d0?27|x(?:1b|[89][0-9a-f])|"
    r"u\{?0*(?:1b|[89][0-9a-f])(?![0-9a-f]))", re.IGNORECASE)
# What else makes characters that do not stand in the line, by program: by a
# number, from base64, or by putting an escape together.
_PRINTED = re.compile(r"\\[0-7xuUeEabfrv]")
_FORMATTED = re.compile(r"\\(?:0*[1-7]|[xuUeEabfrvc])")
_MAKES_LETTERS = {
    **dict.fromkeys(("echo", "printf"), _PRINTED),
    **dict.fromkeys(("base64", "base32"), re.compile(
        r"--d|-[A-Za-z]*[dD]")),
    **dict.fromkeys(("find", "stat"), _FORMATTED),
    "sed": re.compile(r"\\[odxc]"),
    "awk": re.compile(r"""(?<!\\)(?:\\\\)*\\[0-7xuabfrv]|%[^"A-Za-z%]*c|
        printf(?!\s*\(?\s*"(?:[^"\\]|\\.)*"\s*(?:[,;)}\n]|\Z))""", re.VERBOSE),
    "jq": re.compile(r"\\u|implode|base64d|base32d|fromjson|\bascii\b"),
    "tr": re.compile(r"\\[0-7abfrv]|:cntrl:"),
    "hexdump": re.compile(r"\\|%[^\s\"]*c"),
}


def find_reason(command: str, segments: Sequence[Segment], *, search: str,
                home: str, cwd: str) -> str | None:
    """Why a line that is harmless in the sandbox may not be so here; None
    where it is. `search` is the shell's PATH."""
    named = [call for segment in segments for call in list_calls(segment)]
    calls = [words for _, words in named]
    set_here = [text for segment in segments for text in segment.assignments]
    if _expands(command):
        return "shells differ in what they put in for a $"
    if _has_split_letter(command):
        return "the locale's encoding has letters that shells misread"
    if any(after == "xargs" and basename(words[0].text) in ("echo", "printf")
           for after, words in named):
        return "xargs may give orders to the terminal"
    return (_find_odd_word(calls, set_here)
            or next(filter(None, map(_find_starter, calls)), None)
            or _find_stranger({words[0].text for words in calls},
                              search=search, home=home, cwd=cwd))


def _expands(command: str) -> bool:
    """Whether a $ stands where a shell may look at it. zsh and bash know
    more forms than sh: $[...], $=name, $+name."""
    return any("$" in re.sub(r'\\.|\$(?=["\s]|\Z)', "", piece, flags=re.DOTALL)
               for piece in _PIECE.findall(command) if piece[0] != "'")


def _has_split_letter(command: str) -> bool:
    """Whether the locale writes a letter with a byte of ASCII, as GBK and
    Shift-JIS do, or can't write it. A shell that knows no such letters finds
    a | or a ` in there."""
    try:
        return any(byte < 0x80 for char in command if not char.isascii()
                   for byte in os.fsencode(char))
    except UnicodeEncodeError:
        return True


def _find_odd_word(calls: Iterable[Sequence[Word]], set_here: Sequence[str]
                   ) -> str | None:
    values = list(set_here)
    for words in calls:
        name = basename(words[0].text)
        if name == "env":
            values += [word.text for word in words[1:] if "=" in word.text]
        for word in words[1:]:
            if name in _CALCULATES and "$" in word.text:
                return f"{name}: some shells run what stands behind a $"
        if _orders_terminal(name, words[1:]):
            return f"{name} may give orders to the terminal"
    odd = next((v for v in values if not _PLAIN_VALUE.fullmatch(v)), None)
    return odd and f"{odd.partition('=')[0][:40]}= has an unusual value"


def _orders_terminal(name: str, words: Sequence[Word]) -> bool:
    """Whether the words may stand for characters that nobody sees in them.
    A terminal obeys these: they write to the clipboard, or over what stands
    above."""
    makes = _MAKES_LETTERS.get(executable(name))
    # Only what tr puts in counts, not what it takes away.
    put_in = words if name != "tr" else [] if any(
        word.text[:1] == "-" and "d" in word.text for word in words) \
        else words[-1:]
    return any(_ESCAPE.search(word.text) for word in put_in) or (
        makes is not None and any(makes.search(word.text) for word in put_in))


def _find_starter(words: Sequence[Word]) -> str | None:
    """Why a program may start others, or lose something."""
    name = basename(words[0].text)
    if not words[0].text.endswith(name):  # HEAD is no head
        return f"{words[0].text[:40]} is not known to be harmless"
    if name == "nohup":
        return "nohup writes nohup.out"
    if name in ("cp", "mv"):
        return f"{name} replaces files"
    if starts_nothing(name) or name in _MAKES:
        return None
    return f"{name} may run what files of the folder name"


def _find_stranger(names: Iterable[str], *, search: str, home: str, cwd: str
                   ) -> str | None:
    """The program that the shell may take from a folder of others: one that
    is found from where it works, or in there. At home and above it programs
    are the owner's."""
    folders = search.split(os.pathsep)
    if not all(map(os.path.isabs, folders)):
        return "PATH has a folder without a leading /"
    here = os.path.realpath(cwd)
    if os.path.commonpath([here, os.path.realpath(home)]) == here:
        return None
    for name in sorted(names):
        found = shutil.which(name, path=search) or "/"
        if any(path.startswith(here + os.sep) for path in (
                os.path.realpath(found),
                os.path.realpath(os.path.dirname(found)) + os.sep)):
            return f"{name} lies in this folder: {found}"
    return None
