"""Settings of the web tools. Names and defaults are the reference's, but
where a comment says otherwise."""

import msgspec

# Accepted because the reference's files have them; nothing reads them yet.
INERT = ("browser.session_name", "browser.backend",
         "browser.native_webdriver_url")


def _check_positive(settings: msgspec.Struct, *names: str) -> None:
    for name in names:
        if getattr(settings, name) < 1:
            raise ValueError(f"{name} must be 1 or more")


class WebFetchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[web_fetch]: pages as text.

    enabled: whether the agent is offered the tool
    allowed_domains: hosts that may be fetched, each with the names below it
    blocked_domains: hosts that may not, whatever else is allowed
    allowed_private_hosts: hosts of your own network that may be fetched
    max_response_size: most bytes of one page
    timeout_secs: seconds that one page may take
    """

    enabled: bool = True  # the reference has false
    allowed_domains: list[str] = msgspec.field(
        default_factory=lambda: ["*"])
    blocked_domains: list[str] = []
    allowed_private_hosts: list[str] = []  # not in the reference
    max_response_size: int = 500_000
    timeout_secs: int = 30

    def __post_init__(self) -> None:
        _check_positive(self, "max_response_size", "timeout_secs")


class HttpRequestSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[http_request]: any request, each one asked about.

    enabled: whether the agent is offered the tool
    allowed_domains: hosts that may be asked, each with the names below it;
        none as long as the list is empty
    max_response_size: most bytes of one answer, 0 for no limit of its own
    timeout_secs: seconds that one answer may take
    allow_private_hosts: allowed hosts may be of your own network
    """

    enabled: bool = False
    allowed_domains: list[str] = []
    max_response_size: int = 1_000_000
    timeout_secs: int = 30
    allow_private_hosts: bool = False

    def __post_init__(self) -> None:
        _check_positive(self, "timeout_secs")
        if self.max_response_size < 0:
            raise ValueError("max_response_size must be 0 or more")


class WebSearchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[web_search]: results of a search engine.

    enabled: whether the agent is offered the tool
    provider: duckduckgo (needs no key, reads its result page), brave (needs
        brave_api_key) or searxng (needs searxng_instance_url)
    brave_api_key: key of the Brave Search API
    searxng_instance_url: address of a SearXNG server whose search.formats
        has json
    max_results: results of one search, 1 to 10
    timeout_secs: seconds that one search may take
    """

    enabled: bool = True  # the reference has false
    provider: str = "duckduckgo"
    brave_api_key: str | None = None
    searxng_instance_url: str | None = None
    max_results: int = 5
    timeout_secs: int = 15

    def __post_init__(self) -> None:
        _check_positive(self, "timeout_secs")


class PushoverSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[pushover]: notifications on your phone.

    token: the application's token
    user_key: your user or group key
    """

    token: str | None = None
    user_key: str | None = None

    @property
    def enabled(self) -> bool:
        return bool(self.token and self.user_key)


class BrowserSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[browser]: a Chromium that the agent drives.

    enabled: whether the agent is offered the tool
    allowed_domains: hosts whose pages may be opened, each with the names
        below it; none as long as the list is empty
    allowed_private_hosts: those of them that may be of your own network
    native_headless: without a window
    native_chrome_path: the browser's program; looked for where it is unset
    timeout_secs: seconds that one action may take
    """

    enabled: bool = False
    allowed_domains: list[str] = []
    allowed_private_hosts: list[str] = []  # not in the reference
    native_headless: bool = True
    native_chrome_path: str | None = None
    timeout_secs: int = 30  # not in the reference
    session_name: str | None = None
    backend: str = "auto"
    native_webdriver_url: str | None = None

    def __post_init__(self) -> None:
        _check_positive(self, "timeout_secs")
