"""What a page is about, and what stands around it."""

import time

import pytest

from claw.text.readable import read_article

WORDS = "Green tea is made of leaves that were never let wither or oxidise. "
PROSE = f"<p>{WORDS * 5}</p>"


@pytest.mark.parametrize("around", [
    "<nav>NOISE</nav>", "<footer>NOISE</footer>", "<aside>NOISE</aside>",
    "<form>NOISE</form>", '<div class="cookie-banner consent">NOISE</div>',
    '<div id="sidebar"><p>NOISE</p></div>', '<div role=navigation>NOISE</div>',
    '<ul><li><a href="/">NOISE</a><li><a href="/">NOISE too</a></ul>',
    f'<div class="related">{WORDS}NOISE</div>',
    "<script>NOISE</script>", "<p hidden>NOISE</p>"])
@pytest.mark.parametrize("where", ["before", "behind", "inside main"])
def test_what_stands_around_is_left_out(around, where):
    page = {"before": f"{around}<article>{PROSE}</article>",
            "behind": f"<div>{PROSE}</div>{around}",
            "inside main": f"<main>{PROSE}{around}{PROSE}</main>"}[where]
    text = read_article(page).text

    assert WORDS.strip() in text
    assert "NOISE" not in text


@pytest.mark.parametrize("wrapping", [
    "<form>{}</form>", '<div class="with sidebar">{}</div>',
    '<body class="menu comments">{}',
    '<div class="widget"><div>{}</div></div>'])
def test_a_region_that_holds_the_page_does_not_stand_around_it(wrapping):
    page = wrapping.format(PROSE * 3) + "<footer>NOISE</footer>"
    text = read_article(page).text

    assert WORDS.strip() in text
    assert "NOISE" not in text


@pytest.mark.parametrize("page", [
    "<p>Short.", "Short.", "<nav>Short.</nav>", "<body>Short.</p></div></a>",
    "<ul><li><a href=/a>Short.</a></ul>", "<table><tr><td>Short.</table>"])
def test_where_little_is_left_the_whole_page_is_the_answer(page):
    assert "Short." in read_article(page).text


def test_headings_and_lists_are_marked():
    page = (f"<h2>Steeping</h2>{PROSE}<ul><li>{WORDS}<li>{WORDS}</ul>"
            f"<h3>Sorts</h3>{PROSE}")
    lines = [line[:12] for line in read_article(page).text.split("\n")]
    assert lines == ["## Steeping", "Green tea is", "- Green tea ",
                     "- Green tea ", "### Sorts", "Green tea is"]


def test_links_come_as_they_are_written():
    article = read_article('<a href="/a?x=1&amp;y">One <b>two</b></a>'
                           "<a>none</a><a href='b'></a><a href=c>c</a>")
    assert article.links == (("One two", "/a?x=1&amp;y"), ("c", "c"))


@pytest.mark.parametrize("unit", [
    "<div class=nav>", "<a href=x>y", "<p>", "<li>", "<form><p>x", "<",
    "<div id='", "</div>", "<main><nav>x", "x<br>", "<ul><li><a href=a>b</a>",
    '<div class="a-a-a-a-a-a-a-a-a-a-a-a">'])
def test_a_hostile_page_is_read_in_time(unit):
    page = unit * (500_000 // len(unit))
    start = time.process_time()
    read_article(page)
    assert time.process_time() - start < 10
