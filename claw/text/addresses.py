"""Web addresses in a text: finding them, and making them mere text.

Whoever wrote what a model has read may have it write an address that
carries a secret away: a platform fetches an image by itself, and a person
clicks a link. Between back-ticks no Markdown and no platform makes a link of
it. For that it must be sure what is code already: marks of code that do not
pair on their line, and fences that not everyone would read as such, are
taken away. Pure, linear.
"""

import re
from collections.abc import Collection

# Up to a blank, an angle or a quote; the full-width marks that end a
# sentence where no blank follows it.
_STOPS = "\\s<>\"'`，。、；！？）】」』》”’"
_URL = re.compile(rf"https?://[^{_STOPS}]+", re.IGNORECASE)
_CLOSING = {")": "(", "]": "[", "}": "{"}

_SCHEMES = ("mailto|tel|data|javascript|tg|sms|smsto|mms|xmpp|skype|facetime"
            "|viber|geo|bitcoin|magnet|intent")
_HOST = (r"(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[\w-]{1,63}\.)+"
         r"(?:xn--[a-z0-9-]{1,59}|[^\W\d_]{2,24}))\.?")
# Any scheme and none, and a bare name with a path or a query behind it.
_ADDRESS = re.compile(
    rf"(?<![a-z0-9])[a-z][a-z0-9+.-]{{0,30}}://[^{_STOPS}]+"
    rf"|(?<!:)//[\w-]+\.[^{_STOPS}]+"
    rf"|\b(?:{_SCHEMES}):[^{_STOPS}]+|\bwww\.[^{_STOPS}]+"
    rf"|(?<![\w.@-])(?:[\w.+%:-]{{1,128}}@)?{_HOST}(?::\d{{1,5}})?"
    rf"[/?#][^{_STOPS}]*", re.IGNORECASE)
# A bare name becomes a link too, where its end is one that names have; of
# the ends of file names these are none.
_FILES = ("txt|json|toml|ya?ml|csv|tsv|html?|xml|js|ts|css|cfg|conf|ini|lock"
          "|log|pdf|png|jpe?g|gif|svg|webp|bmp|docx?|xlsx?|pptx?|db|sql|exe"
          "|tar|gz|bz2|mp3|mp4|wav|ogg|opus|bak|tmp|env|cpp|java|rb|go")
_NAME = re.compile(
    rf"(?<![\w.-])(?:[\w.+%:-]{{1,128}}@)?(?:\w[\w-]*\.)+"
    rf"(?!(?:{_FILES})\b)(?:xn--[a-z0-9-]{{1,59}}|[^\W\d_]{{2,24}})"
    r"(?![\w-])(?::\d{1,5})?", re.IGNORECASE)
# The target of a link that becomes an address only when it is read.
_TARGET = re.compile(r"\](?=[(:][ \t]*<?[^)\s]{0,200}[&\\])")
_LINE_ENDS = re.compile("\r\n?|[\v\f\u0085\u2028\u2029]")
_CONTROLS = re.compile("[\0-\x08\x0e-\x1f\x7f]")
_TICKS = re.compile("`+")
_ESCAPE = re.compile(r"(?<!\\)\\++(?=`)")
_ANY = re.compile(f"{_ADDRESS.pattern}|{_NAME.pattern}", re.IGNORECASE)
# A backslash before it would take the back-tick put there.
_ESCAPED_ADDRESS = re.compile(
    rf"(?<!\\)(\\*+)({_ADDRESS.pattern})", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*[\w+#.-]*[ \t]*")
_LIKE_FENCE = re.compile(r"[\s>*+\d.)-]*(?:`{3}|~{3})")


def find_urls(text: str) -> list[str]:
    """The addresses in a text, each once, in order, without the
    punctuation of the sentence around them."""
    found = (_drop_tail(match[0]) for match in _URL.finditer(text))
    return list(dict.fromkeys(url for url in found if len(url) > 8))


def find_addresses(text: str) -> list[tuple[int, int]]:
    """Where a platform may see an address, bare names too, in order."""
    found: list[tuple[int, int]] = []
    for match in _ANY.finditer(text):
        end = match.start() + len(_drop_tail(match[0]))
        if end > match.start():
            found.append((match.start(), end))
    return found


def drop_controls(text: str) -> str:
    """The text with its lines ended by line feeds, and without the control
    characters that no platform shows."""
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))


def make_plain(text: str, known: Collection[str] = ()) -> str:
    """A text whose addresses are no links, but those that are `known`."""
    lines: list[str] = []
    fence = ""
    text = drop_controls(text)
    for line in text.split("\n"):
        if fence:
            bare = line.strip()
            if bare.startswith(fence) and not bare.strip(fence[0]):
                line, fence = bare, ""
        elif opening := _FENCE.fullmatch(line):
            fence = opening[1]
        else:
            line = _make_line_plain(line, known)
        lines.append(line)
    return "\n".join(lines)


def _make_line_plain(line: str, known: Collection[str]) -> str:
    def wrap(match: re.Match[str]) -> str:
        url = _drop_tail(match[2])
        return (match[0] if url in known or not url
                else f"`{url}`{match[2][len(url):]}")
    if _LIKE_FENCE.match(line):
        line = line.replace("```", "'''").replace("~~~", "---")
    kept = ""
    for part, is_code in _split_code(_ESCAPE.sub("", line)):
        if not is_code:
            part = _ESCAPED_ADDRESS.sub(wrap, _TARGET.sub("] ", part))
        if kept.endswith("`") and part.startswith("`"):
            kept += " "  # or the two would be one mark
        kept += part
    return kept


def _split_code(line: str) -> list[tuple[str, bool]]:
    """A line in pieces, and whether each is code. A back-tick without its
    other half becomes an apostrophe."""
    runs = list(_TICKS.finditer(line))
    later: dict[str, list[int]] = {}
    for number in reversed(range(len(runs))):
        later.setdefault(runs[number][0], []).append(number)
    pieces: list[tuple[str, bool]] = []
    at = number = 0
    while number < len(runs):
        run = runs[number]
        places = later[run[0]]
        while places and places[-1] <= number:
            places.pop()
        pieces.append((line[at:run.start()], False))
        if places:
            number = places[-1]
            at = runs[number].end()
            pieces.append((line[run.start():at], True))
        else:
            at = run.end()
            pieces.append(("'" * len(run[0]), False))
        number += 1
    return [*pieces, (line[at:], False)]


def _drop_tail(url: str) -> str:
    while url:
        last = url[-1]
        opening = _CLOSING.get(last)
        if last in ".,;:!?*_~|" or (
                opening and url.count(last) > url.count(opening)):
            url = url[:-1]
        else:
            break
    return url
