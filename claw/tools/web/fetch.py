"""web_fetch: what a page says, as text."""

import asyncio
import html
from contextlib import suppress
from urllib.parse import urldefrag, urljoin

from claw.core.errors import UnavailableError, UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    boolean,
    closed_object,
    integer,
    string,
)
from claw.net.guarded import Page
from claw.text.addresses import find_urls
from claw.text.charset import decode_page
from claw.text.encoding import find_binary
from claw.text.readable import Article, read_article
from claw.tools.web.foreign import (
    WebTool,
    add_label,
    add_seen,
    build_rules,
    clean,
    is_web,
    to_line,
)
from claw.tools.web.settings import WebFetchSettings

# Characters of one result; the agent leaves out the middle of longer ones.
WINDOW = 30_000
HOPS = 10
_PAGES = ("text/html", "application/xhtml+xml")
_ACCEPT = (*_PAGES, "text/*", "application/json", "application/*+json",
           "application/xml", "application/*+xml", "application/yaml",
           "application/x-ndjson")


class WebFetch(WebTool):
    """GET a page, readable; plain text, Markdown, JSON and XML as they
    are."""

    name = "web_fetch"
    table = "web_fetch"
    reads = True
    repeatable = True
    description = ("Fetch a web page as readable text. Only http and https "
                   "addresses of the public web. start goes on in a long "
                   "page.")

    def __init__(self, deps: ToolDeps,
                 settings: WebFetchSettings | None = None) -> None:
        super().__init__(deps)
        self._settings = settings or WebFetchSettings()

    def parameters_schema(self) -> Schema:
        return closed_object(
            url=string("The page's address", minLength=1),
            start=integer("Character of the text to begin at", default=0,
                          minimum=0),
            links=boolean("List the page's links too", default=False))

    async def run(self, args: Arguments) -> ToolResult:
        own = self._settings
        self._refuse_unless(own.enabled)
        rules = build_rules(self.table, own.allowed_domains,
                            own.blocked_domains, own.allowed_private_hosts)
        rules.check(args["url"])
        self._policy.enforce("act")
        add_label()
        page = await self._http.fetch(
            args["url"].strip(), max_bytes=own.max_response_size,
            timeout_s=own.timeout_secs, accept=_ACCEPT, hops=HOPS,
            check=rules.check)
        if not 200 <= page.status < 300:
            raise UnavailableError(
                f"HTTP {page.status} {to_line(page.reason, 60)}".rstrip()
                + f" from {page.final_url}; is the address right?")
        # A hostile page can take a while to read: not on the event loop.
        text, urls = await asyncio.to_thread(read_page, page, args["links"])
        add_seen(urls)
        return ToolResult(output=show_window(text, args["start"], page.cut))


def read_page(page: Page, links: bool = False) -> tuple[str, list[str]]:
    """Address, title and text, with its links where they are wanted, and
    the addresses that it names. Raises UsageError for what is no text."""
    binary = find_binary(page.content) if not page.charset else None
    if binary is not None and b"\0" in page.content[:4096]:
        raise UsageError(f"{page.final_url} is {binary.what}, no page")
    text = decode_page(page.content, page.charset)
    lines = [f"Address: {page.final_url}"]
    if page.content_type not in _PAGES and (
            page.content_type or "<html" not in text[:1000].lower()):
        return "\n".join([*lines, "", clean(text)]), find_urls(text)
    article = read_article(text)
    found = read_links(article, page.final_url)
    if title := to_line(article.title, 300):
        lines.append(f"Title: {title}")
    lines += ["", clean(article.text)]
    if links:
        lines += ["", "Links:",
                  *(f"- {words}: {url}" for url, words in found.items())]
    return "\n".join(lines), [*found, *find_urls(article.text)]


def read_links(article: Article, base: str) -> dict[str, str]:
    """Each web address of the page once, with its words."""
    found: dict[str, str] = {}
    for words, href in article.links:
        with suppress(ValueError):  # no address at all
            url = urldefrag(urljoin(base, html.unescape(href))).url
            if is_web(url) and url == to_line(url, 2_000):
                found.setdefault(url, to_line(words, 100))
    return found


def show_window(text: str, start: int, cut: bool) -> str:
    """The text from `start`, and how it goes on. Raises UsageError past its
    end."""
    total = len(text)
    if start and start >= total:
        raise UsageError(f"the page has only {total} characters")
    end = min(total, start + WINDOW)
    notes = []
    if start or end < total:
        notes.append(f"characters {start} to {end} of {total}" + (
            f"; go on with start={end}" if end < total else ""))
    if cut and end == total:
        notes.append("the page is longer than web_fetch.max_response_size; "
                     "the rest was not fetched")
    return text[start:end] + "".join(f"\n[{note}]" for note in notes)
