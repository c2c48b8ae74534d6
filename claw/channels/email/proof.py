"""Whether the receiving server found a mail's sender good. Pure.

It says so in Authentication-Results. A sender can write such headers too,
but none above those of the server that took the mail in: only the topmost
one counts, or the topmost one of the name that the settings give. Good is
what speaks for the domain of From: DMARC, DKIM of it or of a domain above
it, SPF of it. Source: RFC 8601, RFC 7489 section 3.1.
"""

import re
from collections.abc import Iterable, Sequence

from claw.channels.email.envelope import normalise_domain
from claw.core.value import Value

# A value ends with a blank or ";": an address may have "=" and quotes in it.
_VALUE = r'(?:"(?:[^"\\]|\\.)*+"|[^\s;"])++'
_TOKEN = re.compile(rf'([^\s;="]++)\s*=\s*({_VALUE})|({_VALUE})|([;"])|\s+',
                    re.DOTALL | re.ASCII)
_PIECE = re.compile(r'\\.|[^\\"()]++|.', re.DOTALL)
# An address of the sender's making, that the server has put in its words.
_SLIPPED_IN = re.compile(r'"[^"]*[;()][^"]*"')
# Servers that write a header for each method (iCloud) begin with these.
_BESIDE = ({"bimi"}, {"arc"}, {"bimi", "arc"})


class Verdict(Value):
    """`why` says what was missing; `server` is who judged."""

    is_good: bool
    why: str = ""
    server: str = ""


class _Result(Value):
    method: str
    result: str
    properties: dict[str, str]


def judge_sender(headers: Iterable[str], domain: str, trusted: str = ""
                 ) -> Verdict:
    """Whether these headers (topmost first) prove a From of `domain`."""
    for header in headers:
        read = _read(header)
        server = read[0] if read is not None else ""
        if trusted and server.lower() != trusted.strip().lower():
            continue
        if read and {one.method for one in read[1]} in _BESIDE:
            continue
        if read is None:
            return Verdict(False, "its Authentication-Results can't be read")
        return _judge(read[1], domain, server)
    return Verdict(False, "no Authentication-Results" + (
        f" of {trusted}" if trusted else ""))


def read_server(header: str) -> str:
    """The name of the server that wrote a header, in small letters; "" for
    one that gives none."""
    read = _read(header)
    return "" if read is None else read[0].lower()


def _judge(results: list[_Result], domain: str, server: str) -> Verdict:
    good = False
    for one in results:
        if one.method == "dmarc":
            if one.result == "fail":
                return Verdict(False, "dmarc=fail", server)
            good |= one.result == "pass" and _domain(
                one.properties.get("header.from")) == domain
        elif one.method == "dkim" and one.result == "pass":
            signer = _domain(one.properties.get("header.d")
                             or one.properties.get("header.i"))
            good |= _speaks_for(signer, domain)
        elif one.method == "spf" and one.result == "pass":
            good |= _domain(one.properties.get("smtp.mailfrom")) == domain
    if good:
        return Verdict(True, "", server)
    found = ", ".join(f"{one.method}={one.result}" for one in results[:6])
    return Verdict(False, f"nothing good for {domain} "
                   f"({found or 'no result'})", server)


def _speaks_for(signer: str | None, domain: str) -> bool:
    """Its own domain, or one above: who holds that holds it too. One below
    is for DMARC to judge, which knows where domains begin."""
    return signer is not None and "." in signer and (
        signer == domain or domain.endswith("." + signer))


def _domain(value: str | None) -> str | None:
    return None if value is None else normalise_domain(
        value.strip('<>"').rpartition("@")[2])


def _read(header: str) -> tuple[str, list[_Result]] | None:
    """The server's name ("" where it gives none) and its results; None
    for what is not in the form."""
    text = _drop_comments(str(header)[:20_000])
    if text is None or _SLIPPED_IN.search(str(header)):
        return None
    server = ""
    groups: list[list[tuple[str, str]]] = [[]]
    for found in _TOKEN.finditer(text):
        name, value, word, sign = found.groups()
        if sign == ";":
            groups.append([])
        elif sign == '"':
            return None
        elif name is not None:
            groups[-1].append((name.lower(), value))
        elif word and len(groups[-1]) > 1:  # of a value that has a blank
            before, value = groups[-1].pop()
            groups[-1].append((before, f"{value} {word}"))
        elif word and len(groups) == 1:  # a version may follow
            server = server or word
    return "" if groups[0] else server, [
        _result(group) for group in groups if group]


def _drop_comments(text: str) -> str | None:
    """None where quotes and comments do not end. In one walk: strangers
    write such headers too."""
    kept: list[str] = []
    depth, quoted = 0, False
    for piece in _PIECE.findall(text):
        if piece == '"' and not depth:
            quoted = not quoted
        elif not quoted and piece in "()":
            depth += 1 if piece == "(" else -1
            piece = " "
        elif not (quoted or depth) and piece in ('\\"', "\\(", "\\)"):
            return None
        if depth < 0:
            return None
        if not depth:
            kept.append(piece)
    return None if depth or quoted else "".join(kept)


def _result(pairs: Sequence[tuple[str, str]]) -> _Result:
    """Of `method[/version] = result property = value ...`."""
    properties: dict[str, str] = {}
    for name, value in pairs[1:]:
        properties.setdefault(name, value)
    method, result = pairs[0]
    return _Result(method.partition("/")[0], result.lower(), properties)
