"""What a reader sees of a web page, however it is written."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.text.html import title_and_text


def seen(page):
    title, text = title_and_text(page, 10_000)
    return " ".join(title.split()), " ".join(text.split())


@pytest.mark.each(("page", "title", "text"), [
    ("<html><head><title>A &amp; B</title></head><body>Hi <b>y</b>ou</body>",
     "A & B", "Hi you"),
    ("<TITLE>Big\n Title</TITLE><P>One<P>Two<br>Three", "Big Title",
     "One Two Three"),
    ("<title></title><title>second</title>x", "second", "x"),
    ("<title>a<b>c</title>x", "a<b>c", "x"),
    ("<svg><title>icon</title></svg><title>page</title>x", "page", "x"),
    ("just text, a < b & c", "", "just text, a < b & c"),
    ("", "", ""),
    # what nobody sees
    ("<head><style>p{}</style><meta x><body>x<script>if(a<b)'</p>'</script>y",
     "", "x y"),
    ("<head><link a><title>t</title>x<body>y", "t", "y"),
    ("<noscript>no</noscript><template>t</template><textarea>a</textarea>x",
     "", "x"),
    ("<!-- <p>no --> a <!DOCTYPE x> b <?php no ?> c <!--> d", "",
     "a b c d"),
    ("<p hidden>no<p>yes", "", "yes"),
    ("<div style='color:red; DISPLAY : none'>no<p>no</div>yes", "", "yes"),
    ("<i style=display&#58;none>no</i>yes", "", "yes"),
    ("<b style='opacity:0'>no</b><b style='opacity:0.5'>yes</b>", "", "yes"),
    ("<b style='font-size:0px'>no</b><b style='font-size:08px'>x</b>", "",
     "x"),
    ("<b style='visibility:hidden'>no</b><b aria-hidden=true>no</b>x", "",
     "x"),
    ("<p title='hidden' class=hidden>yes</p>", "", "yes"),
    ("<a title=\"x > y\" href='>'>yes</a>", "", "yes"),
    ("<a title=don't>yes</a> <b x=it's>y</b>", "", "yes y"),
    # what is broken
    ("<div hidden><div>no</div>no</span></div>yes", "", "yes"),
    ("a</b></p>b", "", "a b"),
    ("yes <a href='", "", "yes"),
    ("yes <!-- no", "", "yes"),
    ("yes <script>no", "", "yes"),
    ("&#x41;&lt;b&gt;&nbsp;&bogus;&#xD800;", "", "A<b> &bogus;\ufffd"),
    ("&#" + "9" * 5000 + ";x", "", "&#" + "9" * 5000 + ";x"),
    ("<한글>글자</한글>", "", "<한글>글자"),
])
def test_title_and_text(page, title, text):
    assert seen(page) == (title, text)


def test_reading_stops_when_there_is_enough():
    title, text = title_and_text("<title>t</title>" + "<p>word " * 10_000,
                                 100)

    assert title == "t"
    assert 100 <= len(text) < 200


@pytest.mark.parametrize("unit", [
    "<", "<!--", "<!", "<?", "<a ", "</", "</a ", "<a x=\"", "<a x='",
    "<a x='y\" z=\"", "=", "<a =", "<script>", "<script></scrip", "<title>",
    "<b>", "<b></i>", "<p>", "<p hidden>", "&", "&#", "&#1", "<a b ",
    "<p style='opacity:0", "<p style=\"x:" + " " * 50, "<![CDATA[",
])
def test_a_page_made_to_be_slow_is_not(unit):
    """256 KiB of it: seconds of a thread at most, not minutes."""
    page = (unit * (256 * 1024 // len(unit) + 1))[:256 * 1024]
    began = time.process_time()
    title_and_text(page, 10**9)
    title_and_text("<p " + page + ">x", 10**9)

    assert time.process_time() - began < 4


@given(st.text(alphabet="<>/!-=\"' abpst&#;x한", max_size=80))
def test_any_text_is_a_page(page):
    title_and_text(page, 1000)
