"""web_fetch: what a page says, as text."""

import asyncio

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
from claw.tools.web.foreign import (
    WebTool,
    add_label,
    add_seen,
    build_rules,
    to_line,
)
from claw.tools.web.settings import WebFetchSettings

# Characters of one result; the agent leaves out the middle of longer ones.
WINDOW = 30_000
HOPS = 10
_ACCEPT = ("text/html", "application/xhtml+xml", "text/*",
           "application/json", "application/*+json", "application/xml",
           "application/*+xml", "application/yaml",
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
        text, urls = await asyncio.to_thread(_read, page, args["links"])
        add_seen(urls)
        return ToolResult(output=show_window(text, args["start"], page.cut))


def _read(page: Page, links: bool) -> tuple[str, list[str]]:
    from claw.tools.web.page import read_page  # its patterns cost 10 ms
    return read_page(page, links)


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
