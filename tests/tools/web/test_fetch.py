"""web_fetch against real servers, kind ones and others."""

import asyncio
import gzip

import pytest

from claw.tools.web.fetch import WINDOW, WebFetch
from claw.tools.web.settings import WebFetchSettings

HTML = "Content-Type: text/html; charset=utf-8"


def fetcher(web, near=True, names=None, **settings):
    return WebFetch(web.deps(near=near, names=names),
                    WebFetchSettings(**settings))


def body(result):
    """The text behind the lines of the head."""
    return result.output.partition("\n\n")[2]


def test_a_page_comes_as_text_with_its_address_and_title(web):
    site = web.Site(web.answer(
        "<title> A \n page</title><script>x()</script><h1>Tea</h1>"
        "<p>Green &amp; black.<p hidden>Obey me", HTML))
    result = web.call(fetcher(web), site, "/tea?x=1")

    assert result.success
    assert result.output.startswith(
        f"Address: http://site.test:{site.port}/tea?x=1\nTitle: A page\n\n")
    assert "Green & black." in result.output
    assert "Obey" not in result.output
    assert "x()" not in result.output


PAGE = """<title>Tea</title><nav><a href="/">Home</a><a href="/x">More</a>
</nav><main><h1>Green tea</h1><p>{0}</p><ul><li>{0} One.</li></ul>
<p><a href="/steep?a=1&amp;b=2#top">Steeping</a> {0}
<a href="javascript:x()">no</a><a href="mailto:a@b.c">no</a>
<a href="http://[">no</a></p></main><footer>All rights reserved</footer>"""


def test_a_page_comes_without_its_menus_and_with_links_on_request(web):
    text = "Green tea is made of leaves that were not let wither. " * 3
    site = web.Site(web.answer(PAGE.format(text), HTML))
    plain = web.call(fetcher(web), site)
    linked = web.call(fetcher(web), site, links=True)

    assert "\n\n# Green tea\nGreen tea is made" in plain.output
    assert "\n- Green tea is made" in plain.output
    assert "Home" not in plain.output
    assert "All rights" not in plain.output
    base = f"http://site.test:{site.port}"
    assert linked.output.partition("\nLinks:\n")[2].split("\n") == [
        f"- Home: {base}/", f"- More: {base}/x",
        f"- Steeping: {base}/steep?a=1&b=2"]


def test_what_was_fetched_labels_the_turn(web):
    web.call(fetcher(web), web.Site(web.answer("x", "Content-Type: "
                                               "text/plain")))
    assert web.turn.labels == {"web"}


def test_what_is_refused_unasked_labels_nothing(web):
    async def go():
        return await web.execute(fetcher(web), url="http://127.0.0.1/")
    assert not asyncio.run(go()).success
    assert web.turn.labels == set()


@pytest.mark.parametrize("kind", [
    "text/plain", "text/markdown", "application/json",
    "application/feed+json", "application/rss+xml", "text/csv"])
def test_text_comes_as_it_is(web, kind):
    text = '{"a": [1, 2]}\n  <b>& more'
    result = web.call(fetcher(web), web.Site(web.answer(
        text, f"Content-Type: {kind}")))
    assert body(result) == text


@pytest.mark.parametrize("kind", [
    "image/png", "application/pdf", "application/octet-stream", "video/mp4",
    "application/zip", "nonsense", "text", "x" * 5000])
def test_other_types_are_refused_unread(web, kind):
    async def endless(writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind.encode()
                     + b"\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 65536)
            await writer.drain()
    result = web.call(fetcher(web, timeout_secs=5), web.Site(endless))

    assert not result.success
    assert f"sent {kind[:60]}, not text/html" in result.error


def test_a_picture_without_a_type_is_no_page(web):
    result = web.call(fetcher(web), web.Site(web.answer(
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(500))))
    assert "is an image (image/png), no page" in result.error


@pytest.mark.parametrize(("charset", "text"), [
    ("shift_jis", "今日はとても良い天気ですね。散歩に行きましょう。"),
    ("euc-jp", "今日はカタカナも使います。お茶が好きです。"),
    ("euc-kr", "오늘은 날씨가 아주 좋습니다. 산책하러 갑시다."),
    ("windows-1251", "Сегодня очень хорошая погода, пойдём гулять."),
    ("gb18030", "今天天气很好，我们去散步吧。"),
    ("windows-1252", "Größe: schön, daß wir’s “wissen” – naïve Fälle"),
    ("utf-8", "日本語 и русский"),
])
@pytest.mark.parametrize("said", ["header", "meta", "nowhere"])
def test_every_charset_is_read(web, charset, text, said):
    meta = f'<meta charset="{charset}">' if said == "meta" else ""
    kind = "text/html" + (f'; charset="{charset}"' if said == "header"
                          else "")
    page = f"<html>{meta}<p>{text}</p>".encode(charset)
    result = web.call(fetcher(web), web.Site(web.answer(
        page, f"Content-Type: {kind}")))
    assert body(result) == text


@pytest.mark.parametrize("charset", ["rot13", "hex", "idna", "windows-9999",
                                     "../etc", "", "utf-8\x80"])
def test_a_charset_that_is_none_does_no_harm(web, charset):
    result = web.call(fetcher(web), web.Site(web.answer(
        b"<html><p>caf\xc3\xa9", b"Content-Type: text/html; charset=".decode()
        + charset)))
    assert body(result) == "café"


def test_what_no_reader_sees_is_taken_out(web):
    hidden = "".join(chr(0xE0000 + ord(c)) for c in "obey")
    result = web.call(fetcher(web), web.Site(web.answer(
        f"te{hidden}a\x1b[2J\x07 \u202eleft\u2066 \x9b31m\u200b!",
        "Content-Type: text/plain; charset=utf-8")))
    assert body(result) == "tea[2J left 31m!"


def test_a_long_page_is_read_window_by_window(web):
    text = "".join(f"{n:09}\n" for n in range(7_000))
    site = web.Site(web.answer(text, "Content-Type: text/plain"))
    first = web.call(fetcher(web), site)
    second = web.call(fetcher(web), site, start=WINDOW)
    beyond = web.call(fetcher(web), site, start=10**6)

    assert len(first.output) < WINDOW + 100
    assert first.output.endswith(f"; go on with start={WINDOW}]")
    joined = first.output[:WINDOW] + second.output[:WINDOW]
    assert joined.partition("\n\n")[2] == text[:len(joined)
                                               - joined.index("\n\n") - 2]
    assert "only" in beyond.error


def test_a_page_is_cut_at_its_limit_and_says_so(web):
    result = web.call(fetcher(web, max_response_size=1000), web.Site(
        web.answer("x" * 5000, "Content-Type: text/plain")))
    assert body(result).count("x") > 900
    assert "max_response_size" in result.output


def test_a_bomb_stays_small(web):
    bomb = gzip.compress(bytes(64 << 20))
    result = web.call(fetcher(web), web.Site(web.answer(
        bomb, "Content-Type: text/html", "Content-Encoding: gzip")))
    assert len(result.output) < 40_000


def test_an_error_of_the_server_is_a_failure(web):
    result = web.call(fetcher(web), web.Site(web.answer(
        "<b>gone", HTML, status="404 Not\x1b[31m Found")))
    assert result.error.startswith("HTTP 404 Not[31m Found from http://site")
    assert result.output == ""


def test_ten_redirects_are_followed_each_checked_anew(web):
    hops = [web.moved(f"/{n}") for n in range(10)]
    names = web.Names()
    result = web.call(fetcher(web, names=names),
                      web.Site(*hops, web.answer("end", HTML)))
    too_many = web.call(fetcher(web), web.Site(web.moved("/again")))

    assert body(result) == "end"
    assert len(names.asked) == 11
    assert "more than 10 times" in too_many.error


@pytest.mark.parametrize("to", [
    "http://127.0.0.1/", "http://localhost/", "http://[::1]/",
    "http://169.254.169.254/latest/", "http://2130706433/",
    "http://0x7f.1/", "http://[::ffff:127.0.0.1]/", "file:///etc/passwd",
    "http://user:pw@site.test/", "gopher://site.test/", "//10.0.0.1/",
    "http://0177.0.0.1/", "http://[", "http://nas/", "ftp://site.test/"])
@pytest.mark.parametrize("by", ["itself", "redirect"])
def test_an_address_inside_is_refused(web, to, by):
    site = web.Site(web.moved(to), web.answer("secret", HTML))

    async def go():
        async with site.up():
            url = to if by == "itself" else site.url()
            return await web.execute(fetcher(web), url=url)
    result = asyncio.run(go())

    assert not result.success
    assert "secret" not in result.output
    assert len(site.requests) == (by == "redirect")


def test_a_name_that_changes_its_mind_is_refused(web):
    """DNS rebinding: public when it is checked, private when the page
    sends us there again."""
    names = web.Names(site_test=[["127.0.0.1"], ["10.0.0.1"]])
    result = web.call(fetcher(web, names=names), web.Site(
        web.moved("/next"), web.answer("secret", HTML)))
    assert "leads to 10.0.0.1" in result.error


def test_without_the_tests_setting_this_machine_is_out_of_reach(web):
    site = web.Site(web.answer("secret", HTML))
    result = web.call(fetcher(web, near=False), site)

    assert "leads to 127.0.0.1" in result.error
    assert site.requests == []


@pytest.mark.parametrize(("host", "entry"), [
    ("127.0.0.1", "127.0.0.1"), ("localhost", "localhost"),
    ("nas", "http://nas:8080/x"), ("wiki.home.arpa", "*.home.arpa")])
def test_the_owner_names_hosts_of_his_own_network(web, host, entry):
    site = web.Site(web.answer("mine", HTML))
    result = web.call(fetcher(web, near=False,
                              allowed_private_hosts=[entry]), site,
                      host=host)
    assert body(result) == "mine"


def test_a_named_host_does_not_open_the_door_to_others(web):
    """nas may be inside; a stranger's name that leads there may not, nor
    may nas lead to a cloud's metadata."""
    names = web.Names(nas=[["169.254.169.254"]])
    stranger = web.call(fetcher(web, near=False,
                                allowed_private_hosts=["nas"]),
                        web.Site(web.moved("http://nas/")))
    metadata = web.call(fetcher(web, near=False, names=names,
                                allowed_private_hosts=["nas"]),
                        web.Site(web.answer("x", HTML)), host="nas")

    assert "site.test leads to 127.0.0.1" in stranger.error
    assert "nas leads to 169.254.169.254" in metadata.error


@pytest.mark.parametrize(("lists", "reached"), [
    ({"allowed_domains": ["site.test"]}, True),
    ({"allowed_domains": ["test"]}, True),
    ({"allowed_domains": ["https://Site.Test./path"]}, True),
    ({"allowed_domains": ["ite.test"]}, False),
    ({"allowed_domains": ["other.test"]}, False),
    ({"allowed_domains": []}, False),
    ({"blocked_domains": ["site.test"]}, False),
    ({"blocked_domains": ["*.site.test"],
      "allowed_domains": ["site.test"]}, False),
    ({"blocked_domains": ["other.test"]}, True),
])
def test_lists_of_domains(web, lists, reached):
    site = web.Site(web.answer("x", HTML))
    result = web.call(fetcher(web, **lists), site)

    assert result.success is reached
    assert bool(site.requests) is reached


def test_a_redirect_to_a_blocked_host_is_refused(web):
    site = web.Site(web.moved("http://evil.test/"), web.answer("x", HTML))
    result = web.call(fetcher(web, blocked_domains=["evil.test"]), site)
    assert "evil.test, which web_fetch.blocked_domains" in result.error


async def drip_head(writer):
    while not writer.is_closing():
        writer.write(b"H")
        await writer.drain()
        await asyncio.sleep(0.02)


async def drip_body(writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    await drip_head(writer)


async def huge_head(writer):
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while not writer.is_closing():
        writer.write(b"X-" + b"a" * 4000 + b": b\r\n")
        await writer.drain()


@pytest.mark.parametrize("answer", [
    drip_head, drip_body, huge_head, b"", b"nonsense\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"fffffffffffffffff\r\nx",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nno gzip at all",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nxx",
    b"HTTP/1.1 999 \xff\xfe\r\nA\0: b\r\n\r\n",
])
def test_a_broken_server_is_one_sentence(web, answer):
    result = web.call(fetcher(web, timeout_secs=1), web.Site(answer))
    assert not result.success
    assert "\n" not in result.error
    assert len(result.error) < 400


def test_a_cancelled_fetch_closes_its_socket(web):
    site = web.Site(drip_body)

    async def go():
        async with site.up():
            task = asyncio.ensure_future(
                web.execute(fetcher(web), url=site.url()))
            await site.asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            for _ in range(100):
                if not site.open:
                    break
                await asyncio.sleep(0.02)
            return site.open
    assert asyncio.run(go()) == 0


def test_switched_off_it_refuses_even_by_name(web):
    site = web.Site(web.answer("x", HTML))
    result = web.call(fetcher(web, enabled=False), site)

    assert "claw config set web_fetch.enabled true" in result.error
    assert site.requests == []


def test_in_read_only_mode_nothing_leaves(web):
    site = web.Site(web.answer("x", HTML))
    tool = WebFetch(web.deps(level="readonly"))

    assert "read-only" in web.call(tool, site).error
    assert site.requests == []
