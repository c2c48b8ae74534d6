"""The page's own files, with headers that let nothing else in.

No script and no style stands in the HTML; the script can make HTML from
text nowhere (Trusted Types); nothing is fetched from another host.
Source: Content Security Policy Level 3, Trusted Types (W3C).
"""

import hashlib
import json
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from string import Template

from starlette.responses import Response

from claw.gateway.endpoint import Call, Endpoint
from claw.gateway.page.words import list_words

POLICY = "; ".join((
    "default-src 'none'", "script-src 'self'", "style-src 'self'",
    "img-src 'self'", "connect-src 'self'", "manifest-src 'none'",
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    "require-trusted-types-for 'script'", "trusted-types 'none'"))
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript",
          "svg": "image/svg+xml"}
_INDEX = "index.html"


def list_files() -> Iterator[Endpoint]:
    """The rows of the files; the page is at "/", the rest below "/page/".
    Nothing of the owner's is in them, so they are open."""
    for path in (files("claw.gateway.page") / "static").iterdir():
        name = path.name
        if name == _INDEX:
            yield _build_row("/", name, _render(path.read_text("utf-8")))
        elif name.rpartition(".")[2] in _TYPES:
            yield _build_row(f"/page/{name}", name, path.read_bytes())


def _build_row(path: str, name: str, body: bytes) -> Endpoint:
    kind = _TYPES[name.rpartition(".")[2]]
    headers = {**_HEADERS,
               "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"'}

    async def send(call: Call) -> Response:
        if call.request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers,
                        media_type=f"{kind}; charset=utf-8")
    return Endpoint(path, send, access="open")


def _render(html: str) -> bytes:
    """The HTML with its words; the script finds all of them in the
    attribute data-words of the body."""
    words = list_words()
    return Template(html).substitute(
        {name: escape(text) for name, text in words.items()},
        all_words=escape(json.dumps(words, ensure_ascii=False)),
    ).encode()
