"""http_request: one request as it is said, one answer as it comes."""

from collections.abc import Mapping
from typing import Any

from claw.core.errors import UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    optional,
    string,
)
from claw.net.guarded import Ask, Page
from claw.security.redact.redaction import scrub
from claw.tools.web.foreign import (
    WebTool,
    add_label,
    build_rules,
    clean,
    to_line,
)
from claw.tools.web.settings import HttpRequestSettings

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS")
_MOST_BYTES = 64 * 1024 * 1024
_MOST_HEADERS = 50
_HEADER_CHARS = 8_000
# What says where a request goes and where it ends is not the model's.
_OURS = frozenset(("host", "content-length", "transfer-encoding",
                   "connection", "upgrade", "te", "trailer", "expect",
                   "accept-encoding", "proxy-authorization",
                   "proxy-connection", "keep-alive"))
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
# Headers that hold no key, for sure; of others people see the beginning.
_OPEN = frozenset(("accept", "accept-language", "cache-control",
                   "content-type", "if-match", "if-modified-since",
                   "if-none-match", "origin", "range", "referer",
                   "user-agent"))
# Of an answer these are kept from the model: it has no use for them.
_KEPT = frozenset(("set-cookie", "authorization", "www-authenticate",
                   "proxy-authenticate", "authentication-info"))


class HttpRequest(WebTool):
    """Any method, headers and body; redirects are told, not followed."""

    name = "http_request"
    table = "http_request"
    description = ("Make one HTTP request to an allowed host. Redirects are "
                   "not followed.")

    def __init__(self, deps: ToolDeps,
                 settings: HttpRequestSettings | None = None) -> None:
        super().__init__(deps)
        self._settings = settings or HttpRequestSettings()

    def parameters_schema(self) -> Schema:
        return closed_object(
            url=string("http or https address", minLength=1),
            method=string("HTTP method", enum=list(METHODS), default="GET"),
            headers=optional({"type": "object", "description":
                              "Header names and their values",
                              "additionalProperties": {"type": "string"}}),
            body=optional(string("The request's body, as text")))

    def hide(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments as people and logs see them: of a header that may
        hold a key the beginning alone."""
        shown = {name: scrub(value) if isinstance(value, str) else value
                 for name, value in args.items()}
        headers = args.get("headers")
        if isinstance(headers, Mapping):
            shown["headers"] = {
                name: value if str(name).lower() in _OPEN
                else f"{str(value)[:4]}*[REDACTED]"
                for name, value in headers.items()}
        return shown

    async def run(self, args: Arguments) -> ToolResult:
        own = self._settings
        self._refuse_unless(own.enabled)
        rules = build_rules(
            self.table, own.allowed_domains,
            private=own.allowed_domains if own.allow_private_hosts else (),
            private_key="allow_private_hosts")
        rules.check(args["url"])
        headers = check_headers(args.get("headers") or {})
        body = args.get("body")
        self._policy.enforce("act")
        add_label()
        page = await self._http.request(
            Ask(args["method"], headers,
                None if body is None else body.encode("utf-8", "replace"),
                max_bytes=own.max_response_size or _MOST_BYTES),
            args["url"].strip(), timeout_s=own.timeout_secs,
            check=rules.check)
        output = show_answer(page)
        if page.status >= 400:
            return ToolResult.failure(f"HTTP {page.status}", output)
        return ToolResult(output=output)


def check_headers(headers: Mapping[str, Any]) -> dict[str, str]:
    """The headers of a request. Raises UsageError for what no request can
    carry, and for what is not the model's to say."""
    if len(headers) > _MOST_HEADERS:
        raise UsageError(f"at most {_MOST_HEADERS} headers")
    checked: dict[str, str] = {}
    for name, value in headers.items():
        if not name or not _TOKEN.issuperset(name):
            raise UsageError(f"{name[:60]!r} is no header's name")
        if name.lower() in _OURS:
            raise UsageError(f"the header {name} can't be set")
        if not isinstance(value, str) or len(value) > _HEADER_CHARS or any(
                not " " <= c <= "~" and c != "\t" for c in value):
            raise UsageError(f"the header {name} holds what no header can: "
                             "use one line of ASCII")
        checked[name] = value
    return checked


def show_answer(page: Page) -> str:
    """Status, headers and body of an answer as text."""
    lines = [f"Status: {page.status} {to_line(page.reason, 60)}".rstrip(),
             "Headers:"]
    for name, value in page.headers.items():
        shown = "[hidden]" if name in _KEPT else to_line(value, 1_000)
        lines.append(f"  {to_line(name, 100)}: {shown}")
    from claw.tools.web.page import describe_bytes, read_body
    text = read_body(page)
    if text is None:
        text = (f"[{describe_bytes(page)}, {len(page.content)} bytes, not "
                "shown]")
    text = clean(text)
    if page.cut:
        text += ("\n[the body is longer than "
                 "http_request.max_response_size; the rest was not read]")
    return "\n".join([*lines, "", text]).rstrip()
