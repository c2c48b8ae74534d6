"""Arithmetic, exactly: a small parser, no eval.

Numbers with decimals and thousands separators, + - * / // % ** ^ and
parentheses, percent ("15%", "15% of 80"), the signs of other keyboards
(× ÷ −) and operator words in five languages. Results are fractions, so
0.1 + 0.2 is 0.3; only what has no finite decimal form is rounded.
"""

import re
import unicodedata
from fractions import Fraction

from claw.core.value import Value

MAX_CHARS = 300
MAX_DEPTH = 40
MAX_BITS = 4096
DIGITS = 12  # of a rounded result

_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+")
_TOKEN = re.compile(
    rf"\s*(?:({_NUMBER.pattern})|(\*\*|//|[-+*/%^()]))")

# Dates and hexadecimal numbers look like sums and products.
_OTHER = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\b0[xX]")

# What surrounds an expression in a question.
_BEFORE = re.compile(
    r"(?:please\s+)?(?:what\s+is|what's|whats|how\s+much\s+is|calculate|"
    r"compute|evaluate|solve|请?计算(?:一下)?|請?計算(?:一下)?|"
    r"계산해?\s*(?:줘)?|=)[\s::]*", re.I)
_AFTER = re.compile(
    r"(?:\s*(?:=|[??.。!!]|은|는|이|을|를|얼마(?:야|예요|입니까|인가요)?|"
    r"몇(?:이야|이에요)?|계산해\s*(?:줘|주세요)?|等于(?:多少|几)?|"
    r"等於(?:多少|幾)?|是?(?:多少|几|幾)|はいくつ(?:ですか)?|"
    r"(?:は|を)(?:いくら|計算して(?:ください)?)?(?:ですか)?|please))+\Z",
    re.I)
_WORDS = (
    (r"\bdivided\s+by\b|\bover\b|나누기|除以|÷|割る|わる", "/"),
    (r"\bmultiplied\s+by\b|\btimes\b|곱하기|乘以|乘|掛ける|かける|×|·", "*"),
    (r"\bplus\b|더하기|加上|加|足す|たす", "+"),
    (r"\bminus\b|빼기|减去|減去|减|減|引く|ひく|−|–", "-"),
    (r"\bto\s+the\s+power\s+of\b|\^", "**"),
    (r"\bmodulo\b|\bmod\b", "%"),
    (r"\bsquared\b", "**2"), (r"\bcubed\b", "**3"),
    (r"\bpercent\b|퍼센트|パーセント", "%"),
    (r"(?<=[\d)])\s*[xX]\s*(?=[\d(.])", "*"),
    (r"%\s*(?:\bof\b|의|的|の)", "/100*"),
)
_REPLACED = [(re.compile(pattern, re.I), sign) for pattern, sign in _WORDS]


class NoExpression(ValueError):
    """The text is no arithmetic."""


class NoValue(ValueError):
    """It is arithmetic, but has no value that can be told."""


class Number(Value):
    """A result; `exact` is false once a root was taken."""

    number: Fraction
    exact: bool = True

    def __str__(self) -> str:
        whole = _decimal(self.number) if self.exact else None
        return whole or f"≈ {_rounded(self.number)}"


def calculate(question: str) -> Number | None:
    """The value of the arithmetic in a question; None where it is none.

    Raises NoValue for a division by zero and for what is too large.
    """
    if len(question) > MAX_CHARS or not any(c.isdigit() for c in question) \
            or _OTHER.search(question):
        return None
    text = unicodedata.normalize("NFKC", question).strip()
    text = _AFTER.sub("", _BEFORE.sub("", text, count=1)
                      if _BEFORE.match(text) else text)
    for pattern, sign in _REPLACED:
        text = pattern.sub(f" {sign} " if sign != "**2" else sign, text)
    try:
        tokens = _tokens(text)
        return _Parser(tokens).whole() \
            if any(t in _OPERATORS for t in tokens) else None
    except NoExpression:
        return None


_OPERATORS = {"+", "-", "*", "/", "//", "%", "**", "^"}


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NoExpression(text[at:])
        tokens.append(match[1] or match[2])
        at = match.end()
    return tokens


class _Parser:
    """Recursive descent: sum, product, sign, power, percent, number."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def whole(self) -> Number:
        value = self._sum()
        if self._at < len(self._tokens):
            raise NoExpression(self._tokens[self._at])
        return value

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, *signs: str) -> str:
        token = self._next()
        if token in signs:
            self._at += 1
            return token
        return ""

    def _sum(self) -> Number:
        value = self._product()
        while sign := self._take("+", "-"):
            start = self._at
            other = self._product()
            if self._tokens[start + 1:self._at] == ["%"]:
                # 200 + 10% is 220, as on a calculator
                other = Number(value.number * other.number, other.exact)
            number = (value.number + other.number if sign == "+"
                      else value.number - other.number)
            value = _bounded(number, value, other)
        return value

    def _product(self) -> Number:
        value = self._signed()
        while sign := self._take("*", "/", "//", "%"):
            value = _times(sign, value, self._signed())
        return value

    def _signed(self) -> Number:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NoValue("too deeply nested")
        if self._take("-"):
            inner = self._signed()
            value = Number(-inner.number, inner.exact)
        elif self._take("+"):
            value = self._signed()
        else:
            value = self._power()
        self._depth -= 1
        return value

    def _power(self) -> Number:
        base = self._percent()
        return _power(base, self._signed()) if self._take("**") else base

    def _percent(self) -> Number:
        value = self._number()
        while self._next() == "%" and not self._operand_follows():
            self._at += 1
            value = Number(value.number / 100, value.exact)
        return value

    def _operand_follows(self) -> bool:
        """Whether a % is the remainder sign: something to divide by
        comes after it."""
        after = "".join(self._tokens[self._at + 1:self._at + 2])
        return after[:1] in {"(", *".0123456789"}

    def _number(self) -> Number:
        token = self._next()
        if token == "(":
            self._at += 1
            value = self._sum()
            if not self._take(")"):
                raise NoExpression("a parenthesis is open")
            return value
        if not token or token in _OPERATORS or token == ")":
            raise NoExpression(token)
        self._at += 1
        return Number(Fraction(token.replace(",", "")))


def _times(sign: str, left: Number, right: Number) -> Number:
    if sign == "*":
        return _bounded(left.number * right.number, left, right)
    if right.number == 0:
        raise NoValue("division by zero")
    if sign == "/":
        return _bounded(left.number / right.number, left, right)
    whole = left.number // right.number
    number = Fraction(whole) if sign == "//" \
        else left.number - whole * right.number
    return _bounded(number, left, right)


def _power(base: Number, exponent: Number) -> Number:
    power = exponent.number
    if base.number == 0 and power < 0:
        raise NoValue("division by zero")
    if power.denominator == 1:
        size = max(base.number.numerator.bit_length(),
                   base.number.denominator.bit_length(), 1)
        if abs(base.number) != 1 and abs(power) * size > MAX_BITS:
            raise NoValue("too large")
        return _bounded(base.number ** (int(power) % 2 if abs(
            base.number) == 1 else int(power)), base, exponent)
    try:
        root = float(base.number) ** float(power)
    except OverflowError as error:
        raise NoValue("too large") from error
    if isinstance(root, complex):
        raise NoValue("the root of a negative number")
    exact = Fraction(root)
    if abs(power) < 64 and power.denominator < 64 \
            and exact.denominator == 1 and abs(exact) <= 10 ** 12 \
            and power >= 0 \
            and exact ** power.denominator == base.number ** power.numerator:
        # a rounded root that is the exact one: 16 ** 0.5 is 4
        return _bounded(exact, base, exponent)
    return Number(exact, exact=False)


def _bounded(number: Fraction, *parts: Number) -> Number:
    if number.numerator.bit_length() > MAX_BITS \
            or number.denominator.bit_length() > MAX_BITS:
        raise NoValue("too large")
    return Number(number, all(part.exact for part in parts))


def _decimal(number: Fraction) -> str | None:
    """The number as decimal text; None where that has no end."""
    rest, twos, fives = number.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 60:
        return None
    scaled = abs(number.numerator) * 10 ** places // number.denominator
    digits = str(scaled).rjust(places + 1, "0")
    text = digits[:-places] + "." + digits[-places:] if places else digits
    return ("-" if number < 0 else "") + text


def _rounded(number: Fraction) -> str:
    try:
        return f"{float(number):.{DIGITS}g}"
    except OverflowError:
        return str(round(number))
