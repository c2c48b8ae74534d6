"""Secrets taken out of what is sent to people, kept or printed.

Three kinds: secrets of this installation, in any spelling (own.py); secrets
with a form of their own (keys, tokens, private keys, addresses with a
password); and what stands where a secret is assigned or looks random, which
may be wrong and is therefore left in what claw keeps. What only resembles
them (hashes, UUIDs, paths, addresses, images in base64, placeholders of
examples) stays. Linear in the length of the text.
"""

import base64
import binascii
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection
from itertools import pairwise

from claw.security.redact.own import TAG as _SECRET
from claw.security.redact.own import take_out
from claw.security.redact.redaction import scrub_tokens

MIN_ENTROPY = 3.5 + 0.7 * 1.25  # bits per character
_MIN_RANDOM, _MAX_RANDOM = 24, 512  # longer words are data
_MIN_TRANSITIONS = 0.3  # of neighbours; names in camel case have fewer

_API_KEY = "[REDACTED_API_KEY]"
_AWS = "[REDACTED_AWS_CREDENTIAL]"
_BOT_TOKEN = "[REDACTED_BOT_TOKEN]"
_PRIVATE_KEY = "[REDACTED_PRIVATE_KEY]"
_JWT = "[REDACTED_JWT]"
_DATABASE = "[REDACTED_DATABASE_URL]"
_RANDOM = "[REDACTED_HIGH_ENTROPY_TOKEN]"

_W = "A-Za-z0-9_-"
_KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,2}"
                        r"PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,2}"
                      r"PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(r"(?:(?:\s|\\n)*+[A-Za-z0-9+/=]{16,}+)*+")
_MIN_KEY_BODY = 40
_BOT = re.compile(rf"(?<!\d)\d{{5,16}}+:[{_W}]{{35}}(?![{_W}])")
_TOKEN3 = re.compile(rf"(?<![{_W}])eyJ[{_W}]{{10,}}+\.eyJ[{_W}]{{10,}}+"
                     rf"\.[{_W}]{{10,}}+")
_LOGIN = re.compile(
    r"(postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|https?|ftp)"
    r"(?:\+\w{1,16})?://[^\s:/@]{0,128}+:([^\s@/\"'`]{1,256}+)@"
    r"[A-Za-z0-9_.:/?&=%@+~#,-]{0,512}[A-Za-z0-9_/=]", re.IGNORECASE)
_AWS_SECRET = re.compile(
    r"(aws[\w-]{0,20}?(?:secret|access)[\w-]{0,20}[\"']?\s{0,3}[:=]\s{0,3}"
    r"[\"']?)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"""((password|passwd|passphrase|secret|token|api[_-]?key)[\w-]{0,20}+
        (["']?)\s{0,3}(?::=|=>|[:=])\s{0,3})
        (?:"([^"\s]{8,512})"|'([^'\s]{8,512})'
          |([^\s"'`,;<>()\[\]{}]{8,512}+)(?![(\[{]))""",
    re.IGNORECASE | re.VERBOSE)
_MIN_VALUE = {"secret": 16, "token": 20, "apikey": 20}
_PLACEHOLDER = re.compile(
    r"pass(?:word|wd|phrase)?|secret|token|your|example|change|placeholder"
    r"|x{4}|\*{3}|\.{3}|redacted|dummy|sample|^\$|^%|^<|^env\b|environ",
    re.IGNORECASE)
_WORD = re.compile(rf"(?<![{_W}])[{_W}]{{20,512}}+(?![{_W}])")
_CANDIDATE = re.compile(
    r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{24,}+={0,2}(?![A-Za-z0-9@])")
_RUN = re.compile("[A-Za-z0-9]+")
_HEX = re.compile("(?:[0-9a-f]+|[0-9A-F]+)")
# Addresses, images, fingerprints, and base64 over several lines, such as
# certificates.
_DATA = re.compile(
    r"""://[^\s<>"'`]*+|base64,\s{0,2}[A-Za-z0-9+/=_-]*+
    |\bsha(?:1|256|384|512)[-:][A-Za-z0-9+/=]*+
    |^(?:[ \t"'>]*+[A-Za-z0-9+/]{60,}+={0,2}["',;+\\ ]*+\n){2,}+
      (?:[ \t"'>]*+[A-Za-z0-9+/]{4,}+={0,2}["',;+\\ ]*+$)?+""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE)
# How public keys and common files begin in base64.
_KNOWN_BEGINNINGS = ("AAAA", "iVBORw0KGg", "/9j/", "R0lGOD", "UklGR",
                     "JVBERi", "H4sI", "UEsDB", "MII")


def guard(text: str, secrets: Collection[str] = ()) -> str:
    """What is sent to people: with [REDACTED_...] in the place of secrets
    of all three kinds.

    `secrets` are this installation's own; those under 8 characters are
    left alone. Doing it twice changes nothing.
    """
    text = _ASSIGNED.sub(_redact_assigned, redact(text, secrets))
    return _without_random(text)


def redact(text: str, secrets: Collection[str] = ()) -> str:
    """What is kept or shown to the owner: without the secrets that are
    certain, the installation's own and those with a form of their own."""
    text = take_out(text, secrets)
    text = _without_private_keys(text)
    text = _LOGIN.sub(_login, text)
    text = _AWS_SECRET.sub(lambda m: m[1] + _AWS, text)
    return redact_words(text)


def redact_words(text: str) -> str:
    """Without the keys that are one word of letters, digits and signs
    without meaning to a shell: no line, command or address can hide in
    one."""
    text = _BOT.sub(_BOT_TOKEN, text)
    text = _TOKEN3.sub(_JWT, text)
    return _WORD.sub(_redact_prefixed, text)


def _without_private_keys(text: str) -> str:
    """From BEGIN to END; without an END, as far as it is base64."""
    kept: list[str] = []
    at = 0
    closed = True
    while begin := _KEY_BEGIN.search(text, at):
        end = _KEY_END.search(text, begin.end()) if closed else None
        closed = end is not None
        body = _KEY_BODY.match(text, begin.end())
        stop = end.end() if end else body.end() if body else begin.end()
        inner = text[begin.end():end.start() if end else stop]
        secret = sum(map(str.isalnum, inner)) >= _MIN_KEY_BODY
        kept += [text[at:begin.start()],
                 _PRIVATE_KEY if secret else text[begin.start():stop]]
        at = stop
    return "".join([*kept, text[at:]])


def _login(match: re.Match[str]) -> str:
    scheme, password = match[1].lower(), match[2]
    if _is_placeholder(password):
        return match[0]
    if scheme not in ("http", "https", "ftp"):
        return _DATABASE
    start = match.start()
    return (match[0][:match.start(2) - start] + _SECRET
            + match[0][match.end(2) - start:])


def _redact_prefixed(match: re.Match[str]) -> str:
    """A key that is known by how it begins; names such as
    hf_hub_download have no long part with digits."""
    word = match[0]
    if (scrub_tokens(word) == word
            or not any(len(run) >= 12 and _is_mixed(run)
                       for run in _RUN.findall(word))):
        return word
    return _AWS if word.startswith("AKIA") else _API_KEY


def _redact_assigned(match: re.Match[str]) -> str:
    head, name, quoted_name = match[1], match[2], match[3]
    value = match[4] or match[5] or match[6]
    kind = name.lower().replace("_", "").replace("-", "")
    in_code = match.string[match.end():match.end() + 1] in (",", ")")
    sure = (name.isupper() or bool(quoted_name)
            or (head.endswith("=") and not in_code))
    if (len(value) < _MIN_VALUE.get(kind, 8) or "://" in value
            or _is_placeholder(value)
            or not (sure or _is_mixed(value)
                    or any(sign in value for sign in "!@#$%^&*+~"))):
        return match[0]
    if match[6] is None:
        head += match[0][len(head)]
        tail = match[0][-1]
    else:
        tail = value[len(value.rstrip(".!?:")):]
    return head + (_API_KEY if kind == "apikey" else _SECRET) + tail


def _is_placeholder(value: str) -> bool:
    """What examples and code put in the place of a secret."""
    if any(map(str.isdigit, value)) and not value.startswith(("$", "<", "%")):
        return False
    return bool(_PLACEHOLDER.search(value)) or not value.isascii()


def _is_mixed(word: str) -> bool:
    return (any(map(str.isdigit, word)) and any(map(str.isalpha, word)))


def _without_random(text: str) -> str:
    data = [match.span() for match in _DATA.finditer(text)]
    starts = [start for start, _ in data]

    def replaced(match: re.Match[str]) -> str:
        before = bisect_right(starts, match.start())
        if before and match.start() < data[before - 1][1]:
            return match[0]
        return _RANDOM if _looks_random(match[0]) else match[0]

    return _CANDIDATE.sub(replaced, text)


def _looks_random(word: str) -> bool:
    if (len(word) > _MAX_RANDOM or not _is_mixed(word)
            or word.startswith(_KNOWN_BEGINNINGS)):
        return False
    run = max(_RUN.findall(word), key=len)
    if len(run) < 12 or _HEX.fullmatch(run) or not _is_mixed(run):
        return False
    changes = sum(_class(a) != _class(b)
                  for a, b in pairwise(run))
    return (changes >= _MIN_TRANSITIONS * (len(run) - 1)
            and _entropy(word) >= MIN_ENTROPY and not _is_text(word))


def _class(letter: str) -> int:
    return 0 if letter.isdigit() else 1 if letter.isupper() else 2


def _entropy(word: str) -> float:
    """Shannon's, in bits per character."""
    size = len(word)
    return -sum(n / size * math.log2(n / size)
                for n in Counter(word).values())


def _is_text(word: str) -> bool:
    """Whether it is base64 of text that a person could read."""
    try:
        inner = base64.b64decode(
            word.rstrip("=") + "=" * (-len(word.rstrip("=")) % 4),
            altchars=b"-_" if "-" in word or "_" in word else None,
            validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return inner.replace("\n", "").replace("\t", "").isprintable()
