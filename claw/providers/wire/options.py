"""A vendor's own options in a request (`claw ask -o key=value`). Pure.

What claw knows nothing of goes out as it is, and the vendor decides. What
claw says itself is refused, with the way to say it; so is what would make
an answer dearer than the ledger can know.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from claw.core.errors import UsageError
from claw.providers.wire.json import Json, parse_json

# what to do instead -> keys of any vendor, without _ and in small letters
_OWN: dict[str, str] = {
    "name the model with -m": "model models route fallbacks preset",
    "go on with -c or --cid": "previousresponseid conversation",
    "claw reads text": "modalities responsemodalities audio speechconfig "
                       "imageconfig",
    "give the prompt": "messages input contents prompt",
    "use -s": "system instructions systeminstruction",
    "use -t": "temperature",
    "use --max-tokens": "maxtokens maxcompletiontokens maxoutputtokens "
                        "numpredict",
    "use --schema": "responseformat outputformat format responsemimetype "
                    "responseschema responsejsonschema",
    "use --tools": "tools toolchoice toolconfig functions functioncall",
    "leave it out": "stream streamoptions background",
    "claw reads one answer": "n candidatecount bestof",
}
_INSTEAD = {key: way for way, keys in _OWN.items() for key in keys.split()}
# Tables in which the same holds.
_TABLES = ("generationconfig", "options", "outputconfig", "text")
# Prices are those of the usual service, or higher than that of the others.
_TIERS = {"servicetier": ("auto", "default", "flex", "standard_only")}
_PRICED = ("speed", "inferencegeo", "plugins", "websearch",
           "websearchoptions", "searchparameters", "searchoptions",
           "enablesearch", "mcpservers", "container")
# What says how words are chosen, and nothing of how much is paid.
_UNPAID = (
    "topp topk topa minp typicalp tfsz seed stop stopsequences "
    "frequencypenalty presencepenalty repetitionpenalty repeatpenalty "
    "repeatlastn mirostat mirostateta mirostattau logitbias logprobs "
    "toplogprobs user metadata store safetyidentifier safetysettings "
    "reasoningeffort verbosity effort paralleltoolcalls numctx keepalive")


def parse_options(given: Iterable[str]) -> Json:
    """The options of `key=value`: a value is JSON where it can be, else
    text. Raises UsageError."""
    options: Json = {}
    for text in given:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(f"-o {text}: no key=value",
                             hint="for example: -o top_p=0.9")
        if key in options:
            raise UsageError(f"-o {key} is given twice")
        options[key] = _parse_value(value)
    check_options(options)
    return options


def check_options(options: Mapping[str, Any]) -> None:
    """Raise UsageError for what a request may not be given so."""
    for key, value in options.items():
        bare = _bare(key)
        if bare in _INSTEAD:
            raise UsageError(f"-o {key} is refused: claw says that itself",
                             hint=_INSTEAD[bare])
        if bare in _PRICED or (bare in _TIERS
                               and value not in _TIERS[bare]):
            raise UsageError(
                f"-o {key}={value} is refused: the ledger does not know its "
                "price", hint="one of: " + ", ".join(_TIERS[bare])
                if bare in _TIERS else "leave it out")
        if bare in _TABLES and isinstance(value, dict):
            check_options(value)


def require_unpaid(options: Mapping[str, Any]) -> None:
    """Raise UsageError for options of which it is not known that they leave
    the price of an answer as it is."""
    for key, value in options.items():
        bare = _bare(key)
        if bare in _TABLES and isinstance(value, dict):
            require_unpaid(value)
        elif bare not in _UNPAID.split():
            raise UsageError(
                f"what an answer costs with -o {key} is not known "
                "beforehand", hint="leave out that option, or --max-cost")


def add_options(body: Json, options: Mapping[str, Any]) -> Json:
    """The body with options put in; tables of one name become one."""
    merged = dict(body)
    for key, value in options.items():
        there = merged.get(key)
        merged[key] = add_options(there, value) if isinstance(
            there, dict) and isinstance(value, dict) else value
    return merged


def put_below(options: Mapping[str, Any], table: str, outside: Iterable[str]
              ) -> Json:
    """Options of a vendor that keeps them in a table: all but those of
    `outside` and the table itself."""
    outer = {key: value for key, value in options.items()
             if key == table or key in outside}
    inner = {key: value for key, value in options.items()
             if key not in outer}
    return add_options({table: inner}, outer) if inner else outer


def _parse_value(text: str) -> Any:
    try:
        value = parse_json(text)
        json.dumps(value, allow_nan=False)
        return value
    except ValueError:
        return text


def _bare(key: str) -> str:
    return key.replace("_", "").lower()
