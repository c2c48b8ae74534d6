"""web_search_tool: what a search engine finds."""

from urllib.parse import urlencode, urlsplit

from claw.core.errors import ClawError, ConfigError, UnavailableError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    string,
)
from claw.net.errors import Peer
from claw.net.http import Answer, HttpClient
from claw.tools.web import engines
from claw.tools.web.engines import Found, Request
from claw.tools.web.foreign import WebTool, add_found, add_label, to_line
from claw.tools.web.settings import WebSearchSettings

_MOST_BYTES = 4 * 1024 * 1024
_QUERY_CHARS = 400
_OTHER_WAYS = ("the owner can name another engine: claw config set "
               "web_search.provider searxng (or brave)")
_KEYLESS = ("DuckDuckGo's result page, read without a key: it may refuse "
            f"programs; {_OTHER_WAYS}")


class WebSearch(WebTool):
    """Titles, addresses and snippets of DuckDuckGo, Brave or SearXNG."""

    name = "web_search_tool"
    table = "web_search"
    reads = True
    repeatable = True
    description = "Search the web. Gives titles, addresses and snippets."

    def __init__(self, deps: ToolDeps,
                 settings: WebSearchSettings | None = None) -> None:
        super().__init__(deps)
        self._settings = settings or WebSearchSettings()

    def parameters_schema(self) -> Schema:
        return closed_object(query=string("What to search for", minLength=1))

    async def run(self, args: Arguments) -> ToolResult:
        own = self._settings
        self._refuse_unless(own.enabled)
        query = to_line(args["query"], _QUERY_CHARS)
        engine = engines.ALIASES.get(own.provider.strip().lower(),
                                     "duckduckgo")
        most = max(1, min(own.max_results, 10))
        request = self._build(engine, query, most)
        self._policy.enforce("read")
        add_label()
        found = (await self._ask(engine, request))[:most]
        add_found(each.url for each in found)
        title = engines.TITLES[engine]
        if not found:
            return ToolResult(output=f"No results found for: {query} "
                                     f"(via {title})")
        heading = f"Search results for: {query} (via {title})"
        if engine == "duckduckgo":
            heading += f"\n[{_KEYLESS}]"
        return ToolResult(output="\n".join(
            [heading, *map(show_result, range(1, most + 1), found)]))

    def _build(self, engine: str, query: str, count: int) -> Request:
        """Raises ConfigError where the engine lacks its key or address."""
        own = self._settings
        if engine == "brave":
            if not own.brave_api_key:
                raise ConfigError("web_search.brave_api_key is not set; the "
                                  "owner sets it with: claw config set "
                                  "web_search.brave_api_key")
            return engines.build_brave(own.brave_api_key, query, count)
        if engine == "searxng":
            if not own.searxng_instance_url:
                raise ConfigError(
                    "web_search.searxng_instance_url is not set; the owner "
                    "sets it with: claw config set "
                    "web_search.searxng_instance_url https://...")
            return engines.build_searxng(own.searxng_instance_url, query)
        return engines.build_duckduckgo(query)

    async def _ask(self, engine: str, request: Request) -> list[Found]:
        """Raises UnavailableError, with what to do about it."""
        title = engines.TITLES[engine]
        client = HttpClient(
            Peer(title, key_hint="set it with: claw config set "
                                 "web_search.brave_api_key"),
            timeout_s=self._settings.timeout_secs, max_bytes=_MOST_BYTES)
        form = None if request.form is None else urlencode(request.form)
        try:
            answer = await client.request(
                "GET" if form is None else "POST", request.url,
                headers=request.headers,
                content=None if form is None else form.encode())
        except ClawError as error:
            hint = self._explain(engine, error)
            raise UnavailableError(f"{error.message}; {hint}") from error
        finally:
            await client.aclose()
        try:
            return _read(engine, answer)
        except (ValueError, RecursionError) as error:
            hint = (_OTHER_WAYS if engine == "duckduckgo"
                    else "is that the right server?")
            raise UnavailableError(
                f"{title} at {urlsplit(request.url).hostname} gave no "
                f"results: {error}; {hint}") from error

    def _explain(self, engine: str, error: ClawError) -> str:
        if engine == "searxng" and getattr(error, "status", None) == 403:
            return ("the server has to allow it: search.formats of its "
                    "settings.yml needs json")
        return _OTHER_WAYS if engine == "duckduckgo" \
            else error.hint or "try again later"


def _read(engine: str, answer: Answer) -> list[Found]:
    if engine == "duckduckgo":
        return engines.read_duckduckgo(answer.text)
    read = engines.read_brave if engine == "brave" else engines.read_searxng
    return read(answer.json())


def show_result(number: int, found: Found) -> str:
    """One numbered result of two or three lines."""
    lines = [f"{number}. {found.title}", f"   {found.url}"]
    if found.snippet:
        lines.append(f"   {found.snippet}")
    return "\n".join(lines)
