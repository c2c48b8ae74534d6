"""What models cost: a table of list prices, and how to look one up.

US dollars for a million tokens: of the prompt, of the answer, of the
prompt where it is read from the vendor's cache (left out: a tenth), and
where it is written to it (left out: as the prompt). `>200k*2*1.5` says
that past so many tokens of prompt the whole of it costs twice and the
answer one and a half times as much.

Facts as of 2026-11: the vendors' price pages (openai.com/api/pricing,
platform.claude.com/docs/en/about-claude/pricing, ai.google.dev/pricing,
api-docs.deepseek.com, mistral.ai/pricing, docs.x.ai, groq.com/pricing,
platform.moonshot.ai, docs.z.ai, alibabacloud.com/help/model-studio,
platform.minimax.io, docs.perplexity.ai, cohere.com/pricing), compared
with the price list of litellm 1.109. Models that are gone keep their last
price. Prices change: [cost.prices."MODEL"] goes before all of this.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from claw.core.ledger import PRICE_KEYS
from claw.core.value import Value
from claw.providers.settings import PriceSettings

_TABLES = {
    "openai": """
gpt-6.1-sol        2     10    .1    2.5    >272k*2*1.5
gpt-6.1-terra      1     5     .05   1.25   >272k*2*1.5
gpt-6-astra        10    50    1     12.5   >272k*2*1.5
gpt-6-sol          2     10    .2    2.5    >272k*2*1.5
gpt-6-luna         .1    .5    .01   .125   >272k*2*1.5
gpt-5.6            4     20    .4    5      >272k*2*1.5
gpt-5.6-sol        4     20    .4    5      >272k*2*1.5
gpt-5.6-terra      2     12    .2    2.5    >272k*2*1.5
gpt-5.6-luna       .2    1.2   .02   .25    >272k*2*1.5
gpt-5.5            5     30    .5    -      >272k*2*1.5
gpt-5.5-pro        30    180   30    -      >272k*2*1.5
gpt-5.4            2.5   15    .25   -      >272k*2*1.5
gpt-5.4-pro        30    180   30    -      >272k*2*1.5
gpt-5.4-mini       .75   4.5   .075
gpt-5.4-nano       .2    1.25  .02
gpt-5.3-codex      1.75  14    .175
gpt-5.3-chat       1.75  14    .175
gpt-5.2            1.75  14    .175
gpt-5.2-codex      1.75  14    .175
gpt-5.2-chat       1.75  14    .175
gpt-5.2-pro        21    168   21
gpt-5.1            1.25  10    .125
gpt-5.1-chat       1.25  10    .125
gpt-5.1-codex      1.25  10    .125
gpt-5.1-codex-max  1.25  10    .125
gpt-5.1-codex-mini .25   2     .025
gpt-5              1.25  10    .125
gpt-5-chat         1.25  10    .125
gpt-5-codex        1.25  10    .125
gpt-5-mini         .25   2     .025
gpt-5-nano         .05   .4    .005
gpt-5-pro          15    120   15
gpt-5-search-api   1.25  10    .125
gpt-4.1            2     8     .5
gpt-4.1-mini       .4    1.6   .1
gpt-4.1-nano       .1    .4    .025
gpt-4o             2.5   10    1.25
gpt-4o-2024-05-13  5     15    5
gpt-4o-mini        .15   .6    .075
gpt-4o-search      2.5   10    1.25
gpt-4o-mini-search .15   .6    .075
chatgpt-4o         5     15    5
chat               5     30    .5
gpt-audio          2.5   10    2.5
gpt-audio-mini     .6    2.4   .6
gpt-4-turbo        10    30    10
gpt-4-1106         10    30    10
gpt-4-0125         10    30    10
gpt-4              30    60    30
gpt-3.5-turbo      .5    1.5   .5
gpt-3.5-turbo-1106 1     2     1
gpt-3.5-turbo-16k  3     4     3
o4-mini            1.1   4.4   .275
o4-mini-deep-research 2  8     .5
o3                 2     8     .5
o3-pro             20    80    20
o3-mini            1.1   4.4   .55
o3-deep-research   10    40    2.5
o1                 15    60    7.5
o1-pro             150   600   150
o1-mini            1.1   4.4   .55
""",
    "anthropic": """
claude-fable-5-1   10    50    .25   12.5
claude-fable-5     10    50    1     12.5
claude-mythos-5-1  10    50    .25   12.5
claude-mythos-5    10    50    1     12.5
claude-mythos      10    50    1     12.5
claude-opus-5-5    4     20    .2    5
claude-opus-5      5     25    .5    6.25
claude-opus-4-8    5     25    .5    6.25
claude-opus-4-7    5     25    .5    6.25
claude-opus-4-6    5     25    .5    6.25
claude-opus-4-5    5     25    .5    6.25
claude-opus-4-1    15    75    1.5   18.75
claude-opus-4-0    15    75    1.5   18.75
claude-opus-4      15    75    1.5   18.75
claude-3-opus      15    75    1.5   18.75
claude-sonnet-5-5  2     10    .1    2.5
claude-sonnet-5    2     10    .2    2.5
claude-sonnet-4-6  3     15    .3    3.75
claude-sonnet-4-5  3     15    .3    3.75
claude-sonnet-4-0  3     15    .3    3.75
claude-sonnet-4    3     15    .3    3.75
claude-3-7-sonnet  3     15    .3    3.75
claude-3-5-sonnet  3     15    .3    3.75
claude-haiku-5-5   .1    .5    .01   .125   >100k*5*5
claude-haiku-4-5   1     5     .1    1.25
claude-3-5-haiku   .8    4     .08   1
claude-3-haiku     .25   1.25  .03   .3
""",
    "gemini": """
gemini-4-argon        2    10   .1
gemini-3.8-flash      .75  3.75 .075
gemini-3.7-flash      .75  3.75 .075
gemini-3.6-flash      .75  3.75 .075
gemini-3.5-flash      1.5  9    .15
gemini-3.5-flash-lite .3   2.5  .03
gemini-3.1-pro        2    12   .2    -   >200k*2*1.5
gemini-3.1-flash-lite .25  1.5  .025
gemini-3-pro          2    12   .2    -   >200k*2*1.5
gemini-3-flash        .5   3    .05
gemini-2.5-pro        1.25 10   .125  -   >200k*2*1.5
gemini-2.5-flash      .3   2.5  .03
gemini-2.5-flash-lite .1   .4   .01
gemini-2.0-flash      .1   .4   .025
gemini-2.0-flash-lite .075 .3   .01875
gemini-pro            2    12   .2    -   >200k*2*1.5
gemini-flash          .75  3.75 .075
gemini-flash-lite     .3   2.5  .03
gemini-omni-flash     1.5  9    1.5
""",
    "xai": """
grok-4.7           2     6     .5    -   >200k*2*2
grok-4.6           2     6     .5    -   >200k*2*2
grok-4.5           2     6     .3    -   >200k*2*2
grok-4.3           1.25  2.5   .2    -   >200k*2*2
grok-4.20          1.25  2.5   .2    -   >200k*2*2
grok-4.20-multi-agent 1.25 2.5 .2    -   >200k*2*2
grok-4             3     15    .75
grok-4-fast        .2    .5    .05
grok-4.1-fast      .2    .5    .05
grok-code-fast     1     2     .2    -   >200k*2*2
grok-code-fast-1   1     2     .2    -   >200k*2*2
grok-build         2     6     .3    -   >200k*2*2
grok-build-0.1     1     2     .2    -   >200k*2*2
grok-3             3     15    .75
grok-3-mini        .3    .5    .075
""",
    "deepseek": """
deepseek-chat      .28   .42   .028
deepseek-reasoner  .28   .42   .028
deepseek-v3.2      .28   .42   .028
deepseek-flash     .3    1.2   .006
deepseek-v4-flash  .3    1.2   .006
deepseek-v4-pro    1.32  3.96  .044
deepseek-r1        .55   2.19  .14
deepseek-v3        .27   1.1   .07
""",
    "mistral": """
mistral-large-4    1.36  4.18  .14
mistral-large-4-0  1.36  4.18  .14
mistral-large-3    .5    1.5   .05
mistral-large      .5    1.5   .05
mistral-large-2411 2     6     .2
mistral-medium-3.5 1.5   7.5   .15
mistral-medium-3.1 .4    2     .04
mistral-medium     1.5   7.5   .15
mistral-small      .15   .6    .015
mistral-tiny       .25   .25
magistral-medium   1.5   7.5   .15
magistral-small    .15   .6    .015
ministral-3b       .1    .1    .01
ministral-8b       .15   .15   .015
ministral-14b      .2    .2    .02
devstral-medium    .4    2     .04
devstral-small     .1    .3    .01
devstral           .4    2     .04
codestral          .3    .9    .03
pixtral-large      2     6     .2
pixtral-12b        .15   .15
voxtral-small      .1    .4    .01
open-mistral-nemo  .3    .3    .03
mistral-nemo       .3    .3    .03
""",
    "groq": """
llama-3.3-70b-versatile .59 .79 .59
llama-3.1-8b-instant    .05 .08 .05
gpt-oss-120b       .15   .6    .075
gpt-oss-20b        .075  .3    .0375
gpt-oss-safeguard-20b .075 .3  .037
kimi-k2-instruct   1     3     .5
qwen3-32b          .29   .59   .29
qwen3.8-27b        .8    4     .8
llama-4-scout-17b-16e-instruct .11 .34 .11
llama-4-maverick-17b-128e-instruct .2 .6 .2
""",
    "moonshot": """
kimi-k3.1-pro      2     10    .2
kimi-k3            3     15    .3
kimi-k2.7-code     .95   4     .19
kimi-k2.6          .95   4     .16
kimi-k2.5          .6    3     .1
kimi-k2            .6    2.5   .15
kimi-k2-thinking   .6    2.5   .15
kimi-k2-turbo      1.15  8     .15
kimi-k2-thinking-turbo 1.15 8  .15
kimi               2     5     .15
moonshot-v1-8k     .2    2     .2
moonshot-v1-32k    1     3     1
moonshot-v1-128k   2     5     2
moonshot-v1-auto   2     5     2
""",
    "zai": """
glm-5.3            1.4   4.4   .26
glm-5.3-flash      .15   .5    .03
glm-5.2            1.4   4.4   .26
glm-5.1            1.4   4.4   .26
glm-5              1     3.2   .2
glm-5-code         1.2   5     .3
glm-5v-turbo       1.2   4     .24
glm-4.7            .6    2.2   .11
glm-4.7-flash      0     0
glm-4.6            .6    2.2   .11
glm-4.6v           .3    .9    .05
glm-4.5            .6    2.2   .11
glm-4.5v           .6    1.8   .11
glm-4.5-x          2.2   8.9   .45
glm-4.5-air        .2    1.1   .03
glm-4.5-airx       1.1   4.5   .22
glm-4.5-flash      0     0
""",
    "qwen": """
qwen3.8-max        2     6     .25
qwen3.8-flash      .15   .47   .016  .2
qwen3.7-max        2.5   7.5   .5    3.125
qwen3.7-plus       .4    1.6   .08   -   >256k*3*3
qwen3.5-plus       .4    2.4   .04   -   >256k*3*3
qwen3-max          1.2   6     .24   -   >32k*2.5*2.5
qwen3-coder-plus   1     5     .1    -   >32k*6*12
qwen3-coder-flash  .3    1.5   .08   -   >32k*5.4*6.4
qwen3-vl-plus      .2    1.6   .04   -   >32k*3*3
qwen-max           1.6   6.4   .64
qwen-plus          .4    1.2   .16   -   >256k*3*3
qwen-flash         .05   .4    .02   -   >256k*5*5
qwen-turbo         .05   .2    .02
qwq-plus           .8    2.4   .8
qwen3-next-80b-a3b-instruct .15 1.2
qwen3-next-80b-a3b-thinking .15 1.2
""",
    "minimax": """
minimax-m3         .3    1.2   .06   -   >512k*2*2
minimax-m2.5       .3    1.2   .03   .375
minimax-m2.5-lightning .3 2.4  .03   .375
minimax-m2.1       .3    1.2   .03   .375
minimax-m2.1-lightning .3 2.4  .03   .375
minimax-m2         .3    1.2   .03   .375
""",
    "perplexity": """
sonar              1     1     1
sonar-pro          3     15    3
sonar-reasoning    1     5     1
sonar-reasoning-pro 2    8     2
sonar-deep-research 2    8     2
""",
    "cohere": """
command-a          2.5   10    2.5
command-r          .15   .6    .15
command-r-plus     2.5   10    2.5
command-r7b        .0375 .15   .0375
""",
    "cerebras": """
gpt-oss-120b       .35   .75   .35
llama3.1-8b        .1    .1    .1
llama-3.3-70b      .85   1.2   .85
qwen-3-32b         .4    .8    .4
qwen-3.8-27b       .99   1.49  .99
""",
}

# What is no chat, at the prices of those who make it (the same pages).
_RATES = {
    "embedding": {"text-embedding-3-small": .02, "text-embedding-3-large":
                  .13, "text-embedding-ada-002": .1,
                  "gemini-embedding-001": .15},
    "transcription": {"whisper-1": .006, "gpt-4o-transcribe": .006,
                      "gpt-4o-mini-transcribe": .003,
                      "whisper-large-v3-turbo": .04 / 60,
                      "whisper-large-v3": .111 / 60},
    "synthesis": {"tts-1": 15.0, "tts-1-hd": 30.0},
}

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
    times `long_input` and `long_output`."""

    input: float
    output: float
    cached_input: float
    cache_write: float
    long_from: int | None = None
    long_input: float = 1.0
    long_output: float = 1.0

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
    return 0.0 if local else _RATES[kind].get(name.rpartition("/")[2])


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
    rows = [line.split() for line in _TABLES.get(family, "").splitlines()]
    return {row[0].replace(".", "-"): _row(row[1:]) for row in rows if row}


def _row(cells: list[str]) -> Price:
    long_from, times = None, (1.0, 1.0)
    if cells[-1].startswith(">"):
        tokens, first, second = cells.pop()[1:].split("*")
        long_from = int(tokens.removesuffix("k")) * 1000
        times = (float(first), float(second))
    paid, answer = map(float, cells[:2])
    cached, write = [*cells[2:], "-", "-"][:2]
    return Price(paid, answer,
                 paid / 10 if cached == "-" else float(cached),
                 paid if write == "-" else float(write), long_from, *times)
