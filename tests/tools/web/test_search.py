"""web_search_tool against servers that answer as the engines do."""

import asyncio
import json
import time
from urllib.parse import quote

import pytest

from claw.tools.web import engines
from claw.tools.web.search import WebSearch
from claw.tools.web.settings import WebSearchSettings

JSON = "Content-Type: application/json"

# The fields of docs.searxng.org, "Search API" and result types.
SEARXNG = {
    "query": "tea", "number_of_results": 0, "results": [
        {"url": "https://tea.example/a", "title": "All about <b>tea</b>",
         "content": "Green &amp; black\x1b[31m\n tea.", "engine": "brave",
         "template": "default.html", "parsed_url": ["https", "tea.example",
                                                    "/a", "", "", ""],
         "engines": ["brave"], "positions": [1], "score": 1.0,
         "category": "general", "publishedDate": None},
        {"url": "javascript:alert(1)", "title": "no"},
        {"url": "https://tea.example/a", "title": "again"},
        {"url": "https://tea.example/b", "title": "", "content": None}],
    "answers": [], "corrections": [], "infoboxes": [], "suggestions": [],
    "unresponsive_engines": [["google", "CAPTCHA"]]}

# WebSearchApiResponse of Brave's documentation.
BRAVE = {
    "type": "search", "query": {"original": "tea", "more_results_available":
                                True},
    "mixed": {"type": "mixed", "main": [{"type": "web", "index": 0}]},
    "web": {"type": "search", "results": [
        {"title": "Tea", "url": "https://tea.example/a", "language": "en",
         "is_source_local": False, "is_source_both": False,
         "description": "A <strong>drink</strong>", "page_age": "2026-01-01",
         "profile": {"name": "x", "url": "https://tea.example"},
         "family_friendly": True, "type": "search_result",
         "meta_url": {"scheme": "https", "netloc": "tea.example"}}]}}


def ddg_result(url, title, snippet, kind="results_links"):
    link = f"//duckduckgo.com/l/?uddg={quote(url, safe='')}&amp;rut=ab12"
    return f"""
<div class="result {kind} results_links_deep web-result ">
  <div class="links_main links_deep result__body">
    <h2 class="result__title">
      <a rel="nofollow" class="result__a" href="{link}">{title}</a></h2>
    <div class="result__extras"><a class="result__url" href="{link}">
      tea.example</a></div>
    <a class="result__snippet" href="{link}">{snippet}</a>
  </div></div>"""


DUCKDUCKGO = f"""<!DOCTYPE html><html><body><div id="links" class="results">
{ddg_result("https://duckduckgo.com/y.js?ad_domain=x", "Buy!", "ad",
            "result--ad")}
{ddg_result("https://tea.example/a?x=1&y=ü", "All about <b>tea</b>",
            "Green &amp; <b>black</b>")}
{ddg_result("https://tea.example/b", "Second", "")}
{ddg_result("javascript:alert(1)", "no", "no")}
</div></body></html>"""


def search(web, site, monkeypatch, engine="searxng", query="tea", **more):
    settings = {"provider": engine, "brave_api_key": "BSA-S3CRET", **more}

    async def go():
        async with site.up():
            base = f"http://127.0.0.1:{site.port}"
            monkeypatch.setattr(engines, "BRAVE", f"{base}/res")
            monkeypatch.setattr(engines, "DUCKDUCKGO", f"{base}/html/")
            settings.setdefault("searxng_instance_url", base)
            return await web.execute(WebSearch(
                web.deps(), WebSearchSettings(**settings)), query=query)
    return asyncio.run(go())


def test_searxng(web, monkeypatch):
    site = web.Site(web.answer(json.dumps(SEARXNG), JSON))
    result = search(web, site, monkeypatch, query="green tea & more")

    assert site.requests[0].startswith(
        "GET /search?q=green+tea+%26+more&format=json HTTP/1.1\r\n")
    assert result.output == (
        "Search results for: green tea & more (via SearXNG)\n"
        "1. All about tea\n   https://tea.example/a\n"
        "   Green & black[31m tea.\n"
        "2. https://tea.example/b\n   https://tea.example/b")


def test_brave(web, monkeypatch):
    site = web.Site(web.answer(json.dumps(BRAVE), JSON))
    result = search(web, site, monkeypatch, "Brave", max_results=3)

    head = site.requests[0].lower()
    assert head.startswith("get /res?q=tea&count=3 http/1.1\r\n")
    assert "\r\nx-subscription-token: bsa-s3cret\r\n" in head
    assert result.output == (
        "Search results for: tea (via Brave)\n"
        "1. Tea\n   https://tea.example/a\n   A drink")


def test_duckduckgo_needs_no_key_and_says_what_it_is(web, monkeypatch):
    site = web.Site(web.answer(DUCKDUCKGO, "Content-Type: text/html"))
    result = search(web, site, monkeypatch, "duckduckgo")

    assert site.requests[0].startswith("POST /html/ HTTP/1.1\r\n")
    assert site.requests[0].endswith("\r\n\r\nq=tea")
    lines = result.output.split("\n")
    assert lines[0] == "Search results for: tea (via DuckDuckGo)"
    assert "without a key" in lines[1]
    assert lines[2:] == [
        "1. All about tea", "   https://tea.example/a?x=1&y=ü",
        "   Green & black", "2. Second", "   https://tea.example/b"]


@pytest.mark.parametrize(("name", "title"), [
    ("ddg", "DuckDuckGo"), ("searx", "SearXNG"), ("BRAVE", "Brave"),
    (" SearXNG ", "SearXNG"), ("brave-search", "Brave"),
    ("altavista", "DuckDuckGo"), ("", "DuckDuckGo")])
def test_engines_by_any_of_their_names(web, monkeypatch, name, title):
    empty = {"DuckDuckGo": "<div class='no-results'>No results.</div>",
             "SearXNG": '{"results": []}', "Brave": '{"type": "search"}'}
    result = search(web, web.Site(web.answer(empty[title])), monkeypatch,
                    name)
    assert result.output == f"No results found for: tea (via {title})"


@pytest.mark.parametrize(("wanted", "got"), [(0, 1), (3, 3), (99, 10)])
def test_as_many_results_as_the_setting_says(web, monkeypatch, wanted, got):
    many = {"results": [{"url": f"https://a.example/{n}", "title": str(n)}
                        for n in range(30)]}
    result = search(web, web.Site(web.answer(json.dumps(many), JSON)),
                    monkeypatch, max_results=wanted)
    assert result.output.count("https://") == got


def test_what_is_found_labels_the_turn_and_may_be_a_link(web, monkeypatch):
    search(web, web.Site(web.answer(json.dumps(SEARXNG), JSON)), monkeypatch)

    assert web.turn.labels == {"web"}
    assert web.turn.found == {"https://tea.example/a",
                              "https://tea.example/b"}


@pytest.mark.parametrize(("engine", "answer", "word"), [
    ("searxng", ("no", "403 Forbidden"), "search.formats"),
    ("searxng", ("<html>", "200 OK"), "is that the right server"),
    ("searxng", ('{"results": 5}', "200 OK"), "no results in the answer"),
    ("searxng", ("[" * 100_000, "200 OK"), "gave no results"),
    ("brave", ('{"type": "ErrorResponse", "error": {"detail": "x"}}',
               "422 Unprocessable Entity"), "Brave"),
    ("brave", ("null", "200 OK"), "no results in the answer"),
    ("brave", ("", "401 Unauthorized"), "brave_api_key"),
    ("ddg", ('<form id="challenge-form" action="//duckduckgo.com/anomaly.js">',
             "202 Accepted"), "whether a person is searching"),
    ("ddg", ("<html>hello", "200 OK"), "no page of results"),
    ("ddg", ("", "500 Oops"), "web_search.provider"),
])
def test_an_engine_that_fails_says_what_to_do(web, monkeypatch, engine,
                                              answer, word):
    body, status = answer
    result = search(web, web.Site(web.answer(body, status=status)),
                    monkeypatch, engine)

    assert not result.success
    assert word in result.error
    assert "S3CRET" not in result.error


@pytest.mark.parametrize(("engine", "missing", "word"), [
    ("brave", {"brave_api_key": ""}, "web_search.brave_api_key"),
    ("searxng", {"searxng_instance_url": ""},
     "web_search.searxng_instance_url")])
def test_what_is_not_set_is_named(web, monkeypatch, engine, missing, word):
    result = search(web, web.Site(b""), monkeypatch, engine, **missing)
    assert f"{word} is not set" in result.error
    assert web.turn.labels == set()


def test_a_silent_engine_ends_in_time(web, monkeypatch):
    async def silent(writer):
        await asyncio.sleep(20)
    start = time.monotonic()
    result = search(web, web.Site(silent), monkeypatch, timeout_secs=1)

    assert not result.success
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("page", [
    '<a class="result__a" href="x">' * 40_000,
    '<a class="result__a"' * 50_000,
    "<a " * 300_000,
    '<a class="result__a" href="http://a.b/">t</a>'
    + '<a class="result__snippet">' * 40_000])
def test_a_hostile_page_is_read_in_time(page):
    start = time.process_time()
    try:
        engines.read_duckduckgo(page)
    except ValueError:
        pass
    assert time.process_time() - start < 5
