"""Link enricher: what the pages say that a message links to.

    [Link: TITLE — SNIPPET]

before the message, one line for each page that could be had. Pages are
fetched through net/guarded.py, so no link reaches an address inside. What
they say is foreign text: the message gets the label "web", and brackets and
angles are replaced, so that no page can write a marker or a tag.
"""

import asyncio
import unicodedata

from claw.core.channel import STRANGER, ChannelMessage
from claw.core.errors import ClawError
from claw.core.log import Log
from claw.core.value import replace
from claw.net.errors import extract_host
from claw.net.guarded import GuardedClient, Page
from claw.runtime.settings import LinkEnricherSettings
from claw.text.addresses import find_urls
from claw.text.charset import decode_page
from claw.text.html import title_and_text

LABEL = "web"
SNIPPET_CHARS = 200
TITLE_CHARS = 200
PAGE_BYTES = 256 * 1024
# Blanks and what is not seen go after reading.
_ENOUGH = 4000
_TYPES = ("text/html", "application/xhtml+xml")


async def enrich(message: ChannelMessage, settings: LinkEnricherSettings,
                 client: GuardedClient, log: Log) -> ChannelMessage:
    """The message with the lines of its links. A page that can't be had is
    left out and logged."""
    if not settings.enabled or message.kind != "message" \
            or STRANGER in message.labels:  # nothing is fetched for them
        return message
    urls = find_urls(message.content)[:settings.max_links]
    lines = await asyncio.gather(*(
        _describe_link(url, settings.timeout_secs, client, log)
        for url in urls))
    found = [line for line in lines if line is not None]
    if not found:
        return message
    return replace(
        message, content="\n".join([*found, message.content]),
        labels=tuple(dict.fromkeys((*message.labels, LABEL))))


async def _describe_link(url: str, timeout_s: float, client: GuardedClient,
                         log: Log) -> str | None:
    try:
        page = await client.fetch(url, max_bytes=PAGE_BYTES,
                                  timeout_s=timeout_s, accept=_TYPES)
    except ClawError as error:
        log("link_not_read", host=extract_host(url), error=error.message)
        return None
    if not 200 <= page.status < 300:
        log("link_not_read", host=extract_host(url),
            error=f"HTTP {page.status}")
        return None
    # A hostile page can take a while to read: not on the event loop.
    title, text = await asyncio.to_thread(_read_page, page)
    snippet = (text if len(text) <= SNIPPET_CHARS
               else text[:SNIPPET_CHARS] + "...")
    title = title[:TITLE_CHARS] or "Untitled"
    return f"[Link: {title} — {snippet}]" if snippet else f"[Link: {title}]"


# -- reading a page

_MARKS = str.maketrans({"[": "(", "]": ")", "<": "‹", ">": "›"})


def _read_page(page: Page) -> tuple[str, str]:
    """The title, and the beginning of what a reader sees."""
    title, text = title_and_text(
        decode_page(page.content, page.charset), _ENOUGH)
    return _one_line(title), _one_line(text)


def _one_line(text: str) -> str:
    """On one line, without what is not seen and without marks."""
    seen = "".join(c if c.isspace() or unicodedata.category(c) not in
                   ("Cc", "Cf", "Cs", "Co", "Cn") else "" for c in text)
    return " ".join(seen.split()).translate(_MARKS)
