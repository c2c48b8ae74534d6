"""Option tables: what is known of a program's arguments, and no more.

A table is a line such as "-abk:U? -# --all --key: --color?": letters
without a value, with one (k:) and with one in the same word at most (U?),
numbers as options (-5), and long options likewise (--key: takes --key=V
and --key V). What is not in the table is not known to be harmless, nor is
an abbreviation.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from claw.core.value import Value
from claw.security.shell.lexer import Word

_ENDS_AT_ONCE = ("--help", "--version")


class NotListed(Exception):
    """Arguments that no table lists; the text says which."""


class Option(Value):
    """An option, its value ("" for none) and the word that ends with it."""

    name: str
    value: str
    word: Word


class Parsed(Value):
    """Operands and options, each in order."""

    operands: tuple[Word, ...]
    options: tuple[Option, ...]

    def has(self, name: str) -> bool:
        return any(option.name == name for option in self.options)

    def values(self, *names: str) -> list[str]:
        return [o.value for o in self.options if o.name in names]


@lru_cache(maxsize=64)
def read_table(line: str) -> Mapping[str, str]:
    """Option -> ":", "?" or ""."""
    kinds = dict.fromkeys(_ENDS_AT_ONCE, "")
    for token in line.split():
        if token.startswith("--"):
            bare = token.rstrip(":?")
            kinds[bare] = token[len(bare):]
        else:
            for letter, kind in re.findall(r"([^-:?])([:?]?)", token):
                kinds["-" + letter] = kind
    return kinds


def parse(name: str, line: str, words: Sequence[Word], *,
          permute: bool = True, patterns: bool = False) -> Parsed:
    """The operands and options of `words`, by the table in `line`.

    `permute`: options may stand behind operands, as GNU programs have it.
    `patterns`: a word may begin with * or {: whatever file name it stands
    for, the program does no harm. Raises NotListed.
    """
    kinds = read_table(line)
    operands: list[Word] = []
    options: list[Option] = []
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        if word.text == "--":
            operands += words[at:]
            break
        if not patterns:
            _refuse_pattern(name, word, anywhere=word.text.startswith("-"))
        if len(word.text) < 2 or word.text[0] != "-":
            operands.append(word)
            if not permute:
                operands += words[at:]
                break
            continue
        found, wants_value = _read_options(name, word, kinds)
        if wants_value:
            found[-1] = _with_value(name, found[-1].name, words[at:at + 1],
                                    patterns=patterns)
            at += 1
        options += found
    return Parsed(tuple(operands), tuple(options))


def has_pattern(word: Word) -> bool:
    """Whether the shell may make other words of it, or several."""
    return re.search(r"[*?\[{]", word.bare) is not None


def _refuse_pattern(name: str, word: Word, *, anywhere: bool) -> None:
    """A file called -x or --output=y turns a pattern into an option."""
    if has_pattern(word) and (anywhere or word.bare[:1] in "*?[{"):
        raise NotListed(f"{name} {word.text}: a file's name could be taken "
                        "for an option; write ./ before it")


def _read_options(name: str, word: Word, kinds: Mapping[str, str]
                  ) -> tuple[list[Option], bool]:
    """The options in one word, and whether the last wants the next word."""
    text = word.text
    if text.startswith("--"):
        option, joined, value = text.partition("=")
        kind = kinds.get(option)
        if kind is None or (joined and not kind):
            raise _not_listed(name, option)
        return [Option(option, value, word)], kind == ":" and not joined
    if text[1:].isdigit() and "-#" in kinds:
        return [Option("-#", text[1:], word)], False
    found: list[Option] = []
    for at, letter in enumerate(text[1:], 2):
        option = "-" + letter
        if option not in kinds or letter == "#":
            raise _not_listed(name, option)
        kind = kinds[option]
        found.append(Option(option, text[at:] if kind else "", word))
        if kind:
            return found, kind == ":" and not text[at:]
    return found, False


def _with_value(name: str, option: str, rest: Sequence[Word], *,
                patterns: bool) -> Option:
    """The option with the next word as its value. One that looks like an
    option is not trusted to be taken for a value."""
    if not rest or re.match(r"-(?!\d*\Z)", rest[0].text):
        raise NotListed(f"{name} {option} without a value")
    if not patterns:
        _refuse_pattern(name, rest[0], anywhere=True)
    return Option(option, rest[0].text, rest[0])


def _not_listed(name: str, option: str) -> NotListed:
    return NotListed(f"{name} {option[:40]} is not known to be harmless")
