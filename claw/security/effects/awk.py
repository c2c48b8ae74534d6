"""awk programs that only print: patterns, fields, arithmetic, strings.

Read token by token (POSIX.1-2017, awk, Grammar). Not known to be harmless
are system, getline, pipes, redirections, @ directives and ARGV, which
opens other files; where awks differ on what is a regular expression, the
program is not known either.
"""

import re
from collections.abc import Sequence

from claw.security.effects.options import NotListed, has_pattern, parse
from claw.security.effects.sed import opens_bracket
from claw.security.lexer import Word
from claw.security.words import words as split_words

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
# Names before which "(" stands and that are no function of the program.
_CALLABLE = frozenset(split_words(
    "atan2 cos exp gensub gsub if index int length log match print printf "
    "return sin split sprintf sqrt srand rand sub substr tolower toupper "
    "while for in and or not strftime systime mktime asort asorti switch "
    "delete exit do else case lshift rshift xor compl strtonum patsplit "
    "isarray typeof close fflush BEGIN END"))
_NOT_KNOWN = frozenset(("system", "getline", "ARGV", "ARGC", "SYMTAB",
                        "FUNCTAB"))
# After one of these a "/" divides; elsewhere it begins an expression.
_OPERAND_ENDS = (")", "]", "$", "++", "--")
_NO_OPERAND = frozenset(("print", "printf", "return", "in", "else", "do",
                         "case", "BEGIN", "END"))


def check(words: Sequence[Word]) -> None:
    """Raises NotListed where awk may do more than print."""
    operands = parse("awk", OPTIONS, words, permute=False).operands
    if not operands:
        raise NotListed("awk without a program")
    if has_pattern(operands[0]):
        raise NotListed("awk: a program without quotes")
    check_program(operands[0].text)


def check_program(text: str) -> None:
    declared = set(re.findall(r"\bfunc(?:tion)?\s+(\w+)\s*\(", text))
    called, before, printing, depth, at = "", "", False, 0, 0
    while at < len(text):
        if text[at] == "/" and not _is_operand(before):
            at, token, kind = _regex(text, at), "/re/", "regex"
        elif found := _TOKEN.match(text, at):
            at, token, kind = found.end(), found[0], found.lastgroup or ""
        else:
            raise _unknown(text[at:])
        if kind == "space":
            continue
        if token in _NOT_KNOWN or (token == ">" and printing):
            raise _unknown(token)
        if token == "(" and called and called not in declared:
            raise _unknown(called)
        depth += (token == "(") - (token == ")")
        called = (token if kind == "name" and token not in _CALLABLE else "")
        printing = (printing or token in ("print", "printf")) \
            and not _ends_print(token, before, depth)
        before = token


def _ends_print(token: str, before: str, depth: int) -> bool:
    """Whether a statement ends here. The end of a line does not after a
    comma, an operator or within parentheses."""
    return token in (";", "}") or (token == "\n" and depth == 0 and (
        _is_operand(before) or before in ("print", "printf")))


def _is_operand(token: str) -> bool:
    """Whether a value ends with this token."""
    return token in _OPERAND_ENDS or token == "/re/" or (
        token not in _NO_OPERAND and re.match(r'[\w."]', token) is not None)


def _regex(text: str, at: int) -> int:
    found = _REGEX.match(text, at)
    if found is None or opens_bracket(found[1]):
        raise _unknown(text[at:])
    return found.end()


def _unknown(text: str) -> NotListed:
    return NotListed(f"awk: {text[:40]!r} is not known to only print")
