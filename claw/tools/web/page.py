"""What was fetched as text, and the addresses in it. Pure."""

import html
from contextlib import suppress
from urllib.parse import urldefrag, urljoin

from claw.core.errors import UsageError
from claw.net.guarded import Page
from claw.text.addresses import find_urls
from claw.text.charset import decode_page
from claw.text.encoding import find_binary
from claw.text.readable import Article, read_article
from claw.tools.web.foreign import clean, is_web, to_line

_PAGES = ("text/html", "application/xhtml+xml")
_HEAD_BYTES = 4096


def read_body(page: Page) -> str | None:
    """The text of a body; None for bytes that are none."""
    if not page.charset and b"\0" in page.content[:_HEAD_BYTES] \
            and find_binary(page.content) is not None:
        return None
    return decode_page(page.content, page.charset)


def describe_bytes(page: Page) -> str:
    """What a body that is no text is."""
    found = find_binary(page.content)
    return found.what if found else "no text"


def read_page(page: Page, links: bool = False) -> tuple[str, list[str]]:
    """Address, title and text, with its links where they are wanted, and
    the addresses that it names. Raises UsageError for what is no text."""
    text = read_body(page)
    if text is None:
        raise UsageError(f"{page.final_url} is {describe_bytes(page)}, no "
                         "page")
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
