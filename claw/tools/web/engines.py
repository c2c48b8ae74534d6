"""Search engines: the request of each, and its answer as results. Pure.

Sources: docs.searxng.org "Search API"; api-dashboard.search.brave.com, Web
Search; the result page of html.duckduckgo.com as it was in 2026-11.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from claw.core.value import Value, hidden
from claw.tools.web.foreign import is_web, to_line

BRAVE = "https://api.search.brave.com/res/v1/web/search"
DUCKDUCKGO = "https://html.duckduckgo.com/html/"
ALIASES = {"duckduckgo": "duckduckgo", "ddg": "duckduckgo",
           "duck_duck_go": "duckduckgo", "duck-duck-go": "duckduckgo",
           "brave": "brave", "brave_search": "brave",
           "brave-search": "brave", "searxng": "searxng", "searx": "searxng",
           "searx-ng": "searxng", "searx_ng": "searxng"}
TITLES = {"duckduckgo": "DuckDuckGo", "brave": "Brave",
          "searxng": "SearXNG"}

# Nothing reads past the next tag of its kind, so that a page without an end
# to its tags costs one look at each.
_RESULT = re.compile(
    r"<a\b(?=[^<>]{0,500}\bclass=[\"'][^\"'<>]{0,200}\bresult__a\b)"
    r"[^<>]{0,500}?\bhref=[\"']([^\"'<>]{0,4000})[\"'][^<>]{0,500}>"
    r"([^<]*+(?:<(?!/?a\b)[^<]*+)*+)</a>")
_SNIPPET = re.compile(
    r"<(?:a|div|td)\b(?=[^<>]{0,5000}\bclass=[\"'][^\"'<>]{0,200}"
    r"\bresult__snippet\b)[^<>]{0,5000}>"
    r"([^<]*+(?:<(?!/?(?:a|div|td)\b)[^<]*+)*+)</(?:a|div|td)>")
_TAG = re.compile(r"<[^>]*>")
_CHALLENGE = ("anomaly-modal", "anomaly.js", "challenge-form")
_MOST_CHARS = 1_000_000


class Found(Value):
    """One result."""

    title: str
    url: str
    snippet: str = ""


class Request(Value):
    """What to ask an engine: a GET of `url`, a POST where there is a
    `form`."""

    url: str
    headers: Mapping[str, str] = hidden(factory=dict)
    form: Mapping[str, str] | None = None


def build_searxng(base: str, query: str) -> Request:
    """`base` is the address of the server, with or without /search."""
    base = base.strip().rstrip("/").removesuffix("/search")
    asked = urlencode({"q": query, "format": "json"})
    return Request(f"{base}/search?{asked}", {"accept": "application/json"})


def build_brave(key: str, query: str, count: int) -> Request:
    asked = urlencode({"q": query, "count": count})
    return Request(f"{BRAVE}?{asked}", {"accept": "application/json",
                                       "x-subscription-token": key})


def build_duckduckgo(query: str) -> Request:
    return Request(DUCKDUCKGO, {
        "accept": "text/html",
        "content-type": "application/x-www-form-urlencoded"}, {"q": query})


def read_searxng(answer: Any) -> list[Found]:
    """Raises ValueError for what is no answer of SearXNG."""
    if not isinstance(answer, dict) \
            or not isinstance(answer.get("results"), list):
        raise ValueError("no results in the answer")
    return _keep(answer["results"], "content")


def read_brave(answer: Any) -> list[Found]:
    """Raises ValueError for what is no answer of Brave; one without
    results has no "web"."""
    if not isinstance(answer, dict) or not isinstance(
            answer.get("web", {}), dict) or "type" not in answer:
        raise ValueError("no results in the answer")
    results = answer.get("web", {}).get("results", [])
    return _keep(results if isinstance(results, list) else [], "description")


def _keep(results: list[Any], snippet: str) -> list[Found]:
    return list(_drop_repeats(
        Found(_to_text(each.get("title")), each["url"],
              _to_text(each.get(snippet)))
        for each in results if isinstance(each, dict)
        and isinstance(each.get("url"), str)))


def read_duckduckgo(page: str) -> list[Found]:
    """Raises ValueError where the page asks whether we are a person, or is
    no page of results."""
    page = page[:_MOST_CHARS]
    links = list(_RESULT.finditer(page))
    if not links:
        if any(mark in page for mark in _CHALLENGE):
            raise ValueError("it asks whether a person is searching")
        if "no-results" not in page and "No results" not in page:
            raise ValueError("this is no page of results")
    found = []
    for number, link in enumerate(links):
        end = links[number + 1].start() if number + 1 < len(links) \
            else len(page)
        snippet = _SNIPPET.search(page, link.end(), end)
        found.append(Found(_to_text(link[2]), _read_link(link[1]),
                           _to_text(snippet[1]) if snippet else ""))
    return list(_drop_repeats(found))


def _read_link(href: str) -> str:
    """Where a link of the result page leads: its parameter uddg, or
    itself; "" for an advertisement."""
    href = _unescape(href)
    try:
        parts = urlsplit("https:" + href if href.startswith("//") else href)
        at_home = parts.hostname is None or parts.hostname.endswith(
            "duckduckgo.com")
        if at_home and parts.path.rstrip("/") == "/l":
            return _read_link(parse_qs(parts.query).get("uddg", [""])[0])
        if at_home and parts.path == "/y.js":
            return ""
    except ValueError:
        return ""
    return href


def _drop_repeats(found: "Iterator[Found] | list[Found]"
                  ) -> Iterator[Found]:
    """Each web address once."""
    seen = set()
    for each in found:
        url = each.url.strip()
        if is_web(url) and url == to_line(url, 2_000) and url not in seen:
            seen.add(url)
            yield Found(each.title or url, url, each.snippet)


def _to_text(value: Any) -> str:
    """A field that may hold marks of HTML, as one line."""
    text = to_line(value, 5_000)
    return to_line(_unescape(_TAG.sub("", text)))


def _unescape(text: str) -> str:
    import html  # its table costs 3 ms
    return html.unescape(text)
