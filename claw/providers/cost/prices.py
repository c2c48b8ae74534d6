"""What models cost: a table of list prices, and how to look one up.

prices.txt beside this file is the table, with its date and its sources; it
is read when a price is first asked for. [cost.prices."MODEL"] goes before
all of it.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from claw.core.ledger import PRICE_KEYS
from claw.core.value import Value, replace
from claw.providers.settings import PriceSettings

_LIST = Path(__file__).with_name("prices.txt")

# Whose table a provider's models are in; others have their own name.
_FAMILY = {"azure": "openai", "moonshot-intl": "moonshot", "zai-cn": "zai",
           "glm": "zai", "glm-cn": "zai", "qwen-intl": "qwen",
           "qwen-us": "qwen", "minimax-cn": "minimax"}
# Models that only their vendor makes: their names tell it anywhere. What
# is open is run by many, each at a price of his own.
_CLOSED = ("openai", "anthropic", "gemini", "xai")
# Who sells the models of others at the makers' prices, and what they call
# the makers.
_GATEWAYS = ("openrouter", "vercel", "aihubmix", "opencode")
_MAKER = {"google": "gemini", "x-ai": "xai", "mistralai": "mistral",
          "moonshotai": "moonshot", "z-ai": "zai", "qwen": "qwen",
          "alibaba": "qwen"}

# Not compiled here: most calls of a local model never need it (0.3 ms).
_LATER = (
    r"(?:@.*|-(?:latest|preview|beta|exp(?:erimental)?|(?:non-)?reasoning"
    r"|00[12]|\d{8}|\d{4}-\d\d-\d\d|\d\d-20\d\d|\d\d-\d\d|\d{4}))$")
_MILLION = 1e6


class Price(Value):
    """Dollars for a million tokens; past `long_from` tokens of prompt
    times `long_input` and `long_output`. An image has at most
    `image_tokens`. With `fees` a call costs more than its tokens."""

    input: float
    output: float
    cached_input: float
    cache_write: float
    long_from: int | None = None
    long_input: float = 1.0
    long_output: float = 1.0
    image_tokens: int = 10_000
    fees: bool = False

    @property
    def free(self) -> bool:
        return not (self.input or self.output or self.cached_input
                    or self.cache_write)

    def cost(self, input_tokens: int, output_tokens: int,
             cached: int = 0, written: int = 0) -> float:
        """Dollars for a call; `cached` and `written` are parts of the
        prompt."""
        plain = max(0, input_tokens - cached - written)
        prompt = (plain * self.input + cached * self.cached_input
                  + written * self.cache_write)
        answer = output_tokens * self.output
        if self.long_from is not None and input_tokens > self.long_from:
            prompt *= self.long_input
            answer *= self.long_output
        return (prompt + answer) / _MILLION

    def most(self, input_tokens: int, output_tokens: int) -> float:
        """The most that a call may cost: some vendors take more for a
        prompt that goes into their cache."""
        return max(self.cost(input_tokens, output_tokens),
                   self.cost(input_tokens, output_tokens,
                             written=input_tokens))

    def count_affordable(self, input_tokens: int, usd: float) -> int:
        """The longest answer, in tokens, that so much certainly pays."""
        prompt = self.most(input_tokens, 0)
        each = (self.most(input_tokens, 1_000_000) - prompt) / _MILLION
        left = usd - prompt
        return 0 if left < 0 else int(left / each) if each else sys.maxsize


FREE = Price(0.0, 0.0, 0.0, 0.0)


class Prices:
    """`own` are the prices of the settings, by model, provider/model, or
    the last part of a model's name. One without input or output is
    none, and no list price stands in for it."""

    def __init__(self, own: Mapping[str, PriceSettings] | None = None
                 ) -> None:
        self.rows = {name.strip().lower(): row
                     for name, row in (own or {}).items()}
        self._own = {name: _read_own(row) for name, row in self.rows.items()}

    def find(self, provider: str, model: str, *, local: bool = False,
           answered: str | None = None) -> Price | None:
        """The price of a model, None where it is not known. A model that
        answered in the place of the one asked has the say. `local` servers
        are free where the settings say nothing."""
        asked = [name for name in (model, answered) if name]
        for name in asked:
            for key in _names(provider.lower(), name.strip().lower()) \
                    if self._own else ():
                if key in self._own:
                    return self._own[key]
        if local:
            return FREE
        for name in reversed(asked):
            found = _find_listed(provider, name)
            if found is not None:
                return found
        return None


def find_rate(prices: Prices, kind: str, provider: str, model: str, *,
              local: bool = False) -> float | None:
    """Dollars for a million tokens, a minute or a million characters (see
    core.ledger.PRICE_KEYS), None where that is not known."""
    name = model.strip().lower()
    (key, _), *_ = PRICE_KEYS[kind]
    for each in _names(provider.lower(), name):
        if each in prices.rows:
            rate: float | None = getattr(prices.rows[each], key)
            return rate
    if local:
        return 0.0
    listed = dict(line.split() for line in read_lists()[f"kind:{kind}"])
    paid, _, parts = listed.get(name.rpartition("/")[2], "").partition("/")
    return float(paid) / float(parts or 1) if paid else None


def _read_own(row: PriceSettings) -> Price | None:
    """A price of the settings; None for half of one."""
    if row.input is None or row.output is None:
        return None
    return Price(
        row.input, row.output,
        row.input / 10 if row.cached_input is None else row.cached_input,
        row.input if row.cache_write is None else row.cache_write)


def _names(provider: str, model: str) -> Iterator[str]:
    """What a price may be filed under, the closest first."""
    for name in strip_dates(model):
        yield name
        yield f"{provider}/{name}"
        yield name.rpartition("/")[2]


_NAME_CHARS = 200


def strip_dates(name: str) -> Iterator[str]:
    """A name, and what is left of it without dates and the like. What is
    longer than any name is left as it is."""
    yield name
    while len(name) <= _NAME_CHARS and name != (
            name := re.sub(_LATER, "", name)):
        yield name


@lru_cache(maxsize=256)
def _find_listed(provider: str, model: str) -> Price | None:
    """The list price."""
    name, _, variant = model.strip().lower().partition(":")
    if variant == "free":
        return FREE
    maker, _, tail = name.rpartition("/")
    maker = maker.rpartition("/")[2]
    provider = provider.lower()
    if variant == "online":  # searches the web for it
        plain = _find_listed(provider, name)
        return plain and replace(plain, fees=True)
    families = [_FAMILY.get(provider, provider)]
    if provider in _GATEWAYS:
        families.append(_MAKER.get(maker, maker))
    for family in (*families, *_CLOSED):
        table = _table(family)
        for short in strip_dates(tail.replace(".", "-")) if table else ():
            if short in table:
                return table[short]
    return None


@cache
def _table(family: str) -> dict[str, Price]:
    """The rows of a family; dots are dashes, since makers and gateways
    differ in them."""
    rows = [line.split() for line in read_lists().get(family, ())]
    return {row[0].replace(".", "-"): _row(row[1:]) for row in rows}


@cache
def read_lists() -> dict[str, list[str]]:
    """The lines of the table by family, and by kind for what is no chat."""
    found: dict[str, list[str]] = {}
    for line in _LIST.read_text("utf-8").splitlines():
        if line.startswith("["):
            rows = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            rows.append(line)
    return found


def list_priced() -> Iterator[tuple[str, str]]:
    """Family and model of every list price of a chat."""
    for family, lines in read_lists().items():
        if ":" not in family:
            yield from ((family, line.split()[0]) for line in lines)


def _row(cells: list[str]) -> Price:
    long_from, times = None, (1.0, 1.0)
    fees = cells[-1] == "+"
    if fees:
        cells.pop()
    image = int(cells.pop()[1:]) if cells[-1].startswith("@") else 10_000
    if cells[-1].startswith(">"):
        tokens, first, second = cells.pop()[1:].split("*")
        long_from = int(tokens.removesuffix("k")) * 1000
        times = (float(first), float(second))
    paid, answer = map(float, cells[:2])
    cached, write = [*cells[2:], "-", "-"][:2]
    return Price(paid, answer,
                 paid / 10 if cached == "-" else float(cached),
                 paid if write == "-" else float(write), long_from, *times,
                 image, fees)
