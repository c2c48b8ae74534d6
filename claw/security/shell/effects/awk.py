"""awk programs that only print: patterns, fields, arithmetic, strings.

Read token by token (POSIX.1-2017, awk, Grammar). Not known to be harmless
are system, getline, pipes, redirections, @ directives and ARGV, which
opens other files; where awks differ on what is a regular expression, the
program is not known either.
"""

import re
from collections.abc import Sequence

from claw.security.shell.effects.options import NotListed, has_pattern, parse
from claw.security.shell.effects.sed import opens_bracket
from claw.security.shell.lexer import Word
from claw.security.shell.words import words as split_words

OPTIONS = "-F:v: --field-separator: --assign: --re-interval --posix"
_TOKEN = re.compile(r"""
    (?P<space>[ \t\r]+|\\\n|\#[^\n]*)
  | (?P<end>[;\n}])
  | (?P<string>"(?:\\[^\n]|[^"\\\n])*")
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign>\+\+|--|\|\||&&|>=|[<=!+\-*%^/]=|[-+*%^!<>,()\[\]{~?:$=/])
""", re.VERBOSE | re.ASCII)
_REGEX = re.compile(r"/(?!=)((?:\\[^\n]|[^/\\\n])*)/")
_BUILTINS = frozenset(split_words(
    "atan2 cos exp gensub gsub index int length log match sin split sprintf "
    "sqrt srand rand sub substr tolower toupper and or not strftime systime "
    "mktime asort asorti lshift rshift xor compl strtonum patsplit isarray "
    "typeof close fflush"))
_CONTROLS = frozenset(("if", "while", "for", "switch"))
_KEYWORDS = _CONTROLS | frozenset(split_words(
    "BEGIN END BEGINFILE ENDFILE break case continue default delete do else "
    "exit func function in next nextfile print printf return"))
_NOT_KNOWN = frozenset(("system", "getline", "ARGV", "ARGC", "SYMTAB",
                        "FUNCTAB"))
# A line may go on behind these.
_GOES_ON = (",", "&&", "||")


def check(words: Sequence[Word]) -> None:
    """Raises NotListed where awk may do more than print."""
    operands = parse("awk", OPTIONS, words, permute=False).operands
    if not operands:
        raise NotListed("awk without a program")
    if has_pattern(operands[0]):
        raise NotListed("awk: a program without quotes")
    check_program(operands[0].text)


def check_program(text: str) -> None:
    """Raises NotListed as check does."""
    declared = set(re.findall(r"\bfunc(?:tion)?\s+(\w+)\s*\(", text))
    before, printing, at = "", False, 0
    parentheses: list[bool] = []  # whether each belongs to if, while, for
    while at < len(text):
        at, token = _read_token(text, at, before)
        if not token or (token == "\n" and before in _GOES_ON):
            continue
        if (token in _NOT_KNOWN or (token == ">" and printing)
                or (token == "\n" and parentheses)):
            raise _unknown(token)
        if token == "(":
            if before not in declared | _BUILTINS | _KEYWORDS \
                    and _is_name(before):
                raise _unknown(before)
            parentheses.append(before in _CONTROLS)
        elif token == ")" and parentheses and parentheses.pop():
            token = "if)"  # a statement follows, no operator
        printing = (printing or token in ("print", "printf")) \
            and token not in (";", "}") \
            and not (token == "\n" and (_ends_value(before)
                                        or before in ("print", "printf")))
        before = token


def _read_token(text: str, at: int, before: str) -> tuple[int, str]:
    """Where the next token ends, and what it is; "" for space. Where a
    slash could divide or begin an expression, nothing is known."""
    if text[at] == "/":
        if before in _BUILTINS or before == "/re/":
            raise _unknown(text[at:])
        if not _ends_value(before):
            found = _REGEX.match(text, at)
            if found is None or opens_bracket(found[1]):
                raise _unknown(text[at:])
            return found.end(), "/re/"
    token = _TOKEN.match(text, at)
    if token is None:
        raise _unknown(text[at:])
    return token.end(), "" if token.lastgroup == "space" else token[0]


def _ends_value(token: str) -> bool:
    """Whether a value ends with this token."""
    return token in (")", "]", "++", "--", "/re/") or (
        token not in _KEYWORDS and re.match(r'[\w."]', token) is not None
        and token != "if)")


def _is_name(token: str) -> bool:
    return re.match(r"[A-Za-z_]", token) is not None and token != "if)"


def _unknown(text: str) -> NotListed:
    return NotListed(f"awk: {text[:40]!r} is not known to only print")
