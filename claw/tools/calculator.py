"""calculator: exact arithmetic, and the functions of a school calculator.

Numbers are fractions: 0.1 is one tenth. Roots, logarithms and powers that
are no fractions come with 28 digits and say that they are rounded.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, DecimalException, localcontext
from fractions import Fraction
from math import factorial, floor, isqrt
from typing import Any, TypeAlias

from claw.core.errors import UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    number,
    optional,
    string,
)
from claw.tools.offer.checked import CheckedTool

_DIGITS = 28
_BITS = 13_000  # of a result: nearly 4,000 digits
_MOST_VALUES = 10_000
_LARGEST_FACTORIAL = 1_200

Number: TypeAlias = Fraction | Decimal


class Calculator(CheckedTool):
    """Calculates; knows nothing of the machine."""

    name = "calculator"
    reads = True
    repeatable = True
    labels_itself = True
    description = ("Calculate exactly. add, multiply, statistics and the "
                   "like take values; subtract, divide, modulo, pow and "
                   "percentage_change (from a to b) take a and b, the first "
                   "two also values; sqrt, abs, round, log, ln, exp, "
                   "factorial and clamp take x. Variance and stdev are the "
                   "population's.")

    def __init__(self, deps: ToolDeps) -> None:
        """It needs nothing."""

    def parameters_schema(self) -> Schema:
        return closed_object(
            function=string("What to calculate", enum=sorted(_FUNCTIONS)),
            values=optional({"type": "array", "items": {"type": "number"},
                             "description": "The numbers"}),
            a=optional(number("First number")),
            b=optional(number("Second number; the exponent of pow")),
            x=optional(number("The number")),
            base=optional(number("Of log; 10 if left out")),
            decimals=optional(number("Of round; 0 if left out")),
            p=optional(number("Of percentile, 0 to 100")),
            min_val=optional(number("Of clamp")),
            max_val=optional(number("Of clamp")))

    async def run(self, args: Arguments) -> ToolResult:
        given = _Given(args)
        try:
            result = _FUNCTIONS[args["function"]](given)
        except (DecimalException, OverflowError):
            raise UsageError("the result is too large or not a number"
                             ) from None
        if isinstance(result, list):
            return ToolResult(output=", ".join(map(_show, result)))
        return ToolResult(output=_show(result))


class _Given:
    """The arguments as fractions. Raises UsageError for a missing one."""

    def __init__(self, args: Arguments) -> None:
        self._args = args

    def __getattr__(self, name: str) -> Fraction:
        return _read(self.get(name))

    def get(self, name: str, default: Any = None) -> Any:
        value = self._args.get(name, default)
        if value is None:
            raise UsageError(f"{self._args['function']} needs {name}")
        return value

    @property
    def values(self) -> list[Fraction]:
        values = self.get("values")
        if not values:
            raise UsageError("values is empty")
        if len(values) > _MOST_VALUES:
            raise UsageError(f"at most {_MOST_VALUES} values")
        return list(map(_read, values))

    @property
    def operands(self) -> list[Fraction]:
        """Two or more: values, or a and b."""
        if "values" in self._args:
            return self.values
        return [self.a, self.b]


def _read(value: float) -> Fraction:
    return _bound(Fraction(value if isinstance(value, int) else repr(value)))


def _bound(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(),
           value.denominator.bit_length()) > _BITS:
        raise UsageError("the number is too large")
    return value


def _fold(step: Callable[[Fraction, Fraction], Fraction]
          ) -> Callable[[_Given], Fraction]:
    def fold(given: _Given) -> Fraction:
        first, *others = given.operands
        for other in others:
            first = _bound(step(first, other))
        return first
    return fold


def _divide(a: Fraction, b: Fraction) -> Fraction:
    if b == 0:
        raise UsageError("division by zero")
    return a / b


def _modulo(given: _Given) -> Fraction:
    """With the sign of b."""
    return given.a - given.b * floor(_divide(given.a, given.b))


def _add(values: Sequence[Fraction]) -> Fraction:
    total = Fraction()
    for value in values:
        total = _bound(total + value)
    return total


def _mean(values: Sequence[Fraction]) -> Fraction:
    return _add(values) / len(values)


def _variance(given: _Given) -> Fraction:
    values = given.values
    mean = _mean(values)
    return _add([_bound((value - mean) ** 2) for value in values]
                ) / len(values)


def _percentile(values: Sequence[Fraction], share: Fraction) -> Fraction:
    """Between the two nearest ranks in a straight line."""
    if not 0 <= share <= 100:
        raise UsageError("p must be 0 to 100")
    ordered = sorted(values)
    place = share / 100 * (len(ordered) - 1)
    below = floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (
        place - below)


def _mode(given: _Given) -> list[Number]:
    counts = Counter(given.values)
    most = max(counts.values())
    return sorted(value for value, count in counts.items() if count == most)


def _round(given: _Given) -> Fraction:
    """Halves away from zero."""
    scale = Fraction(10) ** _whole("decimals", given.get("decimals", 0),
                                   -1_000, 1_000)
    x = given.x
    rounded = floor(abs(x) * scale + Fraction(1, 2)) / scale
    return rounded if x >= 0 else -rounded


def _whole(name: str, value: float, low: int, high: int) -> int:
    if value != int(value) or not low <= value <= high:
        raise UsageError(f"{name} must be a whole number from {low} to "
                         f"{high}")
    return int(value)


def _power(given: _Given) -> Number:
    base, exponent = given.a, given.b
    if base == 0 and exponent < 0:
        raise UsageError("division by zero")
    if exponent.denominator == 1:
        if abs(base) in (0, 1):  # any exponent, however large
            odd = exponent.numerator % 2
            return base ** (odd or 2 if exponent else 0)
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if bits * abs(exponent) > _BITS:
            raise UsageError("the result is too large")
        return base ** exponent.numerator
    if base < 0:
        raise UsageError("a root of a negative number is no real number")
    if exponent == Fraction(1, 2):
        return _root(base)
    with _precise():
        return _decimal(base) ** _decimal(exponent)


def _root(value: Fraction) -> Number:
    if value < 0:
        raise UsageError("a root of a negative number is no real number")
    above, below = isqrt(value.numerator), isqrt(value.denominator)
    if above ** 2 == value.numerator and below ** 2 == value.denominator:
        return Fraction(above, below)
    with _precise():
        return _decimal(value).sqrt()


def _logarithm(given: _Given) -> Number:
    x, base = given.x, _read(given.get("base", 10))
    if x <= 0 or base <= 0 or base == 1:
        raise UsageError("a logarithm needs x > 0 and a base > 0, not 1")
    with _precise():
        found = _decimal(x).ln() / _decimal(base).ln()
        whole = int(found.to_integral_value())
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(whole) * bits <= 2 * _BITS and base ** whole == x:
        return Fraction(whole)
    return found


def _natural(given: _Given) -> Number:
    if given.x <= 0:
        raise UsageError("a logarithm needs x > 0")
    with _precise():
        return _decimal(given.x).ln() if given.x != 1 else Fraction()


def _exponential(given: _Given) -> Number:
    with _precise():
        return _decimal(given.x).exp() if given.x else Fraction(1)


def _factorial(given: _Given) -> Fraction:
    return Fraction(factorial(_whole("x", given.get("x"), 0,
                                     _LARGEST_FACTORIAL)))


def _change(given: _Given) -> Fraction:
    return _divide(given.b - given.a, abs(given.a)) * 100


def _clamp(given: _Given) -> Fraction:
    low, high = given.min_val, given.max_val
    if low > high:
        raise UsageError("min_val is over max_val")
    return min(max(given.x, low), high)


_FUNCTIONS: dict[str, Callable[[_Given], Number | list[Number]]] = {
    "add": lambda given: _add(given.operands),
    "subtract": _fold(lambda a, b: a - b),
    "multiply": _fold(lambda a, b: a * b),
    "divide": _fold(_divide),
    "pow": _power,
    "sqrt": lambda given: _root(given.x),
    "abs": lambda given: abs(given.x),
    "modulo": _modulo,
    "round": _round,
    "log": _logarithm,
    "ln": _natural,
    "exp": _exponential,
    "factorial": _factorial,
    "sum": lambda given: _add(given.values),
    "average": lambda given: _mean(given.values),
    "median": lambda given: _percentile(given.values, Fraction(50)),
    "mode": _mode,
    "min": lambda given: min(given.values),
    "max": lambda given: max(given.values),
    "range": lambda given: max(given.values) - min(given.values),
    "variance": _variance,
    "stdev": lambda given: _root(_variance(given)),
    "percentile": lambda given: _percentile(given.values, given.p),
    "count": lambda given: Fraction(len(given.get("values"))),
    "percentage_change": _change,
    "clamp": _clamp,
}


def _precise() -> Any:
    """Twelve digits more than are shown."""
    return localcontext(Context(prec=_DIGITS + 12))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _show(value: Number) -> str:
    if isinstance(value, Decimal):
        return f"{_digits(value)} (rounded)"
    exact = _write_exactly(value)
    if exact is not None:
        return exact
    with _precise():
        rounded = _decimal(value)
    shown = f"{value.numerator}/{value.denominator}"
    return _digits(rounded) + (f" (exactly {shown})" if len(shown) < 60
                               else " (rounded)")


def _digits(value: Decimal) -> str:
    rounded = Context(prec=_DIGITS).plus(value)
    if not -_DIGITS < rounded.adjusted() < 2 * _DIGITS:
        return str(rounded.normalize())
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _write_exactly(value: Fraction) -> str | None:
    """Where the decimals end."""
    rest, places = value.denominator, 0
    for factor in (2, 5):
        times = 0
        while rest % factor == 0:
            rest //= factor
            times += 1
        places = max(places, times)
    if rest != 1 or places > 4 * _DIGITS:
        return None
    digits = str(abs(value.numerator) * 10 ** places // value.denominator)
    digits = digits.zfill(places + 1)
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places
                   else digits)
