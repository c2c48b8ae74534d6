"""Credentials taken out of text before a model or a log sees it."""

import re

_KEEP = 4
# What every match of the patterns has in it: looking for words is much
# quicker than trying a pattern at each place of a long output.
_NAMES = ("token", "key", "secret", "password", "bearer", "creden")
_STARTS = ("sk-", "k_live_", "k_test_", "gsk_", "xai-", "hf_", "ghp_", "gho_",
           "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-",
           "AIza", "AKIA", "r8_", "pplx-", "nvapi-", "zc_")
_BOT = re.compile(r":[A-Za-z0-9_-]{30}")
_NAMED = re.compile(
    r"""((?:token|api[_-]?key|password|secret|user[_-]?key|bearer|credential)
        [\w-]{0,20}["']?\s*[:=]\s*|\bbearer\s+)
        (?:"([^"]{8,})"|'([^']{8,})'|([A-Za-z0-9_.\-]{8,}))""",
    re.IGNORECASE | re.VERBOSE)
# Keys that are known by how they begin.
_PREFIXED = re.compile(
    r"\b(?:sk-ant-|sk-proj-|sk-or-|sk-|[sp]k_(?:live|test)_|gsk_|xai-|hf_|"
    r"gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-|AIza|AKIA|r8_|"
    r"pplx-|nvapi-|zc_)[A-Za-z0-9_\-]{8,}|"
    r"(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}")


def scrub(text: str) -> str:
    """For tool output: the values of named credentials, and tokens known
    by their prefix, keep their first 4 characters."""
    folded = text.lower() if text.isascii() else text.casefold()
    if any(name in folded for name in _NAMES):
        text = _NAMED.sub(_shorten_value, text)
    return scrub_tokens(text)


def scrub_tokens(text: str) -> str:
    """For error bodies: only tokens known by their form."""
    if any(start in text for start in _STARTS) or _BOT.search(text):
        text = _PREFIXED.sub(lambda m: _short(m.group()), text)
    return text


def _shorten_value(match: re.Match[str]) -> str:
    name, double, single, bare = match.groups()
    if double is not None:
        return f'{name}"{_short(double)}"'
    if single is not None:
        return f"{name}'{_short(single)}'"
    return name + _short(bare)


def _short(secret: str) -> str:
    return secret[:_KEEP] + "*[REDACTED]"
